/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_descent.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::adann::core {

namespace {

// Of the gain that the affine part predicts, for a try: 2 d·r - |d|² > -|d|²/2.
constexpr float least_match = 0.5f;

template <typename sample>
sample number(std::complex<float> v)
{
    if constexpr (std::is_same_v<sample, float>)
        return v.real();
    else
        return v;
}
template <typename sample, typename floats>
auto* as(floats* values)
{
    if constexpr (std::is_const_v<floats>)
        return reinterpret_cast<const sample*>(values);
    else
        return reinterpret_cast<sample*>(values);
}

} // namespace

label_descent::label_descent(const constellation& symbols,
                             const expected_waveform& waveform)
    : d_symbols(symbols),
      d_waveform(waveform),
      d_dimensions(symbols.dimensions()),
      d_planes(waveform.is_complex() ? 2 : 1),
      d_lags(refinement::predicted_from * waveform.sps()),
      d_taps(2 * filter_reach * waveform.sps() + 1),
      d_length((2 * waveform.reach() + 1) * waveform.sps() + d_taps - 1 + d_lags)
{
    float power = 0;
    for (const auto& point : symbols.points())
        power += std::norm(point) / static_cast<float>(symbols.size());
    for (const auto& point : symbols.points())
        for (std::size_t d = 0; d < d_dimensions; ++d)
            d_points.push_back((d ? point.imag() : point.real()) / std::sqrt(power));
    d_whitening.resize((d_lags + 1) * d_planes);
    d_combined.resize((d_taps + d_lags) * d_planes);
    d_response.resize(d_dimensions * d_length * d_planes);
    d_change.resize(d_length * d_planes);
    d_best = d_change;
    d_before.resize((2 * waveform.reach() + 1) * waveform.stride());
    d_after = d_before;
}

void label_descent::use(const refinement& signal)
{
    if (d_planes == 2)
        find_responses<std::complex<float>>(signal);
    else
        find_responses<float>(signal);
}

// What a unit of each dimension of a symbol is, in whitened samples, by the affine part.
template <typename sample>
void label_descent::find_responses(const refinement& signal)
{
    auto* whitening = as<sample>(d_whitening.data());
    for (std::size_t k = 0; k <= d_lags; ++k)
        whitening[k] = number<sample>(signal.whitening[k]);
    // Sample i takes from the expected one i + q - (taps/2 + lags) combined(q) times that.
    auto* combined = as<sample>(d_combined.data());
    std::fill(combined, combined + d_taps + d_lags, sample{});
    for (std::size_t m = 0; m <= d_lags; ++m)
        for (std::size_t k = 0; k < d_taps; ++k)
            combined[k + d_lags - m] +=
                times(whitening[m], number<sample>(signal.taps[k]));

    const std::size_t sps = d_waveform.sps(), reach = d_waveform.reach();
    auto* response = as<sample>(d_response.data());
    std::fill(response, response + d_dimensions * d_length, sample{});
    const std::size_t floats = d_length * d_planes;
    for (std::size_t d = 0; d < d_dimensions; ++d)
        for (std::size_t place = 0; place <= 2 * reach; ++place) {
            // A symbol takes this row times the one `place - reach` after it.
            const auto* row = as<sample>(
                &d_waveform
                     .affine()[(1 + place * d_dimensions + d) * d_waveform.stride()]);
            auto* start = &response[d * d_length + (2 * reach - place) * sps];
            for (std::size_t j = 0; j < sps; ++j)
                for (std::size_t q = 0; q < d_taps + d_lags; ++q)
                    start[j + d_taps + d_lags - 1 - q] += times(combined[q], row[j]);
        }
    for (std::size_t d = 0; d < d_dimensions; ++d)
        for (std::size_t e = 0; e < d_dimensions; ++e)
            d_energy[d * 2 + e] =
                sum_of_products(&d_response[d * floats], &d_response[e * floats], floats);
}

void label_descent::whiten(const float* rest, std::size_t n, float* white) const
{
    const auto work = [&](const auto* in, auto* out) {
        using sample = std::decay_t<decltype(*out)>;
        const auto* whitening = as<sample>(d_whitening.data());
        std::fill(out, out + d_lags, sample{});
        std::copy(in + d_lags, in + n, out + d_lags);
        for (std::size_t k = 1; k <= d_lags; ++k)
            for (std::size_t i = d_lags; i < n; ++i)
                out[i] += times(whitening[k], in[i - k]);
    };
    if (d_planes == 2)
        work(as<std::complex<float>>(rest), as<std::complex<float>>(white));
    else
        work(rest, white);
}

bool label_descent::worth_a_try(std::uint8_t now,
                                std::uint8_t other,
                                const float* match) const
{
    float step[2], gain = 0, energy = 0;
    for (std::size_t d = 0; d < d_dimensions; ++d) {
        step[d] = d_points[other * d_dimensions + d] - d_points[now * d_dimensions + d];
        gain += 2 * step[d] * match[d];
    }
    for (std::size_t d = 0; d < d_dimensions; ++d)
        for (std::size_t e = 0; e < d_dimensions; ++e)
            energy += step[d] * step[e] * d_energy[d * 2 + e];
    return gain > least_match * energy;
}

// How the whitened samples change with the label of a symbol, from its response's start.
template <typename sample>
void label_descent::find_change(std::uint8_t* labels,
                                std::size_t count,
                                std::size_t symbol,
                                std::uint8_t other)
{
    // Symbols that it is part of, and whose own neighbours are there.
    const std::size_t reach = d_waveform.reach(), sps = d_waveform.sps();
    const std::size_t low = std::max(symbol, 2 * reach) - reach;
    const std::size_t high = std::min(symbol + 2 * reach + 1, count) - reach;
    d_waveform.expect(labels + low, high - low, d_before.data());
    const std::uint8_t now = std::exchange(labels[symbol], other);
    d_waveform.expect(labels + low, high - low, d_after.data());
    labels[symbol] = now;

    const auto *before = as<sample>(d_before.data()), *after = as<sample>(d_after.data());
    const auto* combined = as<sample>(d_combined.data());
    auto* change = as<sample>(d_change.data());
    std::fill(change, change + d_length, sample{});
    auto* first = change + (low + reach - symbol) * sps;
    for (std::size_t k = 0; k < (high - low) * sps; ++k)
        for (std::size_t q = 0; q < d_taps + d_lags; ++q)
            first[k + d_taps + d_lags - 1 - q] +=
                times(combined[q], after[k] - before[k]);
}

bool label_descent::visit(std::uint8_t* labels,
                          std::size_t count,
                          std::size_t symbol,
                          float* white,
                          std::size_t first,
                          std::size_t last)
{
    // In floats: where the symbol's response starts, after some that nothing is known of;
    // where in the whitened samples that is; how much of it is there.
    const std::size_t floats = d_length * d_planes, stride = d_waveform.stride();
    const std::size_t known = (last - first) * stride;
    const std::size_t lead = before() * stride;
    const std::size_t middle = (symbol - first) * stride;
    const std::size_t skipped = std::max(lead + d_lags * d_planes, middle) - middle;
    float* const own = &white[middle + skipped - lead];
    const std::size_t n = std::min(floats - skipped, known - (middle + skipped - lead));

    float match[2] = {};
    for (std::size_t d = 0; d < d_dimensions; ++d)
        match[d] = sum_of_products(&d_response[d * floats + skipped], own, n);
    const std::uint8_t now = labels[symbol];
    std::uint8_t best = now;
    float most = 0;
    for (const std::uint8_t other : d_symbols.neighbours(now)) {
        if (!worth_a_try(now, other, match))
            continue;
        ++d_tries;
        if (d_planes == 2)
            find_change<std::complex<float>>(labels, count, symbol, other);
        else
            find_change<float>(labels, count, symbol, other);
        const float* change = &d_change[skipped];
        const float gain =
            2 * sum_of_products(change, own, n) - sum_of_products(change, change, n);
        if (gain > most) {
            most = gain;
            best = other;
            std::swap(d_best, d_change);
        }
    }
    if (best == now)
        return false;
    for (std::size_t k = 0; k < n; ++k)
        own[k] -= d_best[skipped + k];
    labels[symbol] = best;
    return true;
}

} // namespace gr::adann::core
