/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/rotation_power.h"

#include "core/common/complex.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {

constexpr double deviations =
    2; // of the noise, to half the distance of the nearest points
constexpr std::size_t steps = 128;    // of the table
constexpr double beyond = 1.5;        // its largest amplitude, over that of the points
constexpr std::size_t angles = 128;   // of one rotation
constexpr std::size_t intervals = 32; // of the samples' amplitudes

} // namespace

rotation_power::rotation_power(const constellation& alphabet)
    : d_order(alphabet.symmetries().size())
{
    const auto points = alphabet.unit_points();
    double largest = 0;
    for (const auto& point : points)
        largest = std::max(largest, static_cast<double>(std::abs(point)));
    d_step = beyond * largest / static_cast<double>(steps);
    const double each = alphabet.half_distance() / deviations;
    for (std::size_t i = 0; i <= steps; ++i)
        d_expected.push_back(
            conditional(static_cast<double>(i) * d_step, points, 2 * each * each));
    find_moments({ points.begin(), points.end() });
}

rotation_power::rotation_power(std::size_t order,
                               const std::vector<std::complex<double>>& samples)
    : d_order(order), d_expected(intervals + 1)
{
    for (const auto& each : samples)
        d_step = std::max(d_step, std::abs(each) / intervals);
    std::vector<double> counts(d_expected.size());
    for (const auto& each : samples)
        if (const double amplitude = std::abs(each); amplitude > 0) {
            const auto nearest =
                static_cast<std::size_t>(std::lround(amplitude / d_step));
            d_expected[nearest] += power(each / amplitude, d_order);
            ++counts[nearest];
        }
    // By chance a mean of n random phases has a square of 1/n.
    for (std::size_t i = 0; i < d_expected.size(); ++i)
        if (const double all = std::norm(d_expected[i]); all > counts[i])
            d_expected[i] *= (1 - counts[i] / all) / counts[i];
        else
            d_expected[i] = 0;
    find_moments(samples);
}

void rotation_power::find_moments(const std::vector<std::complex<double>>& samples)
{
    const auto count = static_cast<double>(samples.size());
    double square = 0;
    for (const auto& each : samples) {
        const auto own = (*this)(each);
        d_mean += own / count;
        square += std::norm(own) / count;
    }
    d_scatter = square / std::norm(d_mean);
}

// E[e^(iMφ) | amplitude], of points in noise.
std::complex<double> rotation_power::conditional(
    double amplitude, const std::vector<std::complex<float>>& points, double noise) const
{
    const auto sample = [&](std::size_t k) {
        return std::polar(amplitude,
                          2 * M_PI * static_cast<double>(k) /
                              static_cast<double>(angles * d_order));
    };
    const auto distance = [](std::complex<double> from, std::complex<float> to) {
        return std::norm(from - std::complex<double>(to));
    };
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < angles; ++k)
        for (const auto& point : points)
            nearest = std::min(nearest, distance(sample(k), point));
    double whole = 0;
    std::complex<double> turned = 0;
    for (std::size_t k = 0; k < angles; ++k) {
        double likelihood = 0;
        for (const auto& point : points)
            likelihood += std::exp((nearest - distance(sample(k), point)) / noise);
        whole += likelihood;
        turned += std::polar(
            likelihood, 2 * M_PI * static_cast<double>(k) / static_cast<double>(angles));
    }
    return turned / whole;
}

std::complex<double> rotation_power::operator()(std::complex<double> sample) const
{
    const double amplitude = std::sqrt(std::norm(sample));
    if (!(amplitude > 0))
        return 0;
    const double at =
        std::min(amplitude / d_step, static_cast<double>(d_expected.size()) - 1.5);
    const auto below = static_cast<std::size_t>(at);
    const double part = at - static_cast<double>(below);
    const auto expected = (1 - part) * d_expected[below] + part * d_expected[below + 1];
    return power(sample / amplitude, d_order) * std::conj(expected);
}

} // namespace gr::adann::core
