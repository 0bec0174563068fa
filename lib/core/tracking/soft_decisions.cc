/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/soft_decisions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {

// Log-likelihood ratio to the nearest other point
// beyond which a posterior, 1 - 1e-7, is 1 as a float.
constexpr float sure = 16;
// Variance of a linear estimate over that without interference: ordinary channels have 1 to 1.4, those
// with deep notches 2 to 20. And part of the estimates' errors that decisions make. Chosen on 75 random
// channels (docs/results/refinement.md): means were the better target where a network made more errors than
// that, and as good or far worse where it made fewer.
constexpr float interfered = 4;
constexpr double far_fewer = 0.4;

} // namespace

soft_decisions::soft_decisions(const expected_waveform& waveform,
                               const constellation& alphabet)
    : d_response(waveform, alphabet.dimensions()),
      d_window(linear_estimator::window(d_response)),
      d_points(alphabet.unit_points()),
      d_half_distance(alphabet.half_distance())
{
    for (std::size_t missing = 0; missing <= d_window; ++missing)
        d_parts.push_back(linear_estimator(waveform, d_response, { missing }));
    d_alone = linear_estimator(waveform, d_response, { 0, false }).variance();
    for (std::size_t label = 0; label < alphabet.size(); ++label)
        d_neighbours += static_cast<double>(alphabet.neighbours(label).size()) /
                        static_cast<double>(alphabet.size());
}

bool soft_decisions::is_outdone_by(double symbol_error_rate) const
{
    const double deviation =
        std::sqrt(variance() / static_cast<float>(d_response.dimensions));
    const double own =
        d_neighbours * std::erfc(d_half_distance / deviation * M_SQRT1_2) / 2;
    return variance() > interfered * d_alone &&
           symbol_error_rate < far_fewer * std::min(own, 1.0);
}

void soft_decisions::find(const std::uint8_t* labels,
                          const float* linear,
                          std::size_t n,
                          float excess,
                          label_noise& noise,
                          soft_decision* found) const
{
    estimate_error error{};
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t missing = d_window - std::min(d_window, n - 1 - i);
        const linear_estimator& of = d_parts[missing];
        if (i == 0 || missing > 0)
            error = error_of(excess * of.variance(), noise);
        found[i] = posterior(
            labels[i], of.estimate(linear + i * d_response.stride), error, noise);
    }
}

/* The nearest other point is at a distance of 2h or more. At a distance a from the decided one the log-likelihood ratio
 * is at least (2h - a)²/most - a²/least, over the scale, less half the span of the noise's logarithms in each dimension.
 * Where that is `sure`: q a² + b a = c, with q = 1/least - 1/most. */
soft_decisions::estimate_error soft_decisions::error_of(float variance,
                                                        const label_noise& noise) const
{
    const float scale = d_response.dimensions == 2 ? variance : 2 * variance;
    const float most = noise.largest(), least = noise.smallest();
    const float h = d_half_distance, q = 1 / least - 1 / most, b = 4 * h / most;
    const float c =
        4 * h * h / most -
        (sure + noise.span() * static_cast<float>(d_response.dimensions) / 2) * scale;
    const float a = c > 0 ? 2 * c / (b + std::sqrt(b * b + 4 * q * c)) : 0;
    return { 1 / variance, 1 / (1 + variance), 1 / scale, a * a };
}

