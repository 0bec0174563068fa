/* Packets that are known late, against a stream that is kept as a whole.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/decoded_packets.h"
#include "core/signal/known_symbols.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <random>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

constexpr std::size_t stride = 3, dimension = 7, batch = 64, delay = 41;
constexpr std::size_t kept = decided_past::symbols;
constexpr std::size_t any_age = std::numeric_limits<std::size_t>::max();

// A stream of QPSK that goes on past what is kept; labels are handed out `delay` symbols later.
struct fixture {
    fixture()
        : sent(kept + 60'000),
          decided(sent.size()),
          samples(stride * sent.size() + dimension)
    {
        std::mt19937 random(1);
        for (std::size_t i = 0; i < sent.size(); ++i) {
            sent[i] = static_cast<std::uint8_t>(random() % 4);
            decided[i] =
                static_cast<std::uint8_t>(random() % 50 ? sent[i] : random() % 4);
        }
        for (auto& sample : samples)
            sample = static_cast<float>(random() % 1000);
    }

    // Up to this symbol, in pieces that do not fit anything.
    void pass(std::size_t until)
    {
        for (; seen < until; seen += piece) {
            piece = std::min<std::size_t>(1000 + seen % 777, until - seen);
            packets.see({ &samples[seen * stride], stride, dimension, piece });
            const std::size_t out = seen + piece > delay ? seen + piece - delay : 0;
            packets.hand_out(&decided[handed_out], out - handed_out);
            handed_out = out;
        }
    }

    std::vector<std::uint8_t> packet(std::size_t first, std::size_t n) const
    {
        return { sent.begin() + first, sent.begin() + first + n };
    }

    // The number of batches.
    std::size_t check_batches(std::size_t first, std::size_t n)
    {
        std::vector<float> found((batch - 1) * stride + dimension);
        std::vector<std::uint8_t> labels(batch), truth(batch);
        std::size_t batches = 0;
        for (std::size_t next = first; next < first + n; ++batches) {
            BOOST_REQUIRE(
                packets.next_batch(any_age, found.data(), labels.data(), truth.data()));
            const std::size_t at = std::min(next, seen - batch);
            BOOST_TEST(std::equal(found.begin(), found.end(), &samples[at * stride]));
            for (std::size_t i = 0; i < batch; ++i) {
                const bool known = at + i >= next && at + i < first + n;
                BOOST_REQUIRE(truth[i] == (known ? sent[at + i] : not_known));
                BOOST_REQUIRE(labels[i] == (known ? sent : decided)[at + i]);
            }
            next = std::min(at + batch, first + n);
        }
        BOOST_TEST(!packets.is_waiting());
        return batches;
    }

    std::vector<std::uint8_t> sent, decided;
    std::vector<float> samples;
    std::size_t seen = 0, handed_out = 0, piece = 0;
    decoded_packets packets{ constellation("qpsk"), stride, dimension, batch };
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(decoded, fixture)

BOOST_AUTO_TEST_CASE(what_follows_the_first_packet_is_compared)
{
    pass(5000);
    packets.take(1000, packet(1000, 100)); // the first one
    packets.take(4000, packet(4000, 100)); // before it
    BOOST_TEST(packets.counted().packets == 0u);
    BOOST_TEST(std::isnan(packets.counted().ber()));
    pass(9000);
    auto labels = packet(6000, 1000);
    labels[17] = not_known;
    std::size_t errors = 0;
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (i != 17)
            errors += __builtin_popcount(labels[i] ^ decided[6000 + i]);
    packets.take(6000, labels);
    BOOST_TEST(packets.counted().packets == 1u);
    BOOST_TEST(packets.counted().bits == 2u * 999);
    BOOST_TEST(packets.counted().errors == errors);
    BOOST_TEST(errors > 0u);
}

BOOST_AUTO_TEST_CASE(batches_are_what_was_seen_then)
{
    pass(1000);
    packets.take(0, packet(0, 1));
    pass(7000);
    packets.take(2000, packet(2000, 3 * batch));
    BOOST_TEST(check_batches(2000, 3 * batch) == 3u);
    packets.take(2500, packet(2500, 10)); // less than a batch
    BOOST_TEST(check_batches(2500, 10) == 1u);
    for (std::size_t until = kept; until + 2000 < sent.size(); until += 15'000) {
        pass(until); // around the ring
        const std::size_t oldest = until - kept + delay < 1000 ? 1000 : until - kept;
        packets.take(oldest, packet(oldest, 200));
        BOOST_TEST(check_batches(oldest, 200) == 4u);
    }
}

BOOST_AUTO_TEST_CASE(a_packet_at_the_edge_waits_for_its_labels)
{
    pass(1000);
    packets.take(0, packet(0, 1));
    pass(5000);
    packets.take(5000 - delay - 30, packet(5000 - delay - 30, 30));
    std::vector<float> found((batch - 1) * stride + dimension);
    std::vector<std::uint8_t> labels(batch), truth(batch);
    BOOST_TEST(!packets.next_batch(any_age, found.data(), labels.data(), truth.data()));
    BOOST_TEST(packets.is_waiting());
    pass(5000 + batch);
    BOOST_TEST(check_batches(5000 - delay - 30, 30) == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_older_than_a_limit_is_left_out)
{
    pass(1000);
    packets.take(0, packet(0, 1));
    pass(8000);
    packets.take(4000, packet(4000, 100));
    packets.take(6000, packet(6000, 10));
    std::vector<float> found((batch - 1) * stride + dimension);
    std::vector<std::uint8_t> labels(batch), truth(batch);
    BOOST_TEST(packets.next_batch(2000, found.data(), labels.data(), truth.data()));
    BOOST_TEST(std::equal(found.begin(), found.end(), &samples[6000 * stride]));
    BOOST_TEST(!packets.is_waiting());
    BOOST_TEST(packets.counted().packets == 2u); // they count all the same
    packets.take(6000, packet(6000, 10));
    BOOST_TEST(!packets.next_batch(1999, found.data(), labels.data(), truth.data()));
}

BOOST_AUTO_TEST_CASE(what_came_before_a_change_of_the_receiver_is_not_learnt)
{
    pass(1000);
    packets.take(0, packet(0, 1));
    pass(5000);
    packets.take(2000, packet(2000, 500));
    packets.change_receiver();
    pass(6000);
    std::vector<float> found((batch - 1) * stride + dimension);
    std::vector<std::uint8_t> labels(batch), truth(batch);
    BOOST_TEST(!packets.next_batch(any_age, found.data(), labels.data(), truth.data()));
    BOOST_TEST(!packets.is_waiting());
    BOOST_TEST(packets.counted().packets == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_not_there_is_refused)
{
    pass(5000);
    packets.take(0, packet(0, 1));
    BOOST_CHECK_THROW(packets.take(5000 - delay - 5, packet(0, 6)),
                      std::invalid_argument);
    BOOST_CHECK_THROW(packets.take(~std::uint64_t{ 0 }, packet(0, 6)),
                      std::invalid_argument);
    BOOST_CHECK_THROW(packets.take(3000, { 0, 4 }), std::invalid_argument);
    pass(kept + 10'000);
    BOOST_CHECK_THROW(packets.take(9'000, packet(9'000, 6)), std::invalid_argument);
    BOOST_TEST(packets.counted().packets == 0u);
}

BOOST_AUTO_TEST_CASE(a_rotation_and_a_delay_are_seen)
{
    const constellation qpsk("qpsk");
    pass(1000);
    packets.take(0, packet(0, 1));
    pass(3000);
    packets.take(2000, packet(2000, 500));
    BOOST_TEST(packets.displaced().none());
    for (std::size_t i = 4000; i < 8000; ++i) // turned by a quarter, and two symbols late
        decided[i] = qpsk.symmetries()[1][sent[i - 2]];
    pass(8000);
    packets.take(5000, packet(5000, 100));
    // Symbol t is label [t + later] after the symmetry: see displacement.
    const displacement by = packets.displaced();
    BOOST_TEST(by.later == 2);
    std::size_t alike =
        count_alike(&decided[5002], &sent[5000], 100, qpsk.symmetries()[by.turned]);
    BOOST_TEST(alike == 100u);
    packets.change_receiver();
    packets.take(5100, packet(5100, 500)); // from before the change
    BOOST_TEST(packets.displaced().none());
    std::vector<float> found((batch - 1) * stride + dimension);
    std::vector<std::uint8_t> labels(batch), truth(batch);
    BOOST_TEST(!packets.next_batch(any_age, found.data(), labels.data(), truth.data()));
}

BOOST_AUTO_TEST_SUITE_END()
