/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/input_level.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace gr::adann::core;

namespace {

// Complex samples of one amplitude, in turn from each side of a constant.
std::vector<float> turning(float amplitude, float constant = 0)
{
    std::vector<float> samples;
    for (std::size_t i = 0; i < 32; ++i)
        samples.push_back(constant +
                          (i / 2 % 2 ? amplitude : -amplitude) / std::sqrt(2.0f));
    return samples;
}

// A level that expects samples of unit power, and what it is shown.
struct shown {
    input_level level{ turning(1), 2 };

    //! So many looks. Whether the last one changed the factor.
    level_change look(const std::vector<float>& samples, std::size_t times, bool is_lost)
    {
        auto changed = level_change::none;
        for (; times; --times)
            changed = level.look(samples.data(), samples.size(), is_lost);
        return changed;
    }
    level_change look(float amplitude, std::size_t times, bool is_lost)
    {
        return look(turning(amplitude), times, is_lost);
    }
    //! After the looks that settle it.
    void settle(float amplitude) { look(amplitude, input_level::looks, false); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(input_levels, shown)

BOOST_AUTO_TEST_CASE(the_first_looks_settle_it)
{
    BOOST_TEST(level.is_plausible());
    BOOST_TEST((look(0.01f, input_level::looks - 1, false) == level_change::none));
    BOOST_TEST(level.factor() == 1);
    BOOST_TEST(!level.is_plausible());
    BOOST_TEST((look(0.01f, 1, false) == level_change::of_signal));
    BOOST_TEST(std::abs(level.factor() - 100) < 1e-3f);
    BOOST_TEST(level.is_plausible());
    BOOST_TEST((look(3, 1000, false) ==
                level_change::none)); // what comes later is the taps' to follow
}

BOOST_AUTO_TEST_CASE(less_than_three_decibels_change_nothing)
{
    settle(1.4f);
    BOOST_TEST(level.factor() == 1);
    shown fainter;
    fainter.settle(0.72f);
    BOOST_TEST(fainter.level.factor() == 1);
}

// Samples with as much noise as signal are those that the model was trained with.
BOOST_AUTO_TEST_CASE(the_models_noise_is_expected)
{
    level = input_level(turning(1), 2, 9);
    settle(std::sqrt(10.0f));
    BOOST_TEST(level.factor() == 1);
}

// Zeros of a filter that fills, an impulse, and what is not a number.
BOOST_AUTO_TEST_CASE(looks_that_are_not_the_signal_count_little)
{
    look(0, 3, false);
    look(300, 2, false);
    look(std::numeric_limits<float>::infinity(), 1, false);
    look(1, 3, false);
    BOOST_TEST(level.factor() == 1);
}

BOOST_AUTO_TEST_CASE(a_constant_or_idle_words_change_nothing)
{
    look(turning(1, 10), input_level::looks, false);
    BOOST_TEST(level.factor() == 1);
    shown idle;
    idle.look(turning(0.01f, 0.7f), input_level::looks, false);
    BOOST_TEST(idle.level.factor() == 1);
    shown both; // a constant at another level: that of what moves
    both.look(turning(100, 1000), input_level::looks, false);
    BOOST_TEST(std::abs(both.level.factor() - 0.01f) < 1e-5f);
}

BOOST_AUTO_TEST_CASE(a_sender_after_noise_is_taken_down_at_once)
{
    settle(1e-3f);
    look(1, input_level::looks / 2, true);
    BOOST_TEST(std::abs(level.factor() - 1000) < 1e-2f);
    BOOST_TEST((look(1, 1, true) == level_change::of_noise));
    BOOST_TEST(std::abs(level.factor() - 1) < 1e-5f);
    // Its pauses, with the noise from before, are waited for, and no longer than they last.
    look(1, input_level::confirmed, false);
    BOOST_TEST((look(1e-3f, input_level::patience, true) == level_change::none));
    BOOST_TEST(std::abs(level.factor() - 1) < 1e-5f);
    BOOST_TEST((look(1e-3f, 2, true) == level_change::of_signal));
    BOOST_TEST(!level.is_plausible());
    BOOST_TEST((look(1, 3, true) == level_change::back));
    BOOST_TEST(std::abs(level.factor() - 1) < 1e-5f);
    BOOST_TEST(level.is_plausible());
}

// Its samples are not used with the factor of the noise, so that nothing is decided, and nothing lost.
BOOST_AUTO_TEST_CASE(a_sender_too_strong_to_be_used_is_taken_down_as_well)
{
    settle(2e-3f);
    look(1, input_level::looks / 2, false);
    BOOST_TEST((look(1, 1, false) == level_change::of_noise));
    BOOST_TEST(std::abs(level.factor() - 1) < 1e-5f);
}

BOOST_AUTO_TEST_CASE(a_blast_over_a_signal_that_was_followed_is_waited_for)
{
    settle(0.1f);
    look(0.1f, input_level::confirmed, false);
    // The median is that of the blast from its third look on.
    BOOST_TEST((look(100, input_level::patience + 1, true) == level_change::none));
    BOOST_TEST(std::abs(level.factor() - 10) < 1e-4f);
    BOOST_TEST((look(100, 1, true) == level_change::of_signal));
    BOOST_TEST(std::abs(level.factor() - 0.01f) < 1e-6f);
    BOOST_TEST((look(0.1f, 3, true) == level_change::back));
    BOOST_TEST(std::abs(level.factor() - 10) < 1e-4f);
}

BOOST_AUTO_TEST_CASE(a_fade_is_waited_for)
{
    settle(1);
    BOOST_TEST((look(0.01f, input_level::patience, true) == level_change::none));
    look(1, 10, false);
    BOOST_TEST((look(0.01f, input_level::patience, true) ==
                level_change::none)); // it begins anew
    BOOST_TEST(level.factor() == 1);
    look(0.01f, 2, true);
    BOOST_TEST(std::abs(level.factor() - 100) < 1e-3f);
}

BOOST_AUTO_TEST_SUITE_END()
