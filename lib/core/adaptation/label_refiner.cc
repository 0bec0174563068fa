/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_refiner.h"

#include "core/common/cholesky.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::adann::core {

namespace {

constexpr std::size_t predicted_from = 3; // symbols
constexpr double memory = 8192;           // symbols, of the noise
constexpr int rounds = 2;
constexpr std::size_t margin = 2; // symbols, so that most of a response is seen
// Of the gain that the affine part predicts, for a try: 2 d·r - |d|² > -|d|²/2.
constexpr float least_match = 0.5f;

// std::complex's own looks for infinities.
float times(float a, float b) { return a * b; }
std::complex<float> times(std::complex<float> a, std::complex<float> b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}
// Σ a b: of complex numbers' floats Re Σ conj(a) b.
float dot(const float* a, const float* b, std::size_t n)
{
    constexpr std::size_t lanes = 8;
    float sums[lanes] = {}, total = 0;
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l)
            sums[l] += a[i + l] * b[i + l];
    for (; i < n; ++i)
        total += a[i] * b[i];
    for (const float sum : sums)
        total += sum;
    return total;
}
template <typename sample>
sample number(std::complex<double> v)
{
    if constexpr (std::is_same_v<sample, float>)
        return static_cast<float>(v.real());
    else
        return std::complex<float>(v);
}
template <typename sample>
sample* as(std::vector<float>& floats)
{
    return reinterpret_cast<sample*>(floats.data());
}

} // namespace

label_refiner::label_refiner(const constellation& symbols,
                             const expected_waveform& trained,
                             std::size_t batch)
    : d_symbols(symbols),
      d_waveform(trained),
      d_batch(batch),
      d_dimensions(symbols.dimensions()),
      d_planes(trained.is_complex() ? 2 : 1),
      d_first(trained.reach() + waveform_judge::filter_reach),
      d_lags(predicted_from * trained.sps()),
      d_taps(2 * waveform_judge::filter_reach * trained.sps() + 1),
      d_length((2 * trained.reach() + 1) * trained.sps() + d_taps - 1 + d_lags),
      d_correlation(d_lags + 1),
      d_work(d_lags * d_lags),
      d_prediction(d_lags)
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
    d_rest.resize(batch * trained.stride());
    d_turned = d_white = d_rest;
    d_before.resize((2 * trained.reach() + 1) * trained.stride());
    d_after = d_before;
    reset();
}

void label_refiner::reset()
{
    std::fill(d_correlation.begin(), d_correlation.end(), 0.0);
}

// What the waveform leaves of the batch, whitened; its first samples, which nothing can
// be predicted from, become zero.
template <typename sample>
void label_refiner::whiten(const waveform_judge& judge, const std::uint8_t* labels)
{
    const std::size_t n = (d_batch - 2 * d_first) * d_waveform.sps();
    judge.rest(labels, d_first, d_batch - d_first, d_rest.data());
    if (d_planes == 2)
        for (std::size_t i = 0; i < n; ++i) {
            d_turned[2 * i] = d_rest[2 * i + 1];
            d_turned[2 * i + 1] = -d_rest[2 * i];
        }
    const double fades = std::exp(-static_cast<double>(d_batch) / memory);
    for (std::size_t lag = 0; lag <= d_lags; ++lag) {
        const auto with_later = [&](const std::vector<float>& later) {
            return dot(d_rest.data(), &later[lag * d_planes], (n - lag) * d_planes);
        };
        d_correlation[lag] =
            fades * d_correlation[lag] +
            std::complex<double>(with_later(d_rest),
                                 d_planes == 2 ? with_later(d_turned) : 0);
    }
    // The normal equations of the prediction: Σ_k a(k) r(j - k) = r(j).
    for (std::size_t j = 0; j < d_lags; ++j) {
        for (std::size_t k = 0; k <= j; ++k)
            d_work[j * d_lags + k] = d_correlation[j - k];
        d_work[j * d_lags + j] *= 1.001;
        d_prediction[j] = d_correlation[j + 1];
    }
    const bool found =
        d_correlation[0].real() > 0 && solve(d_work, d_lags, d_prediction, 1);
    auto* whitening = as<sample>(d_whitening);
    whitening[0] = 1;
    for (std::size_t k = 0; k < d_lags; ++k)
        whitening[k + 1] = found ? number<sample>(-d_prediction[k]) : sample{};
    auto* white = as<sample>(d_white);
    std::fill(white, white + d_lags, sample{});
    const auto* rest = as<sample>(d_rest);
    std::copy(rest + d_lags, rest + n, white + d_lags);
    for (std::size_t k = 1; k <= d_lags; ++k)
        for (std::size_t i = d_lags; i < n; ++i)
            white[i] += times(whitening[k], rest[i - k]);
}

