/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/level_model.h"

#include "core/common/cholesky.h"
#include "core/signal/atsc_segment.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

constexpr float variance_memory = 6 * 208; // symbols
constexpr float least = 0.03f, most = 50;  // variance
constexpr float least_step = 0.4f;         // of m(s) from one level to the next
constexpr float negligible = 14;           // exponent, to that of the nearest level

float level(std::size_t k) { return 2 * static_cast<float>(k) - 7; }

} // namespace

void level_model::start(float error)
{
    const float gain = 1 / (1 + error / atsc::power);
    for (std::size_t k = 0; k < levels; ++k) {
        d_means[k] = gain * level(k);
        d_counts[k] = memory / levels;
        d_sums[k] = d_counts[k] * d_means[k];
    }
    d_variance = std::clamp(error * gain, least, most);
    d_new_counts = d_new_sums = {};
    d_squares = 0;
}

void level_model::find_weights(float y)
{
    std::size_t nearest = 0;
    while (nearest + 1 < levels && 2 * y > d_means[nearest] + d_means[nearest + 1])
        ++nearest;
    const auto exponent = [&](std::size_t k) {
        return (y - d_means[k]) * (y - d_means[k]) / (2 * d_variance);
    };
    const float first = exponent(nearest);
    d_weights.fill(0);
    d_weights[nearest] = 1;
    float sum = 1;
    const auto add = [&](std::size_t k) {
        const float more = exponent(k) - first;
        if (more > negligible)
            return false;
        sum += d_weights[k] = std::exp(-more);
        return true;
    };
    for (std::size_t k = nearest; k-- > 0 && add(k);) {
    }
    for (std::size_t k = nearest + 1; k < levels && add(k); ++k) {
    }
    for (float& weight : d_weights)
        weight /= sum;
}

level_model::estimate level_model::find(float y)
{
    find_weights(y);
    float mean = 0, square = 0;
    for (std::size_t k = 0; k < levels; ++k) {
        mean += d_weights[k] * level(k);
        square += d_weights[k] * level(k) * level(k);
    }
    return { mean, std::max(square - mean * mean, 0.0f) };
}

level_model::estimate level_model::learn(float y, float known)
{
    const estimate found = find(y);
    if (known != 0) {
        d_weights.fill(0);
        d_weights[static_cast<std::size_t>((known + 7) / 2)] = 1;
    }
    for (std::size_t k = 0; k < levels; ++k) {
        d_new_counts[k] += d_weights[k];
        d_new_sums[k] += d_weights[k] * y;
        d_squares += d_weights[k] * (y - d_means[k]) * (y - d_means[k]);
    }
    return found;
}

void level_model::update(std::size_t symbols)
{
    const float n = static_cast<float>(symbols);
    const float follow = 1 - std::exp(-n / variance_memory);
    d_variance =
        std::clamp(d_variance + follow * (d_squares / n - d_variance), least, most);
    d_squares = 0;
    const float keep = std::exp(-n / memory);
    std::fill(d_squared.begin(), d_squared.end(), 0.0);
    std::fill(d_cubic.begin(), d_cubic.end(), 0.0);
    for (std::size_t k = 0; k < levels; ++k) {
        d_counts[k] = keep * d_counts[k] + d_new_counts[k];
        d_sums[k] = keep * d_sums[k] + d_new_sums[k];
        const double s = level(k) / 7;
        double monomial = 1;
        for (std::size_t i = 0; i < unknowns; ++i, monomial *= s) {
            d_cubic[i] += monomial * d_sums[k];
            double power = monomial;
            for (std::size_t j = 0; j < unknowns; ++j, power *= s)
                d_squared[i * unknowns + j] += power * d_counts[k];
        }
    }
    d_new_counts = d_new_sums = {};
    if (!solve(d_squared, unknowns, d_cubic, 1))
        return;
    std::array<float, levels> means;
    for (std::size_t k = 0; k < levels; ++k) {
        const double s = level(k) / 7;
        means[k] = static_cast<float>(
            d_cubic[0] + s * (d_cubic[1] + s * (d_cubic[2] + s * d_cubic[3])));
        if (!std::isfinite(means[k]) || (k && means[k] - means[k - 1] < least_step))
            return; // what no amplifier does
    }
    d_means = means;
}

float level_model::level_of(float y) const
{
    std::size_t k = 0;
    while (k + 2 < levels && y > d_means[k + 1])
        ++k;
    return level(k) + 2 * (y - d_means[k]) / (d_means[k + 1] - d_means[k]);
}

} // namespace gr::adann::core
