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

label_power::label_power(const constellation& symbols)
{
    const auto count = static_cast<double>(symbols.size());
    const auto& points = symbols.points();
    const auto centre =
        std::accumulate(points.begin(), points.end(), std::complex<float>()) /
        static_cast<float>(count);
    double mean = 0;
    for (const auto& point : points) {
        d_power.push_back(std::norm(point - centre));
        mean += d_power.back() / count;
    }
    for (double& power : d_power) {
        power = power / mean - 1;
        d_variance += power * power / count;
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
