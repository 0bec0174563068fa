/* Hand-overs between two threads; ThreadSanitizer watches.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/handover.h"

#include <boost/test/unit_test.hpp>

#include <thread>

using namespace gr::adann::core;

BOOST_AUTO_TEST_SUITE(handover)

BOOST_AUTO_TEST_CASE(the_latest_value_is_whole_and_never_older_than_the_last_seen)
{
    constexpr int last = 100'000;
    latest_value<std::vector<int>> value(std::vector<int>(64, 0));
    std::thread writer([&] {
        for (int i = 1; i <= last; ++i) {
            std::fill(value.writing().begin(), value.writing().end(), i);
            value.publish();
        }
    });
    int seen = 0;
    bool whole = true, ordered = true;
    while (seen < last) {
        const auto& newest = value.newest();
        whole = whole && newest.front() == newest.back();
        ordered = ordered && newest.front() >= seen;
        seen = newest.front();
    }
    writer.join();
    BOOST_TEST(whole);
    BOOST_TEST(ordered);
}

BOOST_AUTO_TEST_CASE(a_queue_keeps_order_and_refuses_when_full)
{
    slot_queue<int> queue(3, 0);
    for (int i = 0; i < 3; ++i) {
        *queue.free_slot() = i;
        queue.push();
    }
    BOOST_TEST(queue.free_slot() == nullptr);
    BOOST_TEST(queue.filled() == 3u);
    for (int i = 0; i < 3; ++i) {
        BOOST_TEST(*queue.filled_slot() == i);
        queue.pop();
    }
    BOOST_TEST(queue.filled_slot() == nullptr);
    BOOST_TEST(queue.filled() == 0u);
}

BOOST_AUTO_TEST_CASE(a_queue_carries_everything_between_two_threads)
{
    constexpr int last = 100'000;
    slot_queue<int> queue(3, 0);
    std::thread writer([&] {
        for (int i = 1; i <= last;)
            if (int* slot = queue.free_slot()) {
                *slot = i++;
                queue.push();
            }
    });
    bool ordered = true;
    for (int expected = 1; expected <= last;)
        if (const int* slot = queue.filled_slot()) {
            ordered = ordered && *slot == expected++;
            queue.pop();
        }
    writer.join();
    BOOST_TEST(ordered);
}

BOOST_AUTO_TEST_SUITE_END()
