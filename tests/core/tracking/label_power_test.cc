/* The power of labels' points, against closed forms.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/label_power.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

label_power equally_probable(const constellation& symbols)
{
    const std::size_t size = symbols.size();
    return { symbols, std::vector<float>(size, 1 / static_cast<float>(size)) };
}

} // namespace

BOOST_AUTO_TEST_SUITE(label_powers)

// Powers are 9/5 and 1/5, 4/5 from their mean: k outer points of n are unusual where
// |2 k - n| > 5 sqrt(n).
BOOST_AUTO_TEST_CASE(pam4_is_unusual_from_five_standard_deviations_on)
{
    const label_power power = equally_probable(constellation("pam4"));
    constexpr std::size_t n = 100;
    for (std::size_t outer = 0; outer <= n; ++outer) {
        if (outer == 25 || outer == 75) // the bar itself
            continue;
        std::vector<std::uint8_t> labels(n, 1);
        std::fill_n(labels.begin(), outer, std::uint8_t{ 2 });
        BOOST_TEST(power.is_unusual(labels.data(), n) == (outer < 25 || outer > 75));
    }
}

// Of 10^5 sets 0.06 are expected to be; four are with a probability of 5e-7.
BOOST_DATA_TEST_CASE(random_labels_are_not,
                     data::make({ "pam4", "16qam", "64qam" }),
                     name)
{
    const constellation symbols(name);
    const label_power power = equally_probable(symbols);
    std::mt19937 random(1);
    std::vector<std::uint8_t> labels(136);
    int unusual = 0;
    for (int set = 0; set < 100'000; ++set) {
        for (auto& label : labels)
            label = static_cast<std::uint8_t>(random() & (symbols.size() - 1));
        unusual += power.is_unusual(labels.data(), labels.size());
    }
    BOOST_TEST(unusual < 4);
}

// Outer points in one of ten labels: that many are usual, and half of them are not. With p = 0.1 the number
// of outer points among n has the variance n p (1 - p).
BOOST_AUTO_TEST_CASE(shaped_labels_are_usual_as_they_were_learnt)
{
    const label_power power(constellation("pam4"), { 0.05f, 0.45f, 0.05f, 0.45f });
    constexpr std::size_t n =
        10'000; // of which 1000 are outer points, with a deviation of 30
    for (const std::size_t outer : { 840u, 860u, 1000u, 1140u, 1160u, 5000u }) {
        std::vector<std::uint8_t> labels(n, 1);
        std::fill_n(labels.begin(), outer, std::uint8_t{ 2 });
        BOOST_TEST(power.is_unusual(labels.data(), n) == (outer < 850 || outer > 1150));
    }
}

BOOST_DATA_TEST_CASE(points_of_one_power_never_are, data::make({ "qpsk", "8psk" }), name)
{
    const label_power power = equally_probable(constellation(name));
    const std::vector<std::uint8_t> labels(1'000'000, 1);
    BOOST_TEST(!power.is_unusual(labels.data(), labels.size()));
}

BOOST_AUTO_TEST_SUITE_END()
