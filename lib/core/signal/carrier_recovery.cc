/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/carrier_recovery.h"

#include "core/common/checks.h"
#include "core/common/complex.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::adann::core {

namespace {

constexpr float clear = 40;   // a line's power over the median's
constexpr float largest = 10; // sample of unit power that is no impulse

std::complex<double> turned(double turns) { return std::polar(1.0, 2 * M_PI * turns); }

} // namespace

carrier_recovery::carrier_recovery(const constellation& alphabet,
                                   std::size_t sps,
                                   float bandwidth,
                                   transform periodogram)
    : d_order(alphabet.symmetries().size()),
      d_sps(sps),
      d_transform(std::move(periodogram)),
      d_powers(symbols),
      d_ordered(bins),
      d_spectrum(bins),
      d_periodogram(bins)
{
    if (d_order != 2 && d_order != 4 && d_order != 8)
        refuse("constellation", alphabet.name(), "one of 2, 4 or 8 rotations");
    check_range<std::size_t>("sps", sps, 1, 64);
    double square = 0;
    for (const auto& point : alphabet.points()) {
        const std::complex<double> own = power(std::complex<double>(point), d_order);
        d_own += own;
        square += std::norm(own);
    }
    d_scatter = square * static_cast<double>(alphabet.size()) / std::norm(d_own);
    d_own /= std::abs(d_own);
    set_bandwidth(bandwidth);
}

void carrier_recovery::set_bandwidth(float bandwidth)
{
    if (!(bandwidth > 0 && bandwidth < 0.5f))
        refuse("bandwidth", bandwidth, "above 0, below 0.5");
    d_fading = 2 * bandwidth / static_cast<float>(d_scatter);
}

void carrier_recovery::process(const std::complex<float>* in,
                               std::complex<float>* out,
                               std::size_t samples)
{
    for (std::size_t i = 0; i < samples; ++i) {
        if (d_sample == 0)
            take(in[i]);
        out[i] = in[i] * d_turn;
        d_turn *= d_step;
        d_sample = d_sample + 1 == d_sps ? 0 : d_sample + 1;
    }
}

// The middle of the next symbol, as it comes in.
void carrier_recovery::take(std::complex<float> middle)
{
    const bool counts = std::norm(middle) < largest * largest; // not where it is NaN
    const std::complex<double> own =
        counts ? power(std::complex<double>(middle), d_order) : 0;
    d_powers[d_taken++ % symbols] = std::complex<float>(own);
    d_turned += d_offset;
    const auto order = static_cast<double>(d_order);
    d_average +=
        static_cast<double>(d_fading) * (own * turned(-order * d_turned) - d_average);
    // Of all phases that have this power the nearest.
    const double now = std::arg(d_average * std::conj(d_own)) / (2 * M_PI);
    d_phase += std::remainder(now - order * d_phase, 1.0) / order;
    d_turn = std::complex<float>(turned(-d_turned - d_phase));
    if (d_taken % apart == 0)
        look();
}

void carrier_recovery::look()
{
    d_turned = std::remainder(d_turned, 1.0);
    d_phase = std::remainder(d_phase, 1.0);
    const std::optional<double> line = find_line();
    if (!line)
        return;
    // Of all offsets that have this line the nearest.
    const auto order = static_cast<double>(d_order);
    d_offset += std::remainder(*line - order * d_offset, 1.0) / order;
    d_frequency = static_cast<float>(d_offset);
    d_step = std::complex<float>(turned(-d_offset / static_cast<double>(d_sps)));
}

// Cycles a symbol of the power's line.
std::optional<double> carrier_recovery::find_line()
{
    const std::size_t there = std::min(d_taken, symbols);
    std::fill(d_ordered.begin(), d_ordered.end(), std::complex<float>());
    for (std::size_t i = 0; i < there; ++i)
        d_ordered[i] = d_powers[(d_taken - there + i) % symbols];
    d_transform(d_ordered.data(), d_spectrum.data());
    std::transform(d_spectrum.begin(),
                   d_spectrum.end(),
                   d_periodogram.begin(),
                   [](std::complex<float> value) { return std::norm(value); });
    const auto peak = static_cast<std::size_t>(
        std::max_element(d_periodogram.begin(), d_periodogram.end()) -
        d_periodogram.begin());
    const double before = d_periodogram[(peak + bins - 1) % bins],
                 most = d_periodogram[peak], behind = d_periodogram[(peak + 1) % bins];
    const auto median = d_periodogram.begin() + bins / 2;
    std::nth_element(d_periodogram.begin(), median, d_periodogram.end());
    if (!(most > clear * *median))
        return {};
    // The top of the parabola through it and its neighbours.
    const double bend = 2 * most - before - behind;
    const double beside =
        bend > 0 ? std::clamp((behind - before) / (2 * bend), -0.5, 0.5) : 0.0;
    return (static_cast<double>(peak) + beside) / bins;
}

} // namespace gr::adann::core