soft_decision soft_decisions::posterior(std::uint8_t label,
                                        std::complex<float> z,
                                        const estimate_error& error,
                                        label_noise& noise) const
{
    const std::complex<float> decided = d_points[label], off = z - decided,
                              linear = z * error.shrinkage - decided;
    if (const float distance = std::norm(off); distance < error.sure_square) {
        noise.add(label, 1, distance * error.precision);
        return { {}, off, linear, 0 };
    }
    // Negative logarithms of the points' likelihoods, but for a constant.
    std::array<float, constellation::most_points> losses;
    float least = std::numeric_limits<float>::max();
    for (std::size_t m = 0; m < d_points.size(); ++m) {
        losses[m] =
            std::norm(z - d_points[m]) * error.inverse_scale / noise.factors()[m] +
            static_cast<float>(d_response.dimensions) / 2 * noise.logarithms()[m];
        least = std::min(least, losses[m]);
    }
    float total = 0, square = 0, across = 0, across_square = 0;
    std::complex<float> mean = 0;
    for (std::size_t m = 0; m < d_points.size(); ++m) {
        const bool is_likely = losses[m] - least < sure;
        const float weight = losses[m] = is_likely ? std::exp(least - losses[m]) : 0;
        if (!is_likely)
            continue;
        const std::complex<float> difference = d_points[m] - decided;
        total += weight;
        mean += weight * difference;
        square += weight * std::norm(difference);
        const float along = (std::conj(z) * difference).imag();
        across += weight * along;
        across_square += weight * along * along;
    }
    for (std::size_t m = 0; m < d_points.size(); ++m)
        if (losses[m] > 0)
            noise.add(m, losses[m] / total, std::norm(z - d_points[m]) * error.precision);
    mean /= total;
    across /= total;
    if (!std::isfinite(std::norm(mean)))
        return {};
    // The mean's derivative is the posterior covariance
    // over the noise's, half of which is in each dimension.
    const float turning = 2 * error.precision * (across_square / total - across * across);
    return { mean,
             off,
             linear,
             std::max(0.0f, square / total - std::norm(mean)),
             std::max(0.0f, turning) };
}

void soft_decisions::aim(const soft_decision* decisions,
                         std::size_t n,
                         float slope,
                         float* expected) const
{
    const auto reach = static_cast<std::ptrdiff_t>(d_response.reach);
    const auto end = static_cast<std::ptrdiff_t>(n);
    for (std::ptrdiff_t k = -reach; k < end + reach; ++k) {
        const std::complex<float> by =
            (decisions[k].mean - slope * decisions[k].linear) / (1 - slope);
        if (by == 0.0f)
            continue;
        const std::ptrdiff_t from = std::max<std::ptrdiff_t>(k - reach, 0);
        const std::ptrdiff_t to = std::min(k + reach + 1, end);
        const std::size_t stride = d_response.stride, floats = (to - from) * stride;
        const std::size_t of = (from - (k - reach)) * stride;
        float* const sum = expected + from * stride;
        for (std::size_t j = 0; j < floats; ++j)
            sum[j] += by.real() * d_response.dimension(0)[of + j];
        if (d_response.dimensions == 2)
            for (std::size_t j = 0; j < floats; ++j)
                sum[j] += by.imag() * d_response.dimension(1)[of + j];
    }
}

float soft_decisions::slope(const soft_decision* decisions,
                            std::size_t n,
                            float excess) const
{
    float sum = 0;
    for (std::size_t k = 0; k < n; ++k)
        sum += decisions[k].variance;
    const float unbiased = excess * variance();
    return sum / static_cast<float>(n) * (1 + unbiased) / unbiased;
}

float soft_decisions::turning(const soft_decision* decisions, std::size_t n) const
{
    float sum = 0;
    for (std::size_t k = 0; k < n; ++k)
        sum += decisions[k].turning;
    return sum / static_cast<float>(n);
}

float soft_decisions::hidden_noise(const soft_decision* decisions, std::size_t n) const
{
    float sum = 0;
    for (std::size_t k = 0; k < n; ++k)
        sum += std::norm(decisions[k].received - decisions[k].mean) +
               decisions[k].variance - std::norm(decisions[k].received);
    return std::max(0.0f, sum / static_cast<float>(n));
}

float soft_decisions::excess(const soft_decision* decisions, std::size_t n) const
{
    float sum = 0;
    for (std::size_t k = 0; k < n; ++k)
        sum +=
            std::norm(decisions[k].received - decisions[k].mean) + decisions[k].variance;
    return sum / (static_cast<float>(n) * variance());
}

} // namespace gr::adann::core
