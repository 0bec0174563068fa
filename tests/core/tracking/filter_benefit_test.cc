/* When a filter is found to make decisions worse. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/filter_benefit.h"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <random>

using gr::adann::core::filter_benefit;

namespace {

// Comparisons, each 1024 symbols, whose relative difference has this mean and deviation; how many until it is harmful, or no
// longer is.
struct comparisons {
    filter_benefit found;
    std::mt19937 random{ 1 };

    void add(double mean, double deviation, std::size_t symbols = 1024)
    {
        std::normal_distribution<double> difference(mean, deviation);
        const auto relative = static_cast<float>(difference(random));
        found.pass(symbols);
        found.add(1 + relative, 1 - relative, false);
    }
    int until(bool harmful, double mean, double deviation)
    {
        for (int n = 0; n < 1000; ++n, add(mean, deviation))
            if (found.is_harmful() == harmful)
                return n;
        return 1000;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(benefits_of_a_filter)

BOOST_AUTO_TEST_CASE(it_is_harmful_where_decisions_without_it_are_significantly_better)
{
    comparisons run;
    BOOST_TEST(run.until(true, 0.1, 0.1) <= 16);
    BOOST_TEST(run.until(false, -0.3, 0.1) <= 8); // of the average's 16
    run.found.reset();
    BOOST_TEST(!run.found.is_harmful());
}

// Of equal decisions the mean fades: below 0.02 there is no difference.
BOOST_AUTO_TEST_CASE(it_is_used_again_where_all_decisions_are_equal)
{
    comparisons run;
    BOOST_TEST(run.until(true, 0.1, 0.05) <= 16);
    BOOST_TEST(run.until(false, 0, 0) <=
               40); // 16 ln 5, and what the mean exceeded 0.1 by
}

// Three deviations are exceeded once in some 700 independent comparisons; a mean over 16 is renewed every 32 or so.
BOOST_AUTO_TEST_CASE(it_is_seldom_harmful_by_chance)
{
    comparisons run;
    int times = 0;
    for (int n = 0; n < 10'000; ++n) {
        const bool before = run.found.is_harmful();
        run.add(0, 0.1);
        times += run.found.is_harmful() && !before;
    }
    BOOST_TEST(times <= 20);
}

BOOST_AUTO_TEST_CASE(short_intervals_weigh_less_and_no_number_counts_nothing)
{
    comparisons run;
    for (int n = 0; n < 60; ++n) // of 8 weights 16 (1 - e^(-60/128)) = 6
        run.add(0.2, 0.05, 128);
    BOOST_TEST(!run.found.is_harmful());
    const float none = std::numeric_limits<float>::quiet_NaN();
    run.found.pass(1024);
    run.found.add(none, 1, false);
    run.found.pass(1024);
    run.found.add(0, 0, false);
    BOOST_TEST(!run.found.is_harmful());
    for (int n = 0; n < 40; ++n) // 8.7
        run.add(0.2, 0.05, 128);
    BOOST_TEST(run.found.is_harmful());
}

BOOST_AUTO_TEST_SUITE_END()
