/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/pattern_balance.h"

#include "core/simd/kernels.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

using simd::tile;

namespace {

// The levels of one dimension: all classes, or the root of a square QAM's.
std::size_t levels_of(std::size_t classes)
{
    return classes <= 8 ? classes
                        : static_cast<std::size_t>(std::lround(std::sqrt(classes)));
}

} // namespace

pattern_balance::pattern_balance(std::size_t classes)
    : d_classes(classes),
      d_levels(levels_of(classes)),
      d_dimensions(d_levels == classes ? 1 : 2),
      d_contexts(d_levels * d_levels),
      d_sums(d_dimensions * d_contexts * d_levels),
      d_slopes(d_sums.size()),
      d_slope(classes)
{
}

void pattern_balance::begin_step(std::size_t symbols)
{
    constexpr float window = 1024;
    const float memory = window / (window + static_cast<float>(symbols));
    for (std::size_t c = 0; c < d_dimensions * d_contexts; ++c) {
        float* sums = &d_sums[c * d_levels];
        // One symbol of each level more than was seen: an empty context pulls nowhere.
        float count = static_cast<float>(d_levels);
        for (std::size_t j = 0; j < d_levels; ++j)
            count += sums[j];
        for (std::size_t j = 0; j < d_levels; ++j) {
            d_slopes[c * d_levels + j] = std::log((sums[j] + 1) / count * d_levels);
            sums[j] *= memory;
        }
    }
}

void pattern_balance::add(const std::uint8_t* decided,
                          std::size_t n,
                          const float* posteriors,
                          float weight,
                          float* error)
{
    for (std::size_t t = 1; t + 1 < n; ++t) {
        std::fill(d_slope.begin(), d_slope.end(), 0.0f);
        for (std::size_t d = 0; d < d_dimensions; ++d) {
            // I is the label's upper half, Q its lower one.
            const auto level = [&](std::size_t label) {
                return d_dimensions == 1 ? label
                       : d == 0          ? label / d_levels
                                         : label % d_levels;
            };
            const std::size_t context =
                level(decided[t - 1]) * d_levels + level(decided[t + 1]);
            const std::size_t row = (d * d_contexts + context) * d_levels;
            for (std::size_t j = 0; j < d_classes; ++j) {
                d_sums[row + level(j)] += posteriors[j * tile + t];
                d_slope[j] += d_slopes[row + level(j)];
            }
        }
        float mean = 0;
        for (std::size_t j = 0; j < d_classes; ++j)
            mean += posteriors[j * tile + t] * d_slope[j];
        for (std::size_t j = 0; j < d_classes; ++j)
            error[j * tile + t] +=
                weight * posteriors[j * tile + t] * (d_slope[j] - mean);
    }
}

void pattern_balance::reset() { std::fill(d_sums.begin(), d_sums.end(), 0.0f); }

} // namespace gr::adann::core
