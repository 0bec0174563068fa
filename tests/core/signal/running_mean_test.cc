/* A mean of the latest values. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/running_mean.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

using namespace gr::adann::core;

BOOST_AUTO_TEST_SUITE(running_means, *boost::unit_test::tolerance(1e-12))

// The latest value has the weight 1/8, each earlier one 7/8 of the next one's; the first 8 are alike.
BOOST_AUTO_TEST_CASE(later_values_fade_earlier_ones)
{
    constexpr std::size_t most = 8;
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    running_mean<double, std::size_t> found;
    std::vector<double> values;
    for (int n = 0; n < 30; ++n) {
        values.push_back(normal(random));
        found.add(values.back(), most);
        const std::size_t first = std::min(values.size(), most);
        double mean = std::accumulate(values.begin(), values.begin() + first, 0.0) /
                      static_cast<double>(first) *
                      std::pow(7.0 / 8, values.size() - first);
        for (std::size_t k = first; k < values.size(); ++k)
            mean += values[k] / 8 * std::pow(7.0 / 8, values.size() - 1 - k);
        BOOST_TEST(found.mean == mean);
        BOOST_TEST(found.count == first);
    }
}

BOOST_AUTO_TEST_SUITE_END()
