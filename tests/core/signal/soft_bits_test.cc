/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/soft_bits.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace gr::adann::core;

namespace {

std::vector<float> ratios(const std::vector<float>& posteriors, std::size_t size)
{
    const soft_bits block(size);
    std::vector<float> out(posteriors.size() / size * block.bits_per_symbol());
    block.process(posteriors.data(), out.data(), posteriors.size() / size);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(soft_bit_ratios)

BOOST_AUTO_TEST_CASE(of_two_classes_they_are_the_logit)
{
    for (const float p : { 1e-8f, 0.01f, 0.3f, 0.5f, 0.9f })
        BOOST_TEST(std::abs(ratios({ 1 - p, p }, 2)[0] -
                            std::log(p / (1.0 - static_cast<double>(p)))) < 1e-5);
}

BOOST_AUTO_TEST_CASE(they_are_those_of_the_bits_marginals_most_significant_first)
{
    std::mt19937 random(1);
    std::exponential_distribution<float> draw;
    for (const unsigned bits : { 1u, 2u, 3u, 4u, 6u, 8u }) {
        const std::size_t size = 1u << bits, symbols = 50;
        std::vector<float> posteriors(symbols * size);
        for (auto& p : posteriors)
            p = std::pow(draw(random), 6.0f);
        const auto found = ratios(posteriors, size);
        BOOST_REQUIRE(found.size() == symbols * bits);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const unsigned mask = 1u << (bits - 1 - i % bits);
            double one = 0, zero = 0;
            for (std::size_t label = 0; label < size; ++label)
                (label & mask ? one : zero) += posteriors[i / bits * size + label];
            const double expected = std::log(one) - std::log(zero);
            BOOST_TEST(std::abs(found[i] - std::clamp(expected, -20.0, 20.0)) < 1e-4);
        }
    }
}

BOOST_AUTO_TEST_CASE(certainty_is_limited_and_nonsense_says_nothing)
{
    const float least = std::numeric_limits<float>::denorm_min();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> in{ 0, 0, 1, 0, 1,   least, 0,   0,
                                 0, 0, 0, 0, nan, nan,   nan, nan };
    const std::vector<float> expected{ 20, -20, -20, -20, 0, 0, 0, 0 };
    BOOST_TEST(ratios(in, 4) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(integers_are_rounded_and_limited)
{
    const soft_bits block(2, { 0, gr::adann::soft_bit_type::int8, 12.7f, 20 });
    BOOST_TEST(block.item_size() == 1u);
    std::vector<float> posteriors;
    std::vector<int> expected;
    for (const double ratio : { -20.0, -10.0, -0.04, -0.02, 0.0, 0.3, 9.9, 10.1 }) {
        const double p = 1 / (1 + std::exp(-ratio));
        posteriors.insert(posteriors.end(),
                          { float(1 / (1 + std::exp(ratio))), float(p) });
        expected.push_back(
            static_cast<int>(std::lround(std::clamp(-12.7 * ratio, -127.0, 127.0))));
    }
    std::vector<std::int8_t> out(expected.size());
    block.process(posteriors.data(), out.data(), out.size());
    BOOST_TEST(std::vector<int>(out.begin(), out.end()) == expected,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_convention_out_of_range_is_named)
{
    BOOST_CHECK_EXCEPTION(
        soft_bit_convention_named("aff3"), std::invalid_argument, [](const auto& e) {
            return std::string(e.what()).rfind("convention is 'aff3', allowed: gnuradio",
                                               0) == 0;
        });
    BOOST_CHECK_EXCEPTION((soft_bits{ 4, { 1, gr::adann::soft_bit_type::float32, -1 } }),
                          std::invalid_argument,
                          [](const auto& e) {
                              return std::string(e.what()) ==
                                     "scale is -1, allowed: 0.001 to 1000";
                          });
}

BOOST_AUTO_TEST_CASE(a_size_that_is_no_power_of_two_is_named)
{
    for (const std::size_t size : { 0u, 1u, 3u, 12u, 512u })
        BOOST_CHECK_EXCEPTION(
            soft_bits{ size }, std::invalid_argument, [&](const auto& e) {
                return std::string(e.what()) ==
                       "size is " + std::to_string(size) +
                           ", allowed: powers of two from 2 to 256";
            });
}

BOOST_AUTO_TEST_SUITE_END()
