/* The divergence from the uniform distribution. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/divergence.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>
#include <vector>

using namespace gr::adann::core;

BOOST_AUTO_TEST_SUITE(divergences, *boost::unit_test::tolerance(1e-12))

// It is ln n less the entropy.
BOOST_AUTO_TEST_CASE(it_is_what_the_entropy_lacks)
{
    std::mt19937 random(1);
    std::vector<double> p(16);
    double sum = 0, entropy = 0;
    for (double& each : p)
        sum += each = std::uniform_real_distribution<double>(0, 1)(random);
    for (double& each : p) {
        each /= sum;
        entropy -= each * std::log(each);
    }
    const auto of = [&](std::size_t k) { return p[k]; };
    BOOST_TEST(divergence_from_uniform(16, of) == std::log(16.0) - entropy);
    BOOST_TEST(divergence_from_uniform(16, of, 0.5) == std::log(16.0) - entropy - 0.5);
}

BOOST_AUTO_TEST_CASE(it_is_between_zero_and_the_logarithm_of_the_classes)
{
    BOOST_TEST(divergence_from_uniform(8, [](auto) { return 0.125; }) == 0.0);
    BOOST_TEST(divergence_from_uniform(8, [](auto k) { return k == 3 ? 1.0 : 0.0; }) ==
               std::log(8.0));
}

BOOST_AUTO_TEST_SUITE_END()
