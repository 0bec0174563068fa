/* Where a stream is in its bursts. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/burst_progress.h"

#include <boost/test/unit_test.hpp>

#include <numeric>

using namespace gr::adann::core;
using found = acquisition_result;

namespace {
// Labels 0 to 29.
std::vector<std::uint8_t> sequence()
{
    std::vector<std::uint8_t> labels(30);
    std::iota(labels.begin(), labels.end(), std::uint8_t{ 0 });
    return labels;
}
} // namespace

BOOST_AUTO_TEST_SUITE(burst_progresses)

BOOST_AUTO_TEST_CASE(a_stream_without_bursts_is_inside_one)
{
    burst_progress bursts;
    for (int i = 0; i < 3; ++i) {
        BOOST_TEST((bursts.state() == burst_state::inside));
        BOOST_TEST(bursts.is_inside());
        BOOST_TEST(bursts.most(1000) == 1000u);
        BOOST_TEST(!bursts.take(1000, found::pending));
    }
}

BOOST_AUTO_TEST_CASE(a_burst_is_learnt_from_behind_its_training_sequence)
{
    burst_progress bursts;
    bursts.end();
    BOOST_TEST(bursts.is_between());
    bursts.begin(sequence(), true);
    BOOST_TEST(bursts.is_first());
    BOOST_TEST(bursts.remaining() == 30u);
    BOOST_TEST(int(bursts.labels()[29]) == 29);
    BOOST_TEST(bursts.most(1000) == 30u);
    BOOST_TEST(!bursts.take(16, found::pending));
    BOOST_TEST(!bursts.is_first());
    BOOST_TEST(bursts.is_within());
    BOOST_TEST(!bursts.is_inside());
    BOOST_TEST(bursts.most(1000) == 14u);
    BOOST_TEST(bursts.take(14, found::acquired));
    BOOST_TEST(bursts.is_inside());
    bursts.end();
    BOOST_TEST(bursts.is_between());
}

// Whatever a front filter says that was reset or held within the sequence.
BOOST_AUTO_TEST_CASE(a_sequence_that_is_missed_begins_no_burst)
{
    for (const found result : { found::missed, found::pending })
        for (const bool is_between : { false, true }) {
            burst_progress bursts;
            if (is_between)
                bursts.end();
            bursts.begin(sequence(), true);
            bursts.take(20, found::pending);
            bursts.begin(sequence(), true); // another one, in the middle of it
            BOOST_TEST(bursts.remaining() == 30u);
            BOOST_TEST(bursts.take(30, result));
            BOOST_TEST(bursts.is_between() == is_between);
        }
}

BOOST_AUTO_TEST_CASE(without_a_model_the_sequence_is_known_labels)
{
    burst_progress bursts;
    bursts.end();
    bursts.begin(sequence(), false);
    BOOST_TEST((bursts.state() == burst_state::known));
    BOOST_TEST(bursts.is_inside());
    BOOST_TEST(!bursts.is_first());
    BOOST_TEST(!bursts.take(10, found::acquired));
    BOOST_TEST(bursts.remaining() == 20u);
    BOOST_TEST(int(bursts.labels()[0]) == 10);
    BOOST_TEST(!bursts.take(20, found::acquired));
    BOOST_TEST((bursts.state() == burst_state::inside));
    BOOST_TEST(bursts.remaining() == 0u);
}

// A model that is made within them begins nothing from what is left, nor from what has passed.
BOOST_AUTO_TEST_CASE(known_labels_start_no_front_filter)
{
    for (const std::size_t passed : { 10, 30 }) {
        burst_progress bursts;
        bursts.begin(sequence(), false);
        bursts.take(passed, found::acquired);
        bursts.leave_known();
        BOOST_TEST((bursts.state() == burst_state::inside));
        BOOST_TEST(bursts.remaining() == 0u);
        BOOST_TEST(!bursts.is_first());
    }
}

BOOST_AUTO_TEST_CASE(another_stream_begins_where_the_former_one_was)
{
    burst_progress bursts;
    bursts.end();
    bursts.start();
    BOOST_TEST(bursts.is_between());
    bursts.begin(sequence(), true);
    bursts.take(10, found::pending);
    bursts.start();
    BOOST_TEST((bursts.state() == burst_state::inside));
    BOOST_TEST(bursts.remaining() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
