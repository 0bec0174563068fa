/* The median. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/median.h"

#include <boost/test/unit_test.hpp>

#include <random>
#include <vector>

using namespace gr::adann::core;

BOOST_AUTO_TEST_CASE(a_median_is_in_the_middle_of_sorted_values)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (const std::size_t n : { 1, 2, 3, 8, 33 }) {
        std::vector<float> values(n);
        for (float& each : values)
            each = normal(random);
        std::vector<float> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        BOOST_TEST(median(values.begin(), values.end()) == sorted[n / 2]);
    }
}
