/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/filter_benefit.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
constexpr float span = 1024;               // symbols of weight 1: more say no more
constexpr float averaged = 16, least = 8;  // weights
constexpr float harmful = 3, harmless = 1; // standard deviations
constexpr float least_mean = 0.02f;        // 4 % more residual
} // namespace

void filter_benefit::add(float with, float without, std::size_t symbols)
{
    const float difference = (with - without) / (with + without);
    if (!std::isfinite(difference))
        return;
    const float weight = std::min(static_cast<float>(symbols) / span, 1.0f);
    const float keep = 1 - weight / averaged;
    d_weights = keep * d_weights + weight;
    d_weights_squared = keep * keep * d_weights_squared + weight * weight;
    d_differences = keep * d_differences + weight * difference;
    d_squares = keep * d_squares + weight * difference * difference;
    const float mean = d_differences / d_weights;
    const float variance = std::max(d_squares / d_weights - mean * mean, 0.0f) *
                           d_weights_squared / (d_weights * d_weights);
    const float limit = d_is_harmful ? harmless : harmful;
    d_is_harmful =
        d_weights >= least && mean > least_mean && mean * mean > limit * limit * variance;
}

void filter_benefit::state(archive& members)
{
    constexpr float most = 2 * averaged;
    members("weights", d_weights, 0.0f, most);
    members("weights_squared", d_weights_squared, 0.0f, most);
    members("differences", d_differences, -most, most);
    members("squares", d_squares, 0.0f, most);
    members("is_harmful", d_is_harmful);
}

} // namespace gr::adann::core
