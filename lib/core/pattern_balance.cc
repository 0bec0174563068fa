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
    : d_levels(levels_of(classes)),
      d_dimensions(d_levels == classes ? 1 : 2),
      d_sums(d_dimensions * d_levels * d_levels * d_levels),
      d_slopes(d_sums.size())
{
}

void pattern_balance::begin_step(std::size_t symbols)
{
    constexpr float window = 1024;
    const float memory = window / (window + static_cast<float>(symbols));
    for (std::size_t row = 0; row < d_sums.size(); row += d_levels) {
        // One symbol of each level more than was seen: an empty context pulls nowhere.
        float count = static_cast<float>(d_levels);
        for (std::size_t k = 0; k < d_levels; ++k)
            count += d_sums[row + k];
        for (std::size_t k = 0; k < d_levels; ++k) {
            d_slopes[row + k] = std::log((d_sums[row + k] + 1) / count * d_levels);
            d_sums[row + k] *= memory;
        }
    }
}

void pattern_balance::add(const std::uint8_t* decided,
                          std::size_t n,
                          const float* posteriors,
                          float weight,
                          float* error)
{
    // A label is i·others + q: the level i of I or of a PAM, and q of Q, if there is one.
    const std::size_t others = d_dimensions == 2 ? d_levels : 1;
    const std::size_t contexts = d_levels * d_levels;
    for (std::size_t t = 1; t + 1 < n; ++t) {
        const std::size_t before = decided[t - 1], after = decided[t + 1];
        const std::size_t row_i =
            (before / others * d_levels + after / others) * d_levels;
        const std::size_t row_q =
            others == 1
                ? 0
                : (contexts + before % others * d_levels + after % others) * d_levels;
        const auto slope = [&](std::size_t i, std::size_t q) {
            return d_slopes[row_i + i] + (others == 1 ? 0.0f : d_slopes[row_q + q]);
        };
        float mean = 0;
        const float* p = posteriors + t;
        for (std::size_t i = 0; i < d_levels; ++i)
            for (std::size_t q = 0; q < others; ++q, p += tile) {
                d_sums[row_i + i] += *p;
                if (others > 1)
                    d_sums[row_q + q] += *p;
                mean += *p * slope(i, q);
            }
        p = posteriors + t;
        float* e = error + t;
        for (std::size_t i = 0; i < d_levels; ++i)
            for (std::size_t q = 0; q < others; ++q, p += tile, e += tile)
                *e += weight * *p * (slope(i, q) - mean);
    }
}

void pattern_balance::reset() { std::fill(d_sums.begin(), d_sums.end(), 0.0f); }

} // namespace gr::adann::core
