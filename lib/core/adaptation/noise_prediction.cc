/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/noise_prediction.h"

#include "core/common/cholesky.h"
#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace gr::adann::core {

namespace {

// Part of the residual's power that is added as white noise. Model mismatch is no stationary noise;
// beyond the band of a matched filter, where noise is small, whitening would amplify it most.
constexpr double white = 0.1;

// Relative difference of errors. An average over 512 symbols, in effect 1024, that predicts over three adds
// 0.3 % at any number of samples per symbol; 0.2 to 1.0 % were seen. Where the noise moves with the link the
// longest average had 1 to 6 % more than the best on four of the streams that this was made on.
constexpr double insignificant = 0.01;

double kept(std::size_t symbols, std::size_t memory)
{
    return std::exp(-static_cast<double>(symbols) / static_cast<double>(memory));
}

} // namespace

noise_prediction::noise_prediction(std::size_t lags,
                                   std::size_t planes,
                                   std::size_t samples)
    : d_lags(lags),
      d_planes(planes),
      d_kernels(&simd::active()),
      d_latest(lags + 1),
      d_work(lags * lags),
      d_taps(lags),
      d_residual_turned(planes == 2 ? 2 * samples : 0)
{
    for (average& each : d_averages)
        each.sums.resize(lags + 1);
}

void noise_prediction::reset()
{
    for (average& each : d_averages) {
        std::fill(each.sums.begin(), each.sums.end(), 0.0);
        each.error = 0;
    }
    d_symbols = 0;
}

void noise_prediction::add(const float* residual,
                           std::size_t samples,
                           std::size_t symbols)
{
    measure(residual, samples);
    d_symbols = std::min(d_symbols + symbols, statistics_memory);
    const double keeps_error = kept(symbols, statistics_memory);
    for (average& each : d_averages)
        if (d_symbols == statistics_memory && predict(each))
            each.error = keeps_error * each.error + (1 - keeps_error) * error();
    for (std::size_t m = 0; m < memories.size(); ++m)
        for (std::size_t lag = 0; lag <= d_lags; ++lag) {
            auto& sum = d_averages[m].sums[lag];
            sum = kept(symbols, memories[m]) * sum + d_latest[lag];
        }
}

// Of the longest average whose errors exceed the smallest ones insignificantly.
std::size_t noise_prediction::best() const
{
    double least = d_averages[0].error;
    for (const average& each : d_averages)
        least = std::min(least, each.error);
    std::size_t longest = 0;
    while (d_averages[longest].error > (1 + insignificant) * least)
        ++longest;
    return longest;
}

void noise_prediction::measure(const float* residual, std::size_t samples)
{
    if (d_planes == 2)
        times_i(residual, samples, d_residual_turned.data());
    for (std::size_t lag = 0; lag <= d_lags; ++lag) {
        const auto with_later = [&](const float* later) {
            return d_kernels->dot(
                residual, later + lag * d_planes, (samples - lag) * d_planes);
        };
        d_latest[lag] = { with_later(residual),
                          d_planes == 2 ? -with_later(d_residual_turned.data()) : 0 };
    }
}

// Solves the normal equations Σ_k a(k) r(j - k) = r(j). Returns whether they have a solution.
bool noise_prediction::predict(const average& by)
{
    for (std::size_t j = 0; j < d_lags; ++j) {
        for (std::size_t k = 0; k <= j; ++k)
            d_work[j * d_lags + k] = by.sums[j - k];
        d_work[j * d_lags + j] *= 1 + white;
        d_taps[j] = by.sums[j + 1];
    }
    return power(by) > 0 && solve(d_work, d_lags, d_taps, 1);
}

// Power of the error that the prediction has in the latest residual, relative to the residual's: the
// quadratic form of its autocorrelation.
double noise_prediction::error() const
{
    const auto tap = [&](std::size_t k) { return k ? -d_taps[k - 1] : 1.0; };
    double sum = 0;
    for (std::size_t j = 0; j <= d_lags; ++j) {
        sum += std::norm(tap(j)) * d_latest[0].real();
        for (std::size_t k = 0; k < j; ++k)
            sum += 2 * (std::conj(tap(j)) * tap(k) * d_latest[j - k]).real();
    }
    return d_latest[0].real() > 0 ? sum / d_latest[0].real() : 1;
}

void noise_prediction::write(std::vector<std::complex<float>>& whitening)
{
    const bool solved = predict(d_averages[best()]);
    whitening[0] = 1;
    for (std::size_t k = 0; k < d_lags; ++k)
        whitening[k + 1] = solved ? -std::complex<float>(d_taps[k]) : 0;
}

void noise_prediction::state(archive& members)
{
    for (std::size_t m = 0; m < memories.size(); ++m) {
        average& each = d_averages[m];
        const std::string name = "memory" + std::to_string(memories[m]);
        members.numbers(name + ".correlation",
                        reinterpret_cast<double*>(each.sums.data()),
                        { each.sums.size(), 2 });
        members(name + ".error", each.error, 0.0, 1e6);
    }
    members("symbols", d_symbols, std::size_t{ 0 }, statistics_memory);
}

} // namespace gr::adann::core
