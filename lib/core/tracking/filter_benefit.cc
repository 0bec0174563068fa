/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/filter_benefit.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr float span = 1024;               // symbols of weight 1: more say no more
constexpr float averaged = 16, least = 8;  // weights
constexpr float harmful = 3, harmless = 1; // standard deviations
constexpr std::size_t clearly_needed =
    3;                              // comparisons in a row: single ones are by chance
constexpr float least_mean = 0.02f; // 4 % more residual
} // namespace

void filter_benefit::pass(std::size_t symbols)
{
    d_symbols += symbols;
    d_known = 0;
}

void filter_benefit::pass_known(std::size_t symbols)
{
    const std::size_t known = d_known + symbols;
    if (known >= static_cast<std::size_t>(span))
        reset();
    d_known = known;
}

void filter_benefit::note_clear(bool is_clear)
{
    d_clear = is_clear ? d_clear + 1 : 0;
    if (d_is_harmful && d_clear >= clearly_needed)
        reset();
}

void filter_benefit::skip(bool is_clear)
{
    d_symbols = 0;
    note_clear(is_clear);
}

void filter_benefit::add(float with, float without, bool is_clear)
{
    const std::size_t symbols = std::exchange(d_symbols, 0);
    const bool was_harmful = d_is_harmful;
    note_clear(is_clear);
    if (was_harmful && !d_is_harmful)
        return;
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
    members("symbols", d_symbols);
    members("known", d_known);
    members("clear", d_clear);
}

} // namespace gr::adann::core
