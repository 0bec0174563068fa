/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/point_likelihood.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace gr::adann::core {

namespace {
// Without points the largest of eight ratios exceeds e^10 in one of 2700 tests of independent estimates at most.
constexpr float clearly = 10;
constexpr std::size_t phases = 4; // of a sector that the constellation's symmetries leave
constexpr float least_likelihood = 1e-30f;
} // namespace

point_likelihood::point_likelihood(const constellation& alphabet,
                                   const std::vector<float>& probabilities,
                                   std::size_t most)
    : d_points(alphabet.unit_points()),
      d_probabilities(probabilities),
      d_power(0),
      d_half_distance(alphabet.half_distance()),
      d_most(most)
{
    for (std::size_t m = 0; m < d_points.size(); ++m)
        d_power += d_probabilities[m] * std::norm(d_points[m]);
    const double sector = 2 * M_PI / static_cast<double>(alphabet.symmetries().size());
    for (std::size_t i = 0; i < phases; ++i)
        for (const auto& point : d_points)
            d_rotated.push_back(
                point * static_cast<std::complex<float>>(
                            std::polar(1.0, sector * static_cast<double>(i) / phases)));
}

// Of an estimate over the noise's deviation, but for a constant.
float point_likelihood::mean_likelihood(std::complex<float> z,
                                        const std::vector<std::complex<float>>& points,
                                        float gain) const
{
    float sum = 0;
    for (std::size_t m = 0; m < points.size(); ++m)
        sum += d_probabilities[m % d_points.size()] *
               std::exp(-std::norm(z - gain * points[m]));
    const auto times = static_cast<float>(points.size() / d_points.size());
    return std::max(sum / times, least_likelihood);
}

bool point_likelihood::add(const std::complex<float>* estimates, std::size_t n)
{
    const std::size_t used = most_likelihoods / d_points.size();
    const std::size_t every = (n + used - 1) / used;
    const auto count = static_cast<float>((n + every - 1) / every);
    float power = 0;
    for (std::size_t k = 0; k < n; k += every)
        power += std::norm(estimates[k]) / count;
    if (!(power > 0) || !std::isfinite(power))
        return false;
    d_sets = std::min(d_sets + 1, d_most);
    for (std::size_t i = 0; i < deviations.size(); ++i) {
        const float deviation = deviations[i] * d_half_distance;
        const float noise = 2 * deviation * deviation, all = d_power + noise;
        const float scale = std::sqrt(all / (noise * power)), gain = 1 / std::sqrt(noise);
        float points = 0, rotated = 0, gaussian = 0;
        for (std::size_t k = 0; k < n; k += every) {
            const std::complex<float> z = estimates[k] * scale;
            points += std::log(mean_likelihood(z, d_points, gain));
            rotated += std::log(mean_likelihood(z, d_rotated, gain));
            gaussian -= std::norm(z) * noise / all + std::log(all / noise);
        }
        const auto sets = static_cast<float>(d_sets);
        d_of_points[i] += (points - gaussian - d_of_points[i]) / sets;
        d_of_rotated[i] += (rotated - gaussian - d_of_rotated[i]) / sets;
    }
    return true;
}

bool point_likelihood::shows_points() const
{
    const float points = *std::max_element(d_of_points.begin(), d_of_points.end());
    const float rotated = *std::max_element(d_of_rotated.begin(), d_of_rotated.end());
    return (points - std::max(rotated, 0.0f)) * static_cast<float>(d_sets) > clearly;
}

void point_likelihood::reset()
{
    d_sets = 0;
    d_of_points = d_of_rotated = {};
}

void point_likelihood::state(archive& members)
{
    members("sets", d_sets, std::size_t{ 0 }, d_most);
    for (std::size_t i = 0; i < deviations.size(); ++i) {
        members("points_" + std::to_string(i), d_of_points[i], -1e9f, 1e9f);
        members("rotated_" + std::to_string(i), d_of_rotated[i], -1e9f, 1e9f);
    }
}

} // namespace gr::adann::core
