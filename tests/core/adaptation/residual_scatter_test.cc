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

} // namespace

BOOST_AUTO_TEST_SUITE(the_scatter_of_residuals)

// Overlapping stretches of eight lengths at five levels, none beyond four standard deviations of a count:
// something is unexplained in one of some 300 runs, so that six of 200 have it less often than once in 1e6. Nor is
// it where three labels of four have 1.2 times the noise.
BOOST_AUTO_TEST_CASE(the_same_noise_explains_all)
{
    constexpr float levels[] = { 1e-4f, 1.0f, 1e3f };
    int unexplained = 0, of_labels = 0;
    for (unsigned seed = 1; seed <= 200; ++seed) {
        const float level = levels[seed % 3];
        unexplained +=
            of([=](std::size_t) { return level; }, seed).unexplained_errors(classes) > 0;
        of_labels +=
            of([=](std::size_t i) { return i * 7919 % 4 ? 1.2f * level : level; }, seed)
                .unexplained_errors(classes) > 0;
    }
    BOOST_TEST(unexplained <= 6);
    BOOST_TEST(of_labels <= 6);
}

// However many are wrong there: a label that is refined may explain whatever is received. Longer stretches
// that reach into a disturbed one count whole.
BOOST_AUTO_TEST_CASE(symbols_of_another_noise_are_decided_at_random)
{
    for (const float stronger : { 2.0f, 3.0f, 5.0f }) {
        const double found = of([=](std::size_t i) {
                                 return i % 200 < 20 ? stronger : 1;
                             }).unexplained_errors(classes);
        BOOST_TEST_CONTEXT(stronger)
        BOOST_TEST((found > 0.5 * 0.75 / 10 && found <= 0.75));
    }
}

// 1.3 times the deviation, for 300 of 8192 symbols: a stretch of 8 has that by chance.
BOOST_AUTO_TEST_CASE(long_and_weak_disturbances_are_seen)
{
    const double found = of([](std::size_t i) {
                             return i > 4000 && i < 4300 ? 1.3f : 1.0f;
                         }).unexplained_errors(classes);
    BOOST_TEST((found > 0.25 * 300 / 8192 && found < 1.5 * 300 / 8192));
}

// An edge, where a block is inverted or repeated, say: more than its symbol may be wrong.
BOOST_AUTO_TEST_CASE(a_single_symbol_counts_as_a_stretch)
{
    // In the mean of 64 runs: in some the noise is small just there, in some the longest stretch, of 128, counts.
    double found = 0;
    for (unsigned seed = 1; seed <= 64; ++seed)
        found += of([](std::size_t i) { return i == 5000 ? 8.0f : 1.0f; }, seed)
                     .unexplained_errors(classes) /
                 64;
    BOOST_TEST(found > 8.0 / 8192);
    BOOST_TEST(found < 128.0 / 8192);
}

// Samples that are held on a level are explained too well: no noise is in them.
BOOST_AUTO_TEST_CASE(symbols_without_noise_are_decided_at_random)
{
    const double found = of([](std::size_t i) {
                             return i % 512 < 64 ? 0.01f : 1.0f;
                         }).unexplained_errors(classes);
    BOOST_TEST((found > 0.8 * 0.75 / 8 && found < 3.1 * 0.75 / 8));
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
    const double found = scatter.unexplained_errors(classes);
    BOOST_TEST((found > 0.8 * 0.75 / 8 && found < 3.1 * 0.75 / 8));
}

BOOST_AUTO_TEST_CASE(what_fades_is_forgotten)
{
    residual_scatter scatter =
        of([](std::size_t i) { return i % 200 < 20 ? 5.0f : 1.0f; });
    BOOST_TEST(scatter.unexplained_errors(classes) > 1e-2);
    scatter.fade(1e-5);
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> left(symbols * values);
    for (auto& each : left)
        each = normal(random);
    scatter.add(left.data(), symbols);
    BOOST_TEST(scatter.unexplained_errors(classes) == 0);
    scatter.reset();
    BOOST_TEST(scatter.unexplained_errors(classes) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
