/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/label_power.h"

#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace gr::adann::core {

namespace {
constexpr double deviations = 5;
// Relative to the mean power: smaller differences between points are rounding errors.
constexpr double least_deviation = 1e-3;
} // namespace

label_power::label_power(const constellation& symbols,
                         const std::vector<float>& probabilities)
{
    const auto& points = symbols.points();
    const auto centre =
        std::accumulate(points.begin(), points.end(), std::complex<float>()) /
        static_cast<float>(points.size());
    double mean = 0;
    for (std::size_t k = 0; k < points.size(); ++k) {
        d_power.push_back(std::norm(points[k] - centre));
        mean += d_power[k] * probabilities[k];
    }
    for (std::size_t k = 0; k < points.size(); ++k) {
        d_power[k] = d_power[k] / mean - 1;
        d_variance += d_power[k] * d_power[k] * probabilities[k];
    }
    if (d_variance < least_deviation * least_deviation)
        d_variance = std::numeric_limits<double>::infinity();
}

bool label_power::is_unusual(const std::uint8_t* labels, std::size_t n) const
{
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
        sum += d_power[labels[i]];
    return sum * sum > deviations * deviations * d_variance * static_cast<double>(n);
}

} // namespace gr::adann::core
