/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/late_echoes.h"

#include "core/signal/median.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace gr::adann::core {

namespace {

// Part of an echo by which a change goes across it, or against it, when it has rotated by some 40° since the last one: what
// is corrected soon is more wrong than nothing. It is forgotten then, and no other one is learnt for so many blocks,
// twice as many each time, half as many after an echo that was followed.
constexpr float too_fast = 0.65f;
constexpr std::size_t least_pause = 128, most_pause = 1 << 14;
// Interval of the blocks that are learnt from: as long as there is no echo, and to follow one.
constexpr std::size_t apart = 16, apart_following = 2;
constexpr std::size_t least = 8;      // of these blocks before a change
constexpr std::size_t few = 8;        // symbols of a sum whose scatter is measured
constexpr float keep = 1 - 1.0f / 64; // of the sums, per block that is learnt from
constexpr float most = 0.9f;          // of Σ|h|: the recursion is stable below 1

} // namespace

late_echoes::late_echoes(std::size_t reach, std::size_t sps, bool complex)
    : d_sps(sps),
      d_first(reach + 1),
      d_lags(latest * sps - reach),
      d_few(d_lags, complex),
      d_sums(d_lags, complex),
      d_scatter(d_lags),
      d_sure(d_lags),
      d_next_pause(least_pause)
{
}

void late_echoes::apply(planes& samples, std::size_t first, std::size_t n) const
{
    if (d_found == 0)
        return;
    // No lag is shorter than d_first: in chunks of that size all earlier samples are corrected.
    for (const std::size_t end = first + n; first < end; first += d_first) {
        const std::size_t count = std::min(d_first, end - first);
        for (const echo& each : *this) {
            const float re = each.strength.real(), im = each.strength.imag();
            float* const to = &samples.re[first];
            const float* const from = &samples.re[first - each.lag];
            if (samples.im.empty()) {
                for (std::size_t i = 0; i < count; ++i)
                    to[i] -= re * from[i];
                continue;
            }
            float* const to_im = &samples.im[first];
            const float* const from_im = &samples.im[first - each.lag];
            for (std::size_t i = 0; i < count; ++i) {
                to[i] -= re * from[i] - im * from_im[i];
                to_im[i] -= re * from_im[i] + im * from[i];
            }
        }
    }
}

void late_echoes::learn(const signal_planes& y,
                        const signal_planes& residual,
                        std::size_t n)
{
    d_pause -= d_pause > 0;
    if (d_pause > 0 && d_found == 0)
        return;
    // The first block after a change, or the first 15 without an echo, are not used: their samples were corrected without
    // it, as the latest lags of the second one still are.
    const std::size_t every = d_found ? apart_following : apart;
    if (++d_blocks % every)
        return;
    const std::size_t phase = d_blocks / every % d_sps; // the samples of a symbol in turn
    const auto forget = [](aligned_floats& sums, float kept) {
        for (float& each : sums)
            each *= kept;
    };
    forget(d_sums.re, keep);
    forget(d_sums.im, keep);
    forget(d_scatter, keep * keep);
    d_power *= keep;
    for (std::size_t k = 0; k < n; ++k) {
        const std::size_t i = k * d_sps + phase;
        take_in(y + static_cast<std::ptrdiff_t>(i),
                { residual.re[i], residual.im ? residual.im[i] : 0 });
        if ((k + 1) % few)
            continue;
        for (std::size_t d = 0; d < d_lags; ++d) {
            float square = d_few.re[d] * d_few.re[d];
            d_sums.re[d] += d_few.re[d];
            d_few.re[d] = 0;
            if (residual.im) {
                square += d_few.im[d] * d_few.im[d];
                d_sums.im[d] += d_few.im[d];
                d_few.im[d] = 0;
            }
            d_scatter[d] += square;
        }
    }
    if (d_blocks >= least * every)
        take();
}

// Adds the products of a sample's residual with all lags.
void late_echoes::take_in(const signal_planes& y, std::complex<float> e)
{
    const std::size_t furthest = d_first + d_lags - 1;
    const float* const re = y.re - furthest;
    const float er = e.real(), ei = e.imag();
    d_power += *y.re * *y.re;
    if (!y.im) {
        for (std::size_t d = 0; d < d_lags; ++d)
            d_few.re[d] += er * re[d];
        return;
    }
    const float* const im = y.im - furthest;
    d_power += *y.im * *y.im;
    for (std::size_t d = 0; d < d_lags; ++d) {
        d_few.re[d] += er * re[d] + ei * im[d];
        d_few.im[d] += ei * re[d] - er * im[d];
    }
}