// What a unit of each dimension of a symbol is, in whitened samples, by the affine part.
template <typename sample>
void label_refiner::find_responses(const waveform_judge& judge)
{
    // Sample i takes from the expected one i + q - (taps/2 + lags) combined(q) times that.
    auto* combined = as<sample>(d_combined);
    const auto* whitening = as<sample>(d_whitening);
    std::fill(combined, combined + d_taps + d_lags, sample{});
    for (std::size_t m = 0; m <= d_lags; ++m)
        for (std::size_t k = 0; k < d_taps; ++k)
            combined[k + d_lags - m] += times(
                whitening[m], number<sample>(std::complex<double>(judge.taps()[k])));

    const std::size_t sps = d_waveform.sps(), reach = d_waveform.reach();
    auto* response = as<sample>(d_response);
    std::fill(response, response + d_dimensions * d_length, sample{});
    const std::size_t floats = d_length * d_planes;
    for (std::size_t d = 0; d < d_dimensions; ++d)
        for (std::size_t place = 0; place <= 2 * reach; ++place) {
            // A symbol takes this row times the one `place - reach` after it.
            const auto* row = reinterpret_cast<const sample*>(
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
                dot(&d_response[d * floats], &d_response[e * floats], floats);
}

bool label_refiner::worth_a_try(std::uint8_t now,
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
void label_refiner::find_change(std::uint8_t* labels,
                                std::size_t symbol,
                                std::uint8_t other)
{
    // Symbols that it is part of, and whose own neighbours are in the batch.
    const std::size_t reach = d_waveform.reach(), sps = d_waveform.sps();
    const std::size_t low = std::max(symbol, 2 * reach) - reach;
    const std::size_t high = std::min(symbol + 2 * reach + 1, d_batch) - reach;
    d_waveform.expect(labels + low, high - low, d_before.data());
    const std::uint8_t now = std::exchange(labels[symbol], other);
    d_waveform.expect(labels + low, high - low, d_after.data());
    labels[symbol] = now;

    const auto *before = as<sample>(d_before), *after = as<sample>(d_after);
    const auto* combined = as<sample>(d_combined);
    auto* change = as<sample>(d_change);
    std::fill(change, change + d_length, sample{});
    auto* first = change + (low + reach - symbol) * sps;
    for (std::size_t k = 0; k < (high - low) * sps; ++k)
        for (std::size_t q = 0; q < d_taps + d_lags; ++q)
            first[k + d_taps + d_lags - 1 - q] +=
                times(combined[q], after[k] - before[k]);
}

std::size_t label_refiner::refine(const waveform_judge& judge, std::uint8_t* labels)
{
    const bool is_complex = d_planes == 2;
    if (is_complex) {
        whiten<std::complex<float>>(judge, labels);
        find_responses<std::complex<float>>(judge);
    } else {
        whiten<float>(judge, labels);
        find_responses<float>(judge);
    }
    std::size_t changes = 0;
    for (int round = 0; round < rounds; ++round) {
        const std::size_t before = changes;
        for (std::size_t i = d_first + margin; i < d_batch - d_first - margin; ++i)
            changes += refine_symbol(labels, i);
        if (changes == before)
            break;
    }
    return changes;
}

// Whether it changed.
bool label_refiner::refine_symbol(std::uint8_t* labels, std::size_t symbol)
{
    // In floats: where the symbol's response starts, after some that nothing is known of;
    // where in the whitened samples that is; how much of it is there.
    const std::size_t floats = d_length * d_planes, stride = d_waveform.stride();
    const std::size_t known = (d_batch - 2 * d_first) * stride;
    const std::size_t lead = d_waveform.reach() * stride + d_taps / 2 * d_planes;
    const std::size_t middle = (symbol - d_first) * stride;
    const std::size_t skipped = std::max(lead + d_lags * d_planes, middle) - middle;
    float* const white = &d_white[middle + skipped - lead];
    const std::size_t n = std::min(floats - skipped, known - (middle + skipped - lead));

    float match[2] = {};
    for (std::size_t d = 0; d < d_dimensions; ++d)
        match[d] = dot(&d_response[d * floats + skipped], white, n);
    const std::uint8_t now = labels[symbol];
    std::uint8_t best = now;
    float most = 0;
    for (const std::uint8_t other : d_symbols.neighbours(now)) {
        if (!worth_a_try(now, other, match))
            continue;
        if (d_planes == 2)
            find_change<std::complex<float>>(labels, symbol, other);
        else
            find_change<float>(labels, symbol, other);
        const float* change = &d_change[skipped];
        const float gain = 2 * dot(change, white, n) - dot(change, change, n);
        if (gain > most) {
            most = gain;
            best = other;
            std::swap(d_best, d_change);
        }
    }
    if (best == now)
        return false;
    for (std::size_t k = 0; k < n; ++k)
        white[k] -= d_best[skipped + k];
    labels[symbol] = best;
    return true;
}

void label_refiner::state(archive& members)
{
    members.numbers("correlation",
                    reinterpret_cast<double*>(d_correlation.data()),
                    { d_correlation.size(), 2 });
}

} // namespace gr::adann::core
