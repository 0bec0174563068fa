/* Whether the residual of symbols is the same noise throughout.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/residual_scatter.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <random>

using namespace gr::adann::core;

namespace {

constexpr std::size_t symbols = 8192, values = 4, classes = 4;

// Normal noise of variance 1, times what a symbol's number says.
residual_scatter of(const std::function<float(std::size_t)>& deviation, unsigned seed = 1)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> left(symbols * values);
    for (std::size_t i = 0; i < left.size(); ++i)
        left[i] = deviation(i / values) * normal(random);
    residual_scatter scatter(values);
    scatter.add(left.data(), symbols);
    return scatter;
}

double tail(double x) { return std::erfc(x / std::sqrt(2)) / 2; } // Q(x)

} // namespace

BOOST_AUTO_TEST_SUITE(the_scatter_of_residuals)

// A quantile of 3e-7 is passed by one of 8192 symbols once in 400 runs, by 0.05 errors at most.
BOOST_AUTO_TEST_CASE(the_same_noise_explains_all)
{
    for (unsigned seed = 1; seed <= 20; ++seed)
        for (const float level : { 1e-4f, 1.0f, 1e3f })
            for (const double rate : { 1e-6, 1e-4, 1e-2 })
                BOOST_TEST(of([=](std::size_t) { return level; }, seed)
                               .unexplained_errors(rate, classes) < 0.1 * rate + 1e-5);
}

// Bursts of 20 in 200 symbols, in which the noise is stronger: the error rate there is that of
// Q(x) at the distance x that the quiet symbols' rate tells. s^(1/p) is 1 to 4 times as much.
BOOST_AUTO_TEST_CASE(bursts_have_the_errors_of_their_own_noise)
{
    for (const double distance : { 3.0, 3.7, 4.5 })
        for (const float stronger : { 2.0f, 3.0f, 5.0f }) {
            const auto scatter =
                of([=](std::size_t i) { return i % 200 < 20 ? stronger : 1; });
            const double found = scatter.unexplained_errors(tail(distance), classes);
            const double errors = 0.1 * tail(distance / double{ stronger });
            BOOST_TEST_CONTEXT("distance " << distance << ", " << stronger)
            BOOST_TEST((found > 0.7 * errors && found < 5 * errors));
        }
}

// One symbol of 500: of stretches it would be lost in the noise of its neighbours.
BOOST_AUTO_TEST_CASE(single_impulses_are_seen)
{
    const double found = of([](std::size_t i) {
                             return i % 500 == 0 ? 6.0f : 1.0f;
                         }).unexplained_errors(1e-4, classes);
    BOOST_TEST((found > 5e-4 && found < 2e-3));
}

// Samples that are held on a level are explained too well: no noise is in them.
BOOST_AUTO_TEST_CASE(symbols_without_noise_are_decided_at_random)
{
    const double found = of([](std::size_t i) {
                             return i % 512 < 64 ? 0.01f : 1.0f;
                         }).unexplained_errors(1e-4, classes);
    BOOST_TEST(std::abs(found - 0.75 / 8) < 0.01);
}

// At a level that is as far from a label's as the noise usually takes it.
BOOST_AUTO_TEST_CASE(symbols_that_are_held_near_a_label_are_decided_at_random)
{
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> left(symbols * values);
    for (std::size_t i = 0; i < left.size(); ++i)
        left[i] = i / values % 512 < 64 ? 1.0f : normal(random);
    residual_scatter scatter(values);
    scatter.add(left.data(), symbols);
    const double found = scatter.unexplained_errors(1e-4, classes);
    BOOST_TEST(std::abs(found - 0.75 / 8) < 0.01);
}

BOOST_AUTO_TEST_CASE(what_fades_is_forgotten)
{
    residual_scatter scatter =
        of([](std::size_t i) { return i % 200 < 20 ? 5.0f : 1.0f; });
    BOOST_TEST(scatter.unexplained_errors(1e-4, classes) > 1e-2);
    scatter.fade(1e-5);
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> left(symbols * values);
    for (auto& each : left)
        each = normal(random);
    scatter.add(left.data(), symbols);
    BOOST_TEST(scatter.unexplained_errors(1e-4, classes) < 5e-5);
    scatter.reset();
    BOOST_TEST(scatter.unexplained_errors(1e-4, classes) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