// Corrects the most significant lag, if it is significant.
void late_echoes::take()
{
    const bool complex = !d_sums.im.empty();
    for (std::size_t d = 0; d < d_lags; ++d) {
        const float im = complex ? d_sums.im[d] : 0;
        d_sure[d] = (d_sums.re[d] * d_sums.re[d] + im * im) /
                    std::max(d_scatter[d], std::numeric_limits<float>::min());
    }
    const auto at = [this](std::size_t lag) { return d_first + d_lags - 1 - lag; };
    auto best = static_cast<std::size_t>(std::max_element(d_sure.begin(), d_sure.end()) -
                                         d_sure.begin());
    if (d_pause > 0) // only echoes that are known, of which there is one
        best = at(std::max_element(begin(), end(), [&](const echo& a, const echo& b) {
                      return d_sure[at(a.lag)] < d_sure[at(b.lag)];
                  })->lag);
    const float surest = d_sure[best];
    // By chance a complex sum's square over its variance exceeds t with a probability of exp(-t),
    // and has a median of ln 2; that of a real one exp(-t / 2) at most, and 0.455 (chi-squared).
    const float all = 16 + std::log(static_cast<float>(d_lags));
    const float enough = complex ? all : 2 * all, by_chance = complex ? 0.693f : 0.455f;
    const float usual = median(d_sure.begin(), d_sure.end()) / by_chance;
    if (!(surest > enough * std::max(usual, 1.0f)))
        return;
    const std::complex<float> more =
        -std::complex<float>(d_sums.re[best], complex ? d_sums.im[best] : 0) / d_power;
    const std::size_t lag = at(best); // its own inverse
    start_again();
    std::size_t i = 0;
    while (i < d_found && d_echoes[i].lag != lag)
        ++i;
    if (i == most_lags)
        return;
    const std::complex<float> before = i < d_found ? d_echoes[i].strength : 0;
    const std::complex<float> across = more * std::conj(before);
    if (i < d_found && std::max(std::abs(across.imag()), -across.real()) >
                           too_fast * std::norm(before)) {
        d_echoes[i] = d_echoes[--d_found];
        d_pause = d_next_pause;
        d_next_pause = std::min(2 * d_next_pause, most_pause);
        return;
    }
    float together = std::abs(before + more) - std::abs(before);
    for (const echo& each : *this)
        together += std::abs(each.strength);
    if (!(together < most))
        return;
    if (i < d_found) // it was followed
        d_next_pause = std::max(d_next_pause / 2, least_pause);
    d_echoes[i] = { lag, before + more };
    d_found = std::max(d_found, i + 1);
}

late_echoes::echo late_echoes::strongest() const
{
    const auto at = std::max_element(begin(), end(), [](const echo& a, const echo& b) {
        return std::norm(a.strength) < std::norm(b.strength);
    });
    return at == end() ? echo() : *at;
}

void late_echoes::reset()
{
    d_found = 0;
    d_pause = 0;
    d_next_pause = least_pause;
    start_again();
}

void late_echoes::start_again()
{
    for (aligned_floats* each : { &d_sums.re, &d_sums.im, &d_scatter })
        std::fill(each->begin(), each->end(), 0.0f);
    d_power = 0;
    d_blocks = 0;
}

void late_echoes::state(archive& members)
{
    std::size_t found = d_found;
    members("found", found, std::size_t{ 0 }, most_lags);
    float all = 0;
    for (std::size_t i = 0; i < most_lags; ++i) {
        const std::string name = std::to_string(i);
        echo each = d_echoes[i];
        members(name + ".lag", each.lag);
        static_assert(sizeof(each.strength) == 2 * sizeof(float));
        members.numbers(name + ".strength",
                        reinterpret_cast<float*>(&each.strength),
                        { 2 },
                        -most,
                        most);
        if (i < found && (each.lag < d_first || each.lag >= d_first + d_lags))
            members.refuse(name + ".lag", "is out of range");
        all += i < found ? std::abs(each.strength) : 0;
        // No write while saving: readers may run.
        if (each.lag != d_echoes[i].lag || each.strength != d_echoes[i].strength)
            d_echoes[i] = each;
    }
    if (!(all <= most))
        members.refuse("strength", "of all is not below " + std::to_string(most));
    if (found != d_found)
        d_found = found;
    members.numbers("sums.re", d_sums.re.data(), { d_sums.re.size() });
    members.numbers("sums.im", d_sums.im.data(), { d_sums.im.size() });
    members.numbers("scatter", d_scatter.data(), { d_lags });
    members("power", d_power);
    members("blocks", d_blocks);
    members("pause", d_pause, std::size_t{ 0 }, most_pause);
    members("next_pause", d_next_pause, least_pause, most_pause);
}

} // namespace gr::adann::core
