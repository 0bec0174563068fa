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
