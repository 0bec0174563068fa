/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/phase_search.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>

using namespace gr::adann::core;

namespace {

using point = std::complex<double>;
constexpr std::size_t step = 16;

std::vector<point> unit_points(const constellation& symbols)
{
    double power = 0;
    std::vector<point> points;
    for (const auto& each : symbols.points()) {
        points.emplace_back(each);
        power += std::norm(points.back()) / static_cast<double>(symbols.size());
    }
    for (auto& each : points)
        each /= std::sqrt(power);
    return points;
}

std::size_t nearest(const std::vector<point>& points, point sample)
{
    return static_cast<std::size_t>(std::min_element(points.begin(),
                                                     points.end(),
                                                     [&](point a, point b) {
                                                         return std::norm(sample - a) <
                                                                std::norm(sample - b);
                                                     }) -
                                    points.begin());
}

// What nearest points, decided at a phase, tell of samples.
phase_search::correlation
told_of(const std::vector<point>& points, const std::vector<point>& samples, double phase)
{
    phase_search::correlation told;
    for (const point& sample : samples) {
        const point expected = points[nearest(points, sample * std::polar(1.0, -phase))];
        told.sum += sample * std::conj(expected);
        told.power += std::norm(sample) + std::norm(expected);
    }
    return told;
}

// A step of these samples, decided at each angle.
void take(phase_search& search,
          const std::vector<point>& points,
          const std::vector<point>& samples)
{
    std::vector<phase_search::correlation> all;
    for (std::size_t a = 0; a < search.angles().size(); ++a) {
        const double phase = double{ search.expected(1) } + search.angles()[a];
        search.take(a, told_of(points, samples, phase));
        all.push_back(search.accumulated(a));
    }
    search.select(all, step);
}

} // namespace

BOOST_AUTO_TEST_SUITE(phase_search_tests)

BOOST_AUTO_TEST_CASE(near_each_phase_is_an_angle_that_decides_without_an_error)
{
    for (const char* name : { "qpsk", "8psk", "16qam", "64qam" }) {
        const constellation symbols(name);
        const auto points = unit_points(symbols);
        const phase_search search(symbols);
        const double range = M_PI / static_cast<double>(symbols.symmetries().size());
        BOOST_TEST(search.angles().front() == 0);
        for (double phase = -range; phase <= range; phase += range / 200) {
            const auto decides = [&](float angle) {
                for (std::size_t i = 0; i < points.size(); ++i) // up to a symmetry
                    if (nearest(points, points[i] * std::polar(1.0, phase - angle)) != i)
                        return false;
                return true;
            };
            const bool any =
                std::any_of(search.angles().begin(), search.angles().end(), decides);
            BOOST_TEST((any || std::abs(std::abs(phase) - range) < range / 100),
                       name << " " << phase);
        }
    }
    BOOST_TEST(phase_search(constellation("qpsk")).angles().size() == 1U);
}

// Of 16QAM at 20 dB: decisions at the phase that is expected slip a quarter turn.
BOOST_AUTO_TEST_CASE(follows_a_phase_that_wanders)
{
    const constellation symbols("16qam");
    const auto points = unit_points(symbols);
    constexpr unsigned streams = 32;
    unsigned slipped = 0, slipped_plain = 0;
    for (unsigned seed = 1; seed <= streams; ++seed) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        phase_search search(symbols);
        search.begin({});
        double phase = 0, worst = 0, plain = 0, worst_plain = 0;
        for (int s = 0; s < 2000; ++s) {
            std::vector<point> samples(step);
            double middle = 0;
            for (auto& sample : samples) {
                phase += std::sqrt(2 * M_PI * 1.5e-4) * normal(random);
                middle += phase / step;
                sample = points[random() % points.size()] * std::polar(1.0, phase) +
                         point(normal(random), normal(random)) * std::sqrt(0.005);
            }
            take(search, points, samples);
            const auto off = [&](double found) {
                return std::abs(std::remainder(found - middle, 2 * M_PI));
            };
            worst = std::max(worst, off(search.line().phase));
            plain = std::arg(told_of(points, samples, plain).sum);
            worst_plain = std::max(worst_plain, off(plain));
        }
        slipped += worst > M_PI / 4;
        slipped_plain += worst_plain > M_PI / 4;
    }
    BOOST_TEST(slipped <= streams / 2);
    BOOST_TEST(slipped_plain > streams * 3 / 4);
}

// A search that runs along with noisy points of a constellation.
struct searched {
    std::vector<point> points;
    phase_search search;
    std::mt19937 random;
    std::normal_distribution<double> normal;
    double noise; // mean square of a dimension

    searched(const char* name, double decibels, unsigned seed)
        : points(unit_points(constellation(name))),
          search(constellation(name)),
          random(seed),
          noise(std::pow(10, -decibels / 10) / 2)
    {
    }
    //! The phase that the line has after so many steps at this one.
    double after(int steps, double phase)
    {
        for (int s = 0; s < steps; ++s) {
            std::vector<point> samples(step);
            for (auto& sample : samples)
                sample = points[random() % points.size()] * std::polar(1.0, phase) +
                         point(normal(random), normal(random)) * std::sqrt(noise);
            take(search, points, samples);
        }
        return search.line().phase;
    }
};

/* 30 degrees off, the outer ring of 16APSK agrees with its neighbours; half a radian off, many points of 16QAM do.
 * 2000 steps of a steady phase before make a step of that size unlikely. */
BOOST_AUTO_TEST_CASE(a_phase_that_is_false_is_left)
{
    for (const auto& [name, off] :
         { std::pair{ "16apsk", M_PI / 6 }, std::pair{ "16qam", 0.5 } })
        for (unsigned seed = 1; seed <= 20; ++seed) {
            searched each(name, 20, seed);
            each.search.begin({});
            BOOST_TEST(std::abs(each.after(2000, 0)) < 0.05);
            const double symmetry =
                2 * M_PI / static_cast<double>(constellation(name).symmetries().size());
            const double left = std::remainder(each.after(40, off) - off, symmetry);
            BOOST_TEST(std::abs(left) < 0.1, name << " " << seed << " " << left);
        }
}

// One in five symbols of 64QAM is wrong: in 20,000 steps the phase never jumps.
BOOST_AUTO_TEST_CASE(noise_is_no_other_phase)
{
    searched each("64qam", 17, 5);
    each.search.begin({});
    for (int s = 0; s < 1000; ++s)
        BOOST_REQUIRE(std::abs(each.after(20, 0)) < 0.1);
}

BOOST_AUTO_TEST_CASE(silence_tells_nothing_and_the_line_goes_on)
{
    phase_search search(constellation("16qam"));
    search.begin({ 0.5f, 0.01f });
    const std::vector<phase_search::correlation> nothing(search.angles().size());
    for (int s = 0; s < 10; ++s)
        BOOST_TEST(search.select(nothing, step) == 0U);
    BOOST_TEST(std::abs(search.line().phase - 0.6f) < 1e-5f);
    BOOST_TEST(search.line().growth == 0.01f);
}

BOOST_AUTO_TEST_SUITE_END()
