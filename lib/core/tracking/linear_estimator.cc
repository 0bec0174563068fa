/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/linear_estimator.h"

#include "core/common/cholesky.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace gr::adann::core {

namespace {

constexpr std::size_t most_floats = 128; // of a window, whose covariance is solved

// Response of `known` symbols from `window` before the middle one to a dimension of a symbol's point.
std::vector<double> response_to(const symbol_response& response,
                                std::size_t window,
                                std::size_t known,
                                std::ptrdiff_t symbol,
                                std::size_t d)
{
    const auto reach = static_cast<std::ptrdiff_t>(response.reach);
    std::vector<double> values(known * response.stride);
    for (std::size_t i = 0; i < known; ++i) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) -
                                  static_cast<std::ptrdiff_t>(window) - symbol + reach;
        if (at >= 0 && at <= 2 * reach)
            std::copy_n(response.dimension(d) +
                            static_cast<std::size_t>(at) * response.stride,
                        response.stride,
                        &values[i * response.stride]);
    }
    return values;
}

// Covariance of circular noise, half of E[conj(v(k + lag)) v(k)] in each dimension, of floats i and j.
class noise_covariance
{
public:
    noise_covariance(const expected_waveform& waveform, float white)
        : d_waveform(waveform), d_white(white), d_planes(waveform.is_complex() ? 2 : 1)
    {
    }
    double operator()(std::size_t i, std::size_t j) const
    {
        if (d_white > 0)
            return i == j ? double{ d_white } / static_cast<double>(d_planes) : 0.0;
        const auto most_lag = static_cast<std::ptrdiff_t>(d_waveform.lags() / 2);
        const std::ptrdiff_t lag = static_cast<std::ptrdiff_t>(i / d_planes) -
                                   static_cast<std::ptrdiff_t>(j / d_planes);
        if (std::abs(lag) > most_lag)
            return 0.0;
        const float* const at =
            &d_waveform.noise_correlation()[static_cast<std::size_t>(lag + most_lag) *
                                            d_planes];
        const std::size_t p = i % d_planes, q = j % d_planes;
        return double{ p == q ? at[0]
                       : p    ? -at[1]
                              : at[1] } /
               static_cast<double>(d_planes);
    }

private:
    const expected_waveform& d_waveform;
    float d_white;
    std::size_t d_planes;
};

} // namespace

symbol_response::symbol_response(const expected_waveform& waveform,
                                 std::size_t of_dimensions)
    : dimensions(of_dimensions),
      reach(waveform.affine_reach()),
      stride(waveform.stride()),
      values(dimensions * floats())
{
    const std::size_t symbols = 2 * reach + 1;
    for (std::size_t d = 0; d < dimensions; ++d)
        for (std::size_t i = 0; i < symbols; ++i) { // rows begin with the latest symbol
            const std::size_t place = symbols - 1 - i;
            std::copy_n(&waveform.affine()[(1 + place * dimensions + d) * stride],
                        stride,
                        &values[d * floats() + i * stride]);
        }
}

std::size_t linear_estimator::window(const symbol_response& response)
{
    return std::min(response.reach,
                    (std::max(most_floats / response.stride, std::size_t{ 1 }) - 1) / 2);
}

linear_estimator::linear_estimator(const expected_waveform& waveform,
                                   const symbol_response& response,
                                   const design& wanted)
    : d_kernels(&simd::active()), d_dimensions(response.dimensions)
{
    const std::size_t around = window(response), known = 2 * around + 1 - wanted.missing;
    const auto farthest = static_cast<std::ptrdiff_t>(response.reach + around);
    const double power = 1.0 / static_cast<double>(d_dimensions); // of each dimension
    const noise_covariance noise(waveform, wanted.white_noise);
    d_floats = known * response.stride;
    std::vector<double> signal(d_floats * d_floats), target(d_floats * d_dimensions);
    for (std::ptrdiff_t symbol = -farthest; symbol <= farthest; ++symbol)
        for (std::size_t d = 0; d < d_dimensions; ++d) {
            const auto values = response_to(response, around, known, symbol, d);
            for (std::size_t i = 0; i < d_floats; ++i)
                for (std::size_t j = 0; j <= i && (wanted.interferes || symbol == 0); ++j)
                    signal[i * d_floats + j] += power * values[i] * values[j];
            for (std::size_t i = 0; symbol == 0 && i < d_floats; ++i)
                target[i * d_dimensions + d] = power * values[i];
        }
    d_filter = aligned_floats(d_floats * d_dimensions);
    // The residual of a nonlinear waveform may have a correlation that
    // is no covariance together with the signal's: then a larger part
    // of the noise counts as white, until the matrix is definite.
    std::vector<double> taps;
    for (double coloured = 1; coloured > 0.01; coloured /= 2) {
        auto covariance = signal;
        for (std::size_t i = 0; i < d_floats; ++i)
            for (std::size_t j = 0; j <= i; ++j)
                covariance[i * d_floats + j] +=
                    i == j ? noise(i, i) * (1 + 1e-6) : coloured * noise(i, j);
        taps = target;
        if (solve(covariance, d_floats, taps, d_dimensions))
            break;
    }
    double gain = 0;
    for (std::size_t d = 0; d < d_dimensions; ++d) {
        const auto values = response_to(response, around, known, 0, d);
        for (std::size_t i = 0; i < d_floats; ++i) {
            gain += taps[i * d_dimensions + d] * values[i] * power;
            d_filter[d * d_floats + i] = static_cast<float>(taps[i * d_dimensions + d]);
        }
    }
    gain = std::clamp(gain, 1e-6, 1 - 1e-9);
    for (float& tap : d_filter) // unbiased
        tap /= static_cast<float>(gain);
    d_variance = static_cast<float>((1 - gain) / gain);
}

} // namespace gr::adann::core
