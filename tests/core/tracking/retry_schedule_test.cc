/* When a stream is tested and tried otherwise. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/retry_schedule.h"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace gr::adann::core;

BOOST_AUTO_TEST_SUITE(retry_schedules)

// Blocks have 64 symbols: 1024 and 128 of these.
BOOST_AUTO_TEST_CASE(a_stream_is_tested_rarely_while_it_is_followed)
{
    for (const bool follows : { true, false }) {
        retry_schedule schedule;
        for (int round = 0; round < 3; ++round)
            for (int block = 1; block <= (follows ? 16 : 2); ++block)
                BOOST_TEST(schedule.pass(1, follows) == (block == (follows ? 16 : 2)));
        BOOST_TEST(schedule.pass(4, follows) == !follows);
    }
    retry_schedule lost_meanwhile;
    BOOST_TEST(!lost_meanwhile.pass(8, true));
    BOOST_TEST(lost_meanwhile.pass(1, false));
}

// However often it is asked for meanwhile, and whether the stream is followed or not.
BOOST_AUTO_TEST_CASE(a_test_that_is_wanted_soon_comes_after_two_blocks)
{
    for (const bool follows : { true, false })
        for (const bool asks_again : { true, false })
            for (const int before : { 0, 1, 15 }) {
                retry_schedule schedule;
                for (int block = 0; block < before; ++block)
                    BOOST_TEST(!schedule.pass(1, true));
                schedule.test_soon();
                BOOST_TEST(!schedule.pass(1, follows));
                if (asks_again)
                    schedule.test_soon();
                BOOST_TEST(schedule.pass(1, follows));
                for (int block = 1; block < 16; ++block)
                    BOOST_TEST(!schedule.pass(1, true));
                BOOST_TEST(schedule.pass(1, true));
            }
}

BOOST_AUTO_TEST_CASE(eight_tests_in_a_row_without_success_start_over)
{
    retry_schedule schedule;
    for (const int failed : { 7, 3 }) {
        for (int i = 0; i < failed; ++i)
            BOOST_TEST(!schedule.end_test(false));
        BOOST_TEST(!schedule.end_test(true));
    }
    for (int i = 0; i < 7; ++i)
        BOOST_TEST(!schedule.end_test(false));
    BOOST_TEST(schedule.end_test(false));
    schedule.forget_tests();
    BOOST_TEST(!schedule.end_test(false));
}

BOOST_AUTO_TEST_CASE(timing_that_was_found_is_not_searched_again_until_the_stream_settles)
{
    retry_schedule schedule;
    BOOST_TEST(schedule.try_again().timing);
    schedule.note_jump();
    for (int test = 0; test < 100; ++test)
        BOOST_TEST(!schedule.try_again().timing);
    schedule.forget_loss();
    BOOST_TEST(schedule.try_again().timing);
}

// 512 symbols that came after the loss, and one test on the safe side; never twice the same symbols.
BOOST_AUTO_TEST_CASE(blind_tries_come_ever_more_rarely_after_a_loss)
{
    retry_schedule schedule;
    for (int loss = 0; loss < 2; ++loss) {
        std::vector<int> tries{ 0 };
        for (int test = 1; test <= 1000; ++test) {
            const retry_schedule::tries now = schedule.try_again();
            if (now.blindly)
                tries.push_back(test);
            BOOST_TEST(schedule.is_long_lost() == (test > 8));
            BOOST_TEST(now.timing == (now.blindly || test <= 8));
        }
        BOOST_TEST(tries[1] == 5);
        for (std::size_t i = 2; i < tries.size(); ++i) {
            const int apart = tries[i] - tries[i - 1];
            BOOST_TEST(apart >= std::max(5, tries[i - 1] - tries[i - 2]));
            BOOST_TEST(apart <= 4096 / 128);
        }
        BOOST_TEST(tries.back() - tries[tries.size() - 2] == 4096 / 128);
        schedule.forget_loss();
    }
}

BOOST_AUTO_TEST_SUITE_END()
