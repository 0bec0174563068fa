/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/phase_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {

constexpr float lasts = 64; // steps: averaging time of growth and phase noise
constexpr float first_phase_noise = 0.001f; // radians², initial value
/* Log-likelihood ratio for a jump to another angle: odds of 10^17 to one, and of 10^6 to one as sums of three
 * steps are counted in each of them. */
constexpr double false_phase = 40;
constexpr double least_gain =
    0.05; // of the log residual: less is noise, as where no angle is right

float range_of(const constellation& symbols)
{
    return static_cast<float>(M_PI) / static_cast<float>(symbols.symmetries().size());
}

// Angles up to half a symmetry. With a spacing of 1.5 times the tolerated error each phase is
// within 0.75 times that error of one of them.
std::vector<float> angles_of(const constellation& symbols)
{
    const float spacing = 1.5f * phase_search::tolerated(symbols);
    std::vector<float> found{ 0 };
    for (float angle = spacing; angle < range_of(symbols); angle += spacing)
        found.insert(found.end(), { angle, -angle });
    return found;
}

} // namespace

float phase_search::tolerated(const constellation& symbols)
{
    float largest = 0;
    for (const auto& point : symbols.points())
        largest = std::max(largest, std::norm(point));
    return symbols.half_distance() / std::sqrt(largest / symbols.power());
}

phase_search::phase_search(const constellation& symbols)
    : d_angles(angles_of(symbols)),
      d_range(range_of(symbols)),
      d_correlations(d_angles.size()),
      d_evidence(d_angles.size()),
      d_phase_noise(first_phase_noise)
{
}

void phase_search::begin(const phase_line& line)
{
    std::fill(
        d_correlations.begin(), d_correlations.end(), std::array<correlation, steps>{});
    std::fill(d_evidence.begin(), d_evidence.end(), 0.0);
    d_line = line;
    d_age = 0;
}

void phase_search::turn(float by)
{
    d_line.phase = wrapped(d_line.phase + by);
    for (auto& latest : d_correlations)
        for (correlation& step : latest)
            step.sum *= std::polar(1.0, double{ by });
}

void phase_search::take(std::size_t angle, const correlation& step)
{
    auto& latest = d_correlations[angle];
    std::rotate(latest.begin(), latest.begin() + 1, latest.end());
    latest.back() = step;
}

phase_search::correlation phase_search::accumulated(std::size_t angle) const
{
    const std::complex<double> growth = std::polar(1.0, double{ d_line.growth });
    correlation all;
    for (const correlation& step : d_correlations[angle]) {
        all.sum *= growth;
        all.add(step);
    }
    return all;
}

std::size_t phase_search::select(const std::vector<correlation>& all, std::size_t symbols)
{
    ++d_age;
    const float before = expected(1);
    const auto n = static_cast<double>(symbols);
    const auto residual = [&](std::size_t a) {
        return all[a].power - 2 * std::abs(all[a].sum);
    };
    const auto deviation = [&](std::size_t a) { // of its phase from the line
        return wrapped(static_cast<float>(std::arg(all[a].sum)) - before);
    };
    const auto is_possible = [&](std::size_t a) { // a usable step, not another symmetry
        return all[a].sum != 0.0 && residual(a) > 0 && std::abs(deviation(a)) <= d_range;
    };
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < all.size(); ++a) {
        if (!is_possible(a))
            continue;
        const float in_a_step = deviation(a) / static_cast<float>(d_age);
        const double unlikely = static_cast<double>(steps) * n * std::log(residual(a)) +
                                in_a_step * in_a_step / (2 * d_phase_noise);
        if (unlikely < least) {
            least = unlikely;
            best = a;
        }
    }
    d_line.phase = before;
    if (!is_possible(best))
        return best;
    for (std::size_t a = 0; a < all.size(); ++a)
        d_evidence[a] =
            is_possible(a)
                ? std::max(d_evidence[a] +
                               n * (std::log(residual(best) / residual(a)) - least_gain),
                           0.0)
                : 0;
    const auto likeliest = static_cast<std::size_t>(
        std::max_element(d_evidence.begin(), d_evidence.end()) - d_evidence.begin());
    if (d_evidence[likeliest] > false_phase) {
        std::fill(d_evidence.begin(), d_evidence.end(), 0.0);
        best = likeliest;
        const correlation latest = d_correlations[best].back();
        for (auto& earlier : d_correlations) // of decisions around the phase that was false
            earlier.fill({});
        d_correlations[best].back() = latest;
    } else {
        const float in_a_step = deviation(best) / static_cast<float>(d_age);
        d_line.growth += in_a_step / lasts;
        d_phase_noise += (in_a_step * in_a_step - d_phase_noise) / lasts;
    }
    d_line.phase = wrapped(before + deviation(best));
    d_age = 0;
    return best;
}

void phase_search::state(archive& members)
{
    static_assert(sizeof(correlation) == 3 * sizeof(double));
    members.numbers("told",
                    reinterpret_cast<double*>(d_correlations.data()),
                    { d_correlations.size(), steps, 3 },
                    -1e12,
                    1e12);
    members.numbers(
        "evidence", d_evidence.data(), { d_evidence.size() }, 0.0, 2 * false_phase);
    members("phase", d_line.phase, -4.0f, 4.0f);
    members("growth", d_line.growth, -4.0f, 4.0f);
    members("age", d_age);
    members("wander", d_phase_noise, 0.0f, 100.0f);
}

} // namespace gr::adann::core
