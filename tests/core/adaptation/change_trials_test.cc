/* Whether a change of a label is worth a try, by what tries have shown.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/change_trials.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <random>

using namespace gr::adann::core;

namespace {

constexpr std::size_t samples = 8;
using vector = std::array<double, samples>;

double product(const vector& a, const vector& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < samples; ++i)
        sum += a[i] * b[i];
    return sum;
}

// A change, what the affine part takes for it, and noise.
struct change {
    vector true_one, affine;
    double noise;
    std::mt19937 random{ 1 };

    struct trial {
        float match, gain;
    };
    // With the other label right, or the present one.
    trial draw(bool other)
    {
        std::normal_distribution<double> normal(0, noise);
        vector rest;
        for (std::size_t i = 0; i < samples; ++i)
            rest[i] = normal(random) + (other ? true_one[i] : 0);
        const double energy = product(affine, affine);
        return { static_cast<float>(product(affine, rest) / energy),
                 static_cast<float>(
                     (2 * product(true_one, rest) - product(true_one, true_one)) /
                     energy) };
    }
};

// Half as large as the affine part says, and of another shape.
change small_and_bent() { return { { .6, .6, -.2 }, { 1, 1, 1 }, .15 }; }

} // namespace

BOOST_AUTO_TEST_SUITE(trials_of_changes)

BOOST_AUTO_TEST_CASE(the_affine_part_is_believed_first)
{
    // A gain of 2 match - 1, and worth a try from half the energy below nothing on.
    BOOST_TEST(change_trials().least_match(1) == 0.25f,
               boost::test_tools::tolerance(1e-4f));
    BOOST_TEST(change_trials().least_match(0.2f) == 0.4f,
               boost::test_tools::tolerance(1e-4f));
}

BOOST_AUTO_TEST_CASE(an_affine_change_keeps_the_threshold_of_its_gain)
{
    change exact{ { 1, -.5, .2 }, { 1, -.5, .2 }, .2 };
    change_trials trials;
    for (int i = 0; i < 500; ++i) {
        const auto [match, gain] = exact.draw(false);
        trials.add(match, gain);
    }
    BOOST_TEST(std::abs(trials.least_match(0) - 0.5f) < 1e-2f);
}

/* 2.3 % are missed of the changes at the least gain, fewer above it. Over 4000 of them and a
 * regression that is known to an eighth, more than 5 % come about less often than once in 1e6. */
BOOST_AUTO_TEST_CASE(what_may_gain_is_tried_though_it_is_small_and_bent)
{
    change link = small_and_bent();
    int gaining = 0, missed = 0, tried = 0, missed_first = 0;
    for (int regression = 0; regression < 16; ++regression) {
        change_trials trials;
        for (int i = 0; i < 500; ++i) {
            const auto [match, gain] =
                link.draw(i % 20 == 0); // some labels are wrong already
            trials.add(match, gain);
        }
        const float least = trials.least_match(0);
        for (int i = 0; i < 1000; ++i) {
            const auto [match, gain] = link.draw(true);
            gaining += gain > 0;
            missed += gain > 0 && match <= least;
            missed_first += gain > 0 && match <= 0.5f;
            tried += link.draw(false).match > least;
        }
    }
    BOOST_TEST(gaining > 14'000);
    BOOST_TEST(missed * 20 < gaining);
    BOOST_TEST(missed_first * 2 > gaining); // by the affine part alone
    BOOST_TEST(tried < 8000);               // and yet no other label is tried everywhere
}

BOOST_AUTO_TEST_SUITE_END()
