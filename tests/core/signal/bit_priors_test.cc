/* What is known of the bits of symbols beforehand.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/bit_priors.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(priors_of_bits)

BOOST_DATA_TEST_CASE(a_labels_probability_is_the_product_of_its_bits,
                     data::make({ 2u, 4u, 8u, 16u, 256u }),
                     size)
{
    const bit_priors priors(size);
    const unsigned bits = priors.bits_per_symbol();
    BOOST_REQUIRE(size == 1u << bits);
    std::mt19937 random(size);
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> ratios(bits), logarithms(size);
    for (float& each : ratios)
        each = normal(random);
    priors.find(ratios.data(), logarithms.data());
    double sum = 0;
    for (unsigned m = 0; m < size; ++m)
        sum += std::exp(double{ logarithms[m] });
    for (unsigned m = 0; m < size; ++m) {
        double product = 1;
        for (unsigned b = 0; b < bits; ++b) {
            const bool is_one = m >> (bits - 1 - b) & 1;
            product /= 1 + std::exp(is_one ? -double{ ratios[b] } : double{ ratios[b] });
        }
        BOOST_TEST(std::exp(double{ logarithms[m] }) / sum == product,
                   boost::test_tools::tolerance(1e-4));
    }
}

BOOST_AUTO_TEST_CASE(ratios_are_limited_and_no_number_says_nothing)
{
    constexpr float infinite = std::numeric_limits<float>::infinity();
    BOOST_TEST(bit_priors::limited(3) == 3);
    BOOST_TEST(bit_priors::limited(-infinite) == -20);
    BOOST_TEST(bit_priors::limited(1e30f) == 20);
    BOOST_TEST(bit_priors::limited(std::numeric_limits<float>::quiet_NaN()) == 0);
}

BOOST_AUTO_TEST_CASE(posteriors_are_multiplied_and_decided_again)
{
    const bit_priors priors(4);
    const float ratios[] = { std::log(3.0f),
                             0 }; // the first bit is 1 with a probability of 3/4
    std::vector<float> logarithms(4), posteriors{ 0.5f, 0.1f, 0.3f, 0.1f };
    priors.find(ratios, logarithms.data());
    BOOST_TEST(int{ priors.weigh(logarithms.data(), 0, posteriors.data()) } == 2);
    const std::vector<float> expected{
        0.5f / 1.8f, 0.1f / 1.8f, 0.9f / 1.8f, 0.3f / 1.8f
    };
    for (std::size_t m = 0; m < 4; ++m)
        BOOST_TEST(posteriors[m] == expected[m], boost::test_tools::tolerance(1e-5f));
}

BOOST_AUTO_TEST_CASE(posteriors_stay_where_nothing_is_known_or_they_are_no_numbers)
{
    const bit_priors priors(4);
    const float nothing[] = { 0, 0 }, something[] = { 2, -1 };
    const float no_number = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> logarithms(4), posteriors{ 0.3f, 0.2f, 0.3f, 0.1f };
    const std::vector<float> before(posteriors);
    priors.find(nothing, logarithms.data());
    BOOST_TEST(int{ priors.weigh(logarithms.data(), 2, posteriors.data()) } == 2);
    BOOST_TEST(posteriors == before, boost::test_tools::per_element());
    priors.find(something, logarithms.data());
    std::vector<float> none(4, no_number), zero(4);
    BOOST_TEST(int{ priors.weigh(logarithms.data(), 1, none.data()) } == 1);
    BOOST_TEST(int{ priors.weigh(logarithms.data(), 3, zero.data()) } == 3);
    BOOST_TEST(zero == std::vector<float>(4), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
