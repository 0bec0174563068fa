/* Frequencies of labels. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/label_counts.h"

#include <boost/test/unit_test.hpp>

using namespace gr::adann::core;

BOOST_AUTO_TEST_SUITE(counting_labels, *boost::unit_test::tolerance(1e-6f))

BOOST_AUTO_TEST_CASE(their_distance_is_the_total_variation)
{
    label_counts counts({ 0.5f, 0.25f, 0.25f });
    BOOST_TEST(counts.distance() == 0);
    for (unsigned i = 0; i < 10'000; ++i)
        counts.add(i % 10 < 6 ? 0 : i % 10 < 9 ? 1 : 2);
    BOOST_TEST(counts.all() == 10'000u);
    BOOST_TEST(counts.distance() == 0.15f); // 0.6, 0.3, 0.1
    // Less 3 √(¼ / 10000) and 3 √(3/16 / 10000).
    BOOST_TEST(counts.least_wrong() == 0.15f - 0.5f * (0.015f + 2 * 0.01299038f));
    counts.reset();
    BOOST_TEST(counts.all() == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_off_by_chance_is_not_wrong)
{
    label_counts counts({ 0.5f, 0.5f });
    for (unsigned i = 0; i < 10'000; ++i)
        counts.add(i < 5145 ? 0 : 1);
    BOOST_TEST(counts.least_wrong() == 0);
    for (unsigned i = 0; i < 50; ++i)
        counts.add(0);
    BOOST_TEST(counts.least_wrong() > 0);
}

BOOST_AUTO_TEST_SUITE_END()
