/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/phase_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {

constexpr float lasts = 64; // steps: averaging time of growth and phase noise
constexpr float first_phase_noise = 0.001f; // radians², initial value
/* Log-likelihood ratio for a jump to another angle. By far more than chance asks for, since a jump to a
 * wrong one costs hundreds of symbols, and wrong labels have no Gaussian residual. */
constexpr double most_evidence = 40;
// Of the log residual, a symbol: less is noise, as where no angle is right.
constexpr double least_gain = 0.05;

float range_of(const constellation& symbols)
{
    return static_cast<float>(M_PI) / static_cast<float>(symbols.symmetries().size());
}

double
left(const phase_search::correlation& of) // energy of the residual at the best phase
{
    return of.power - 2 * std::abs(of.sum);
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

phase_search::correlation phase_search::correlation::of(const float* y,
                                                        const float* w,
                                                        std::size_t floats,
                                                        bool is_complex)
{
    correlation found{ 0, 0 };
    for (std::size_t i = 0; i < floats; ++i) {
        found.power += y[i] * y[i] + w[i] * w[i];
        found.sum += y[i] * w[i];
    }
    for (std::size_t i = 0; is_complex && i < floats; i += 2)
        found.sum += std::complex<double>(0, y[i + 1] * w[i] - y[i] * w[i + 1]);
    return found;
}

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
    d_line.phase = wrapped(expected(1));
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < all.size(); ++a) {
        if (!is_possible(all[a]))
            continue;
        const float in_a_step = deviation(all[a]) / static_cast<float>(d_age);
        const double unlikely =
            static_cast<double>(steps * symbols) * std::log(left(all[a])) +
            in_a_step * in_a_step / (2 * d_phase_noise);
        if (unlikely < least) {
            least = unlikely;
            best = a;
        }
    }
    if (!(least < std::numeric_limits<double>::infinity()))
        return best;
    if (const auto right = better_for_long(all, symbols, best)) {
        best = *right;
        const correlation latest = d_correlations[best].back(); // that residual() needs
        for (auto& earlier : d_correlations) // decided around the phase that was false
            earlier.fill({});
        d_correlations[best].back() = latest;
    } else {
        const float in_a_step = deviation(all[best]) / static_cast<float>(d_age);
        d_line.growth += in_a_step / lasts;
        d_phase_noise += (in_a_step * in_a_step - d_phase_noise) / lasts;
    }
    d_line.phase = wrapped(d_line.phase + deviation(all[best]));
    d_age = 0;
    return best;
}

// Of a phase from the line.
float phase_search::deviation(const correlation& of) const
{
    return wrapped(static_cast<float>(std::arg(of.sum)) - d_line.phase);
}

// Whether it is of a usable step, and its phase is not one of another symmetry.
bool phase_search::is_possible(const correlation& of) const
{
    return of.sum != 0.0 && left(of) > 0 && std::abs(deviation(of)) <= d_range;
}

// Adds a step to the evidence. The angle that has enough of it, if there is one: all start again then.
std::optional<std::size_t> phase_search::better_for_long(
    const std::vector<correlation>& all, std::size_t symbols, std::size_t selected)
{
    for (std::size_t a = 0; a < all.size(); ++a) {
        const double gain = is_possible(all[a])
                                ? std::log(left(all[selected]) / left(all[a]))
                                : -std::numeric_limits<double>::infinity();
        d_evidence[a] += static_cast<double>(symbols) * (gain - least_gain);
        d_evidence[a] = std::max(d_evidence[a], 0.0);
    }
    const auto most = std::max_element(d_evidence.begin(), d_evidence.end());
    if (*most <= most_evidence)
        return {};
    const auto found = static_cast<std::size_t>(most - d_evidence.begin());
    std::fill(d_evidence.begin(), d_evidence.end(), 0.0);
    return found;
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
        "evidence", d_evidence.data(), { d_evidence.size() }, 0.0, most_evidence);
    members("phase", d_line.phase, -4.0f, 4.0f);
    members("growth", d_line.growth, -4.0f, 4.0f);
    members("age", d_age);
    members("wander", d_phase_noise, 0.0f, 100.0f);
}

} // namespace gr::adann::core
