/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/constellation.h"

#include "core/common/checks.h"
#include "core/signal/named_constellations.h"
#include "core/signal/rotate.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <numeric>

namespace gr::adann::core {

namespace {

using point = std::complex<float>;
using json = nlohmann::json;

std::vector<point> points_from(const std::string& text)
{
    const auto refuse_points = [&](const std::string& why) {
        refuse("constellation", why, "a JSON list of [re, im], one for each label");
    };
    const json list = json::parse(text, nullptr, false);
    if (!list.is_array())
        refuse_points("no list");
    std::vector<point> points;
    for (const auto& each : list) {
        if (!each.is_array() || each.size() != 2 || !each[0].is_number() ||
            !each[1].is_number())
            refuse_points(each.dump());
        points.emplace_back(each[0].get<float>(), each[1].get<float>());
    }
    return points;
}

//! Relative to the distance of neighbours: a smaller mean is a rounding error, and is not removed.
constexpr float rounding = 1e-3f;
constexpr float same = 1 + rounding; // distance

point mean_of(const std::vector<point>& points)
{
    return std::accumulate(points.begin(), points.end(), point()) /
           static_cast<float>(points.size());
}

/* The points that one may be taken for with no other on the way: half-way to them none is nearer
 * (the Gabriel graph; Gabriel and Sokal, Syst. Zool. 18, 1969). Of more than most, the nearest. */
std::vector<std::uint8_t> neighbours_of(const std::vector<point>& points, std::size_t to)
{
    std::vector<std::uint8_t> found;
    for (std::size_t other = 0; other < points.size(); ++other) {
        const point middle = (points[to] + points[other]) / 2.0f;
        const float half = std::abs(points[to] - middle);
        const bool is_neighbour =
            std::none_of(points.begin(), points.end(), [&](const point& each) {
                return &each != &points[to] && &each != &points[other] &&
                       std::abs(each - middle) < same * half;
            });
        if (other != to && is_neighbour)
            found.push_back(static_cast<std::uint8_t>(other));
    }
    if (found.size() > constellation::most_neighbours) {
        std::stable_sort(found.begin(), found.end(), [&](auto one, auto two) {
            return std::abs(points[one] - points[to]) <
                   std::abs(points[two] - points[to]);
        });
        found.resize(constellation::most_neighbours);
        std::sort(found.begin(), found.end());
    }
    return found;
}

} // namespace

const std::vector<std::string>& constellation::names()
{
    static const std::vector<std::string> ordered = [] {
        std::vector<std::string> all;
        for (const auto& each : named_constellations())
            all.push_back(each.name);
        return all;
    }();
    return ordered;
}

constellation::constellation(const std::string& text)
    : d_name(text), d_named(text.find('[') == text.npos)
{
    d_points =
        d_named ? named_constellations()[choice("constellation", text, names())].points()
                : points_from(text);
    find_structure();
}

constellation::constellation(std::vector<point> points) : d_points(std::move(points))
{
    find_structure();
}

std::string constellation::text() const
{
    if (d_named)
        return d_name;
    json list = json::array();
    for (const auto& each : d_given)
        list.push_back({ each.real(), each.imag() });
    return list.dump();
}

void constellation::find_structure()
{
    const std::size_t m = size();
    while (m >> (d_bits + 1))
        ++d_bits;
    if (m < 2 || m > most_points || m != std::size_t{ 1 } << d_bits)
        refuse("constellation",
               std::to_string(m) + " points",
               "a power of two from 2 to 256, since a label is its bits");
    if (!d_named)
        d_name = std::to_string(m) + " given points";
    for (const auto& each : d_points)
        if (!std::isfinite(std::norm(each)))
            refuse("constellation", "a point that is not finite", "finite points");

    const auto distance = [&](std::size_t a, std::size_t b) {
        return std::abs(d_points[a] - d_points[b]);
    };
    d_distance = distance(0, 1);
    d_neighbours.resize(m);
    for (std::size_t a = 0; a < m; ++a) {
        float nearest = distance(a, a ? 0 : 1);
        for (std::size_t b = 0; b < m; ++b)
            if (b != a)
                nearest = std::min(nearest, distance(a, b));
        if (!(nearest > 0))
            refuse("constellation",
                   "label " + std::to_string(a) + " at the point of another",
                   "another point for each label");
        d_neighbours[a] = neighbours_of(d_points, a);
        d_distance = std::min(d_distance, nearest);
    }
    d_given = d_points;
    if (const point mean = mean_of(d_points); std::abs(mean) > rounding * d_distance)
        for (auto& each : d_points)
            each -= mean;
    d_complex = std::any_of(
        d_points.begin(), d_points.end(), [](point each) { return each.imag() != 0; });
    find_levels(0);
    find_levels(1);
    find_symmetries();
}

void constellation::find_levels(std::size_t dimension)
{
    std::vector<float> levels;
    for (std::size_t l = 0; l < size(); ++l) {
        const float value = dimension == 0 ? d_points[l].real() : d_points[l].imag();
        const auto known = std::find_if(levels.begin(), levels.end(), [&](float other) {
            return std::abs(other - value) < 0.01f * d_distance;
        });
        d_level[dimension][l] = static_cast<std::uint8_t>(known - levels.begin());
        if (known == levels.end())
            levels.push_back(value);
    }
    d_levels[dimension] = levels.size();
}

void constellation::find_symmetries()
{
    const point centre = mean_of(d_points);
    std::vector<point> around;
    for (const auto& each : d_points)
        around.push_back(each - centre);
    // A symmetry maps the outermost point onto a point.
    const auto outermost =
        *std::max_element(around.begin(), around.end(), [](point a, point b) {
            return std::norm(a) < std::norm(b);
        });
    for (const bool mirrored : { false, true }) {
        const auto image = [&](point each) { return mirrored ? std::conj(each) : each; };
        constexpr double rounding = 1e-3;
        std::vector<double> angles; // 0 … whole_turn
        for (const auto& each : around)
            if (std::abs(std::abs(each) - std::abs(outermost)) < 0.01f * d_distance)
                angles.push_back(
                    std::fmod(std::arg(each / image(outermost)) + whole_turn + rounding,
                              whole_turn));
        std::sort(angles.begin(), angles.end());
        for (const double angle : angles) {
            const point turn(std::polar(1.0, angle - rounding));
            std::vector<std::uint8_t> permutation;
            for (const auto& each : around) {
                const auto found =
                    std::find_if(around.begin(), around.end(), [&](point other) {
                        return std::abs(other - image(each) * turn) < 0.1f * d_distance;
                    });
                if (found == around.end())
                    break;
                permutation.push_back(static_cast<std::uint8_t>(found - around.begin()));
            }
            const auto& known = d_symmetries;
            if (permutation.size() == size() &&
                std::find(known.begin(), known.end(), permutation) == known.end())
                (mirrored ? d_reflections : d_symmetries).push_back(permutation);
        }
    }
}

label_parts constellation::parts() const
{
    label_parts found;
    if (size() <= 8) {
        found.count = 1;
        found.values = size();
        std::iota(found.of[0].begin(), found.of[0].end(), std::uint8_t{ 0 });
    } else if (is_product() && d_levels[0] == d_levels[1] && d_levels[0] <= 8) {
        found.count = 2;
        found.values = d_levels[0];
        found.of = d_level;
    }
    return found;
}

double constellation::bits_per_error() const
{
    double sum = 0;
    for (std::size_t label = 0; label < size(); ++label) {
        const auto distance = [&](std::uint8_t other) {
            return std::abs(d_points[other] - d_points[label]);
        };
        const auto& around = d_neighbours[label];
        const float nearest = distance(
            *std::min_element(around.begin(), around.end(), [&](auto one, auto two) {
                return distance(one) < distance(two);
            }));
        double bits = 0, count = 0;
        for (const std::uint8_t other : around)
            if (distance(other) < same * nearest) {
                bits += static_cast<double>(std::bitset<8>(label ^ other).count());
                ++count;
            }
        sum += bits / count;
    }
    return sum / static_cast<double>(size());
}

float constellation::power() const
{
    float power = 0;
    for (const auto& each : d_points)
        power += std::norm(each) / static_cast<float>(size());
    return power;
}

std::vector<std::complex<float>> constellation::unit_points() const
{
    std::vector<std::complex<float>> points = d_points;
    const float rms = std::sqrt(power());
    for (auto& each : points)
        each /= rms;
    return points;
}

float constellation::half_distance() const
{
    const point centre = mean_of(d_points);
    float power = 0;
    for (const auto& each : d_points)
        power += std::norm(each - centre) / static_cast<float>(size());
    return d_distance / 2 / std::sqrt(power);
}

float constellation::rotating_residual() const
{
    constexpr std::size_t angles = 256; // PSK: 2 - 2 sin(π/M) M/π within 1e-3
    const std::vector<point> points = unit_points();
    double sum = 0;
    for (std::size_t i = 0; i < angles; ++i) {
        const point by = std::polar(
            1.0f, static_cast<float>(2 * M_PI * (static_cast<double>(i) + 0.5) / angles));
        for (const point& each : points) {
            float nearest = std::numeric_limits<float>::max();
            for (const point& other : points)
                nearest = std::min(nearest, std::norm(by * each - other));
            sum += nearest;
        }
    }
    return static_cast<float>(sum / static_cast<double>(angles * size()));
}

std::complex<float> constellation::mean(const float* posteriors) const
{
    return std::inner_product(
        d_points.begin(), d_points.end(), posteriors, std::complex<float>());
}

} // namespace gr::adann::core
