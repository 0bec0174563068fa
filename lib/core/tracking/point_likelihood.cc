/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/point_likelihood.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace gr::adann::core {

namespace {
// The largest one of eight ratios of estimates without points exceeds e^10 in one of 2700 at most.
constexpr float clearly = 10;
// Of a sector that the constellation's symmetries leave. A phase scales real parts, and scales differ more than rotations.
constexpr std::size_t complex_phases = 4, real_phases = 16;
constexpr float least_likelihood = 1e-30f;
} // namespace

point_likelihood::point_likelihood(const constellation& alphabet,
                                   const std::vector<float>& probabilities,
                                   std::size_t most)
    : d_points(alphabet.unit_points()),
      d_probabilities(probabilities),
      d_dimensions(static_cast<float>(alphabet.dimensions())),
      d_half_distance(alphabet.half_distance()),
      d_most(most)
{
    const std::size_t phases = alphabet.dimensions() == 2 ? complex_phases : real_phases;
    const double sector = 2 * M_PI / static_cast<double>(alphabet.symmetries().size());
    for (std::size_t i = 0; i < phases; ++i) {
        const std::complex<float> by =
            std::polar(1.0f,
                       static_cast<float>(sector * static_cast<double>(i) /
                                          static_cast<double>(phases)));
        for (const auto& point : d_points) // a real part has half of the power
            d_rotated.push_back(alphabet.dimensions() == 2
                                    ? by * point
                                    : std::sqrt(2.0f) * (by * point).real());
    }
}

// Of an estimate over the noise's deviation, but for a constant.
float point_likelihood::mean_likelihood(std::complex<float> z,
                                        const std::vector<std::complex<float>>& points,
                                        float gain) const
{
    float sum = 0;
    for (std::size_t m = 0; m < points.size(); ++m)
        sum += d_probabilities[m % d_points.size()] *
               std::exp(-d_dimensions / 2 * std::norm(z - gain * points[m]));
    return std::max(sum * static_cast<float>(d_points.size()) /
                        static_cast<float>(points.size()),
                    least_likelihood);
}

void point_likelihood::add(const std::complex<float>* estimates, std::size_t n)
{
    float power = 0;
    for (std::size_t k = 0; k < n; ++k)
        power += std::norm(estimates[k]);
    power /= static_cast<float>(n);
    if (!(power > 0) || !std::isfinite(power))
        return;
    d_estimates = static_cast<float>(n);
    for (std::size_t i = 0; i < deviations.size(); ++i) {
        const float deviation = deviations[i] * d_half_distance;
        const float noise =
            d_dimensions * deviation * deviation; // points have unit power
        const float scale = std::sqrt((1 + noise) / (noise * power)),
                    gain = std::sqrt(1 / noise);
        float points = 0, rotated = 0, gaussian = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const std::complex<float> z = estimates[k] * scale;
            points += std::log(mean_likelihood(z, d_points, gain));
            rotated += std::log(mean_likelihood(z, d_rotated, gain));
            gaussian -=
                d_dimensions / 2 *
                (std::norm(z) * noise / (1 + noise) + std::log((1 + noise) / noise));
        }
        d_ratios[i].points.add((points - gaussian) / d_estimates, d_most);
        d_ratios[i].rotated.add((rotated - gaussian) / d_estimates, d_most);
    }
}

bool point_likelihood::shows_points() const
{
    float points = std::numeric_limits<float>::lowest(), others = 0; // of the Gaussian
    for (const ratios& each : d_ratios) {
        points = std::max(points, each.points.mean);
        others = std::max(others, each.rotated.mean);
    }
    const float estimates = static_cast<float>(d_ratios[0].points.count) * d_estimates;
    return (points - others) * estimates > clearly;
}

void point_likelihood::reset() { d_ratios = {}; }

void point_likelihood::state(archive& members)
{
    for (std::size_t i = 0; i < d_ratios.size(); ++i) {
        members("points_" + std::to_string(i), d_ratios[i].points.mean, -1e6f, 1e6f);
        members("rotated_" + std::to_string(i), d_ratios[i].rotated.mean, -1e6f, 1e6f);
    }
    std::size_t count = d_ratios[0].points.count;
    members("count", count, std::size_t{ 0 }, d_most);
    members("estimates", d_estimates, 0.0f, 1e6f);
    for (ratios& each : d_ratios)
        each.points.count = each.rotated.count = count;
}

} // namespace gr::adann::core
