/* Powers of the noise of labels, against those it is made with.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/label_noise.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <random>

using namespace gr::adann::core;

namespace {

// Real Gaussian residuals of PAM4, `n` of each label, in turn.
void add(label_noise& noise, const float (&powers)[4], std::size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < 4 * n; ++i) {
        const float residual = std::sqrt(powers[i % 4]) * normal(random);
        noise.add(i % 4, 1, residual * residual);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(noise_of_labels)

// The estimate of a power from n residuals has a deviation of √(2/n), 1.1 % here: five are allowed, one test of
// a million fails. Only the ratios count, whatever the mean. The prior of 64 symbols is 0.4 % of them.
BOOST_AUTO_TEST_CASE(powers_of_the_noise_are_found)
{
    constexpr float powers[] = { 0.4f, 0.8f, 1.2f, 1.6f };
    label_noise noise(4);
    add(noise, powers, 16384, 1);
    noise.find();
    for (std::size_t label = 0; label < 4; ++label) {
        BOOST_TEST(noise.factors()[label] == powers[label],
                   boost::test_tools::tolerance(0.06f));
        BOOST_TEST(noise.logarithms()[label] == std::log(noise.factors()[label]),
                   boost::test_tools::tolerance(1e-4f));
    }
    BOOST_TEST(noise.largest() == noise.factors()[3]);
    BOOST_TEST(noise.span() == std::log(noise.factors()[3] / noise.factors()[0]),
               boost::test_tools::tolerance(1e-4f));
}

// The variance of n factors is 2 · 4 / all, a quarter of what counts as uncertain: in 400 sets of few and of
// many symbols none exceeds it.
BOOST_AUTO_TEST_CASE(equal_noise_has_factors_of_exactly_one)
{
    constexpr float powers[] = { 1, 1, 1, 1 };
    for (const std::size_t n : { 16, 64, 256, 4096 })
        for (unsigned seed = 1; seed <= 100; ++seed) {
            label_noise noise(4);
            add(noise, powers, n, seed);
            noise.find();
            for (const float factor : noise.factors())
                BOOST_TEST(factor == 1);
        }
}

BOOST_AUTO_TEST_CASE(uncertain_symbols_count_by_their_probabilities)
{
    label_noise noise(2);
    for (int i = 0; i < 10000; ++i) {
        noise.add(0, 0.75f, 1);
        noise.add(1, 0.25f, 5);
    }
    noise.find(); // mean: 2
    BOOST_TEST(noise.factors()[0] == 0.5f, boost::test_tools::tolerance(0.02f));
    BOOST_TEST(noise.factors()[1] == 2.5f, boost::test_tools::tolerance(0.02f));
}

// A label whose symbols the others have taken has hardly any left.
BOOST_AUTO_TEST_CASE(factors_are_one_where_a_label_is_rare)
{
    label_noise noise(2);
    for (int i = 0; i < 10000; ++i)
        noise.add(i % 16 == 0, 1, i % 16 == 0 ? 0.5f : 2);
    noise.find();
    for (const float factor : noise.factors())
        BOOST_TEST(factor == 1);
}

BOOST_AUTO_TEST_CASE(disturbances_and_what_is_no_number_hardly_count)
{
    constexpr float powers[] = { 0.4f, 0.8f, 1.2f, 1.6f };
    label_noise noise(4);
    add(noise, powers, 16384, 1);
    for (int i = 0; i < 16; ++i)
        noise.add(0, 1, 1e30f);
    noise.add(0, 1, std::numeric_limits<float>::quiet_NaN());
    noise.find();
    BOOST_TEST(noise.factors()[0] == powers[0], boost::test_tools::tolerance(0.09f));
    noise.reset();
    noise.find();
    for (const float factor : noise.factors())
        BOOST_TEST(factor == 1);
}

BOOST_AUTO_TEST_SUITE_END()
