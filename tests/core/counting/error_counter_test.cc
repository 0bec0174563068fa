/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/counting/error_counter.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>

using namespace gr::adann::core;
using labels = std::vector<std::uint8_t>;

namespace {

labels random_labels(std::mt19937& random, std::size_t count, std::size_t size)
{
    labels out(count);
    for (auto& label : out)
        label = random() % size;
    return out;
}

// What a receiver with these errors decides, `delay` (not negative) symbols late.
labels received(std::mt19937& random,
                const labels& sent,
                const constellation& alphabet,
                unsigned symmetry,
                std::size_t delay,
                double rate)
{
    labels out = random_labels(random, delay, alphabet.size());
    std::bernoulli_distribution wrong(rate);
    for (auto label : sent) {
        if (wrong(random))
            label ^= 1 + random() % (alphabet.size() - 1);
        out.push_back(alphabet.symmetries()[symmetry][label]);
    }
    return out;
}

std::vector<batch_result>
run(error_counter& counter, const labels& decided, const labels& sent)
{
    std::vector<batch_result> batches;
    std::size_t d = 0, s = 0;
    while (d < decided.size() || s < sent.size()) {
        d += counter.append_decided(decided.data() + d,
                                    std::min<std::size_t>(777, decided.size() - d));
        s += counter.append_sent(sent.data() + s,
                                 std::min<std::size_t>(1999, sent.size() - s));
        while (const auto batch = counter.next())
            batches.push_back(*batch);
    }
    counter.end_decided();
    counter.end_sent();
    while (const auto batch = counter.next())
        batches.push_back(*batch);
    return batches;
}

} // namespace

BOOST_AUTO_TEST_SUITE(error_counters)

BOOST_AUTO_TEST_CASE(it_finds_every_delay_and_symmetry_and_counts_by_the_definition)
{
    std::mt19937 random(1);
    for (const auto& name : constellation::names())
        for (unsigned symmetry = 0; symmetry < constellation(name).symmetries().size();
             ++symmetry)
            for (const double rate : { 0.0, 0.01, 0.2 }) {
                const constellation alphabet(name);
                const std::size_t delay = random() % 1025;
                const labels sent = random_labels(random, 30000, alphabet.size());
                const labels decided =
                    received(random, sent, alphabet, symmetry, delay, rate);
                // Either stream may be the late one.
                const bool swapped = random() % 2;
                error_counter counter(alphabet, 1000);
                const auto batches =
                    swapped ? run(counter, sent, decided) : run(counter, decided, sent);

                std::uint64_t symbol_errors = 0, bit_errors = 0;
                for (std::size_t i = 0; i < sent.size(); ++i) {
                    // Bits are counted where the late stream is turned back; those of
                    // PSK depend on it.
                    const auto& turn = alphabet.symmetries()[symmetry];
                    unsigned early = sent[i], late = decided[i + delay];
                    if (swapped)
                        early = turn[early];
                    else
                        late = std::find(turn.begin(), turn.end(), late) - turn.begin();
                    symbol_errors += early != late;
                    bit_errors += __builtin_popcount(early ^ late);
                }
                BOOST_TEST_CONTEXT(name << " symmetry " << symmetry << " delay " << delay)
                {
                    BOOST_TEST(counter.locked());
                    const auto expected = static_cast<std::int64_t>(delay);
                    BOOST_TEST(counter.where().delay == (swapped ? -expected : expected));
                    BOOST_TEST(counter.totals().symbols == 30000);
                    BOOST_TEST(counter.totals().bits ==
                               30000 * alphabet.bits_per_symbol());
                    BOOST_TEST(counter.totals().symbol_errors == symbol_errors);
                    BOOST_TEST(counter.totals().bit_errors == bit_errors);
                    BOOST_TEST(batches.size() == 30);
                    BOOST_TEST(counter.relocks() == 0);
                }
            }
}

BOOST_AUTO_TEST_CASE(the_evidence_bounds_the_binomial_tail)
{
    for (const double chance : { 0.0625, 0.25, 0.5 })
        for (const int n : { 20, 200 })
            for (int k = static_cast<int>(n * chance) + 1; k <= n; ++k) {
                double tail = 0;
                for (int j = k; j <= n; ++j)
                    tail += std::exp(std::lgamma(n + 1) - std::lgamma(j + 1) -
                                     std::lgamma(n - j + 1) + j * std::log(chance) +
                                     (n - j) * std::log1p(-chance));
                BOOST_TEST(std::exp(-evidence(k, n, chance)) >= tail * (1 - 1e-9));
            }
}

// A false lock has a probability below 1e-12 per window, some 200 windows here.
BOOST_AUTO_TEST_CASE(unrelated_streams_never_lock)
{
    std::mt19937 random(2);
    for (const auto& name : constellation::names()) {
        const constellation alphabet(name);
        error_counter counter(alphabet);
        const labels sent = random_labels(random, 500000, alphabet.size());
        const labels decided = random_labels(random, 500000, alphabet.size());
        BOOST_TEST(run(counter, decided, sent).empty());
        BOOST_TEST(!counter.locked());
        BOOST_TEST(counter.totals().symbols == 0);
    }
}

// Every other order of four labels, the reflections of 16: no lock, and the right words.
BOOST_AUTO_TEST_CASE(permuted_labels_are_no_lock_and_are_told)
{
    std::mt19937 random(6);
    for (const auto& name : { "pam4", "qpsk", "16qam", "8psk" }) {
        const constellation alphabet(name);
        const auto& symmetries = alphabet.symmetries();
        std::vector<labels> orders = alphabet.reflections();
        labels order{ 0, 1, 2, 3 };
        while (alphabet.size() == 4 && std::next_permutation(order.begin(), order.end()))
            orders.push_back(order);
        const labels sent = random_labels(random, 30000, alphabet.size());
        for (const auto& each : orders) {
            if (std::find(symmetries.begin(), symmetries.end(), each) != symmetries.end())
                continue;
            labels decided = received(random, sent, alphabet, 0, 77, 0.05);
            for (auto& label : decided)
                label = each[label];
            error_counter counter(alphabet, 1000);
            BOOST_TEST(run(counter, decided, sent).empty());
            BOOST_TEST(!counter.locked());
            // The same as `each` up to a symmetry.
            labels told = counter.permutation();
            BOOST_REQUIRE(told.size() == alphabet.size());
            BOOST_TEST(std::any_of(symmetries.begin(), symmetries.end(), [&](auto& turn) {
                labels turned;
                for (const auto label : told)
                    turned.push_back(turn[label]);
                return turned == each;
            }));
        }
    }
}

// Orders of many labels: any, two bits exchanged, and two labels.
BOOST_AUTO_TEST_CASE(many_labels_in_another_order_are_no_lock_and_are_told)
{
    std::mt19937 random(16);
    for (const auto& name : { "8psk", "16qam", "32apsk", "64qam", "256qam" }) {
        const constellation alphabet(name);
        const std::size_t size = alphabet.size();
        labels any(size), bits(size), two(size);
        for (std::size_t l = 0; l < size; ++l) {
            any[l] = two[l] = static_cast<std::uint8_t>(l);
            bits[l] = static_cast<std::uint8_t>((l & ~3u) | (l & 1) << 1 | (l >> 1 & 1));
        }
        std::shuffle(any.begin(), any.end(), random);
        std::swap(two[1], two[size - 2]);
        for (const labels& order : { any, bits, two })
            for (const double rate : { 0.0, 0.4 / static_cast<double>(size) }) {
                const labels sent = random_labels(random, 40000, size);
                labels decided = received(random, sent, alphabet, 0, 333, rate);
                for (auto& label : decided)
                    label = order[label];
                error_counter counter(alphabet, 1000);
                BOOST_TEST_CONTEXT(name << ", rate " << rate)
                {
                    BOOST_TEST(run(counter, decided, sent).empty());
                    BOOST_TEST(!counter.locked());
                    BOOST_TEST(counter.passed() > 20000u);
                    const auto& symmetries = alphabet.symmetries();
                    const labels& told = counter.permutation();
                    BOOST_REQUIRE(told.size() == size);
                    BOOST_TEST(std::any_of(
                        symmetries.begin(), symmetries.end(), [&](const labels& turn) {
                            labels turned;
                            for (const auto label : told)
                                turned.push_back(turn[label]);
                            return turned == order;
                        }));
                }
            }
    }
}

// Errors of noise, from label to label or to one neighbour, are counted at any rate.
BOOST_AUTO_TEST_CASE(noise_is_not_taken_for_another_order)
{
    std::mt19937 random(17);
    for (const auto& name : { "8psk", "16qam", "64qam", "256qam" })
        for (const double rate : { 0.004, 0.02, 0.1, 0.3, 0.6 })
            for (int n = 0; n < 10; ++n) {
                const constellation alphabet(name);
                const labels sent = random_labels(random, 20000, alphabet.size());
                labels decided = received(random, sent, alphabet, 0, 0, n % 2 ? rate : 0);
                for (auto& label : decided)
                    if (n % 2 == 0 && (random() & 0xFFFF) < rate * 0.5 * 0x10000)
                        label ^= 1; // one neighbour, half as often: it is no exchange
                error_counter counter(alphabet, 1000);
                run(counter, decided, sent);
                BOOST_TEST_CONTEXT(name << ", rate " << rate)
                {
                    BOOST_TEST(counter.locked());
                    BOOST_TEST(counter.totals().symbols == 20000u);
                    BOOST_TEST(counter.passed() == 0u);
                }
            }
}

BOOST_AUTO_TEST_CASE(a_lock_is_lost_when_the_labels_become_permuted)
{
    std::mt19937 random(7);
    const constellation qpsk("qpsk");
    const labels sent = random_labels(random, 60000, 4);
    labels decided = received(random, sent, qpsk, 1, 0, 0.0);
    for (std::size_t i = 30000; i < decided.size(); ++i)
        decided[i] = decided[i] == 1 ? 2 : decided[i] == 2 ? 1 : decided[i];
    error_counter counter(qpsk, 1000);
    run(counter, decided, sent);
    BOOST_TEST(!counter.locked());
    BOOST_TEST(counter.totals().symbols <= 30000u);
    BOOST_TEST(counter.totals().symbols > 27000u);
    BOOST_TEST(counter.totals().symbol_errors == 0u);
    BOOST_TEST(describe_permutation(counter.permutation()) == "1<->2");
}

// A search over these and the right ones behind them takes them for errors, a look at them
// alone for another order; the two must not take turns for ever.
BOOST_AUTO_TEST_CASE(labels_that_are_permuted_for_a_moment_are_passed_over)
{
    std::mt19937 random(8);
    const constellation qpsk("qpsk");
    const labels sent = random_labels(random, 30000, 4);
    for (const std::size_t from : { 0, 1000, 10000 })
        for (const std::size_t n : { 500, 1024, 1300, 2500 }) {
            labels decided = sent;
            for (std::size_t i = from; i < from + n; ++i)
                decided[i] = decided[i] == 1 ? 2 : decided[i] == 2 ? 1 : decided[i];
            error_counter counter(qpsk, 1000);
            run(counter, decided, sent);
            BOOST_TEST(counter.locked());
            BOOST_TEST(counter.totals().symbols > 15000u); // a search skips some
            // Half of them are 1 or 2; six standard deviations.
            const auto all = static_cast<double>(n);
            BOOST_TEST(counter.totals().symbol_errors <= all / 2 + 3 * std::sqrt(all));
        }
}

BOOST_AUTO_TEST_CASE(permutations_read_as_cycles)
{
    BOOST_TEST(describe_permutation({}) == "");
    BOOST_TEST(describe_permutation({ 0, 2, 1, 3 }) == "1<->2");
    BOOST_TEST(describe_permutation({ 1, 0, 3, 2 }) == "0<->1, 2<->3");
    BOOST_TEST(describe_permutation({ 1, 3, 2, 0 }) == "0->1->3->0");
}

BOOST_AUTO_TEST_CASE(a_delay_beyond_the_range_is_not_found)
{
    std::mt19937 random(3);
    const constellation pam4("pam4");
    const labels sent = random_labels(random, 50000, 4);
    for (const std::size_t delay : { 100, 101 }) {
        error_counter counter(pam4, 8192, 100);
        run(counter, received(random, sent, pam4, 0, delay, 0.0), sent);
        BOOST_TEST(counter.locked() == (delay == 100));
    }
}

BOOST_AUTO_TEST_CASE(reset_forgets_the_counts_and_keeps_the_labels_in_step)
{
    std::mt19937 random(4);
    const constellation qpsk("qpsk");
    const labels sent = random_labels(random, 50000, 4);
    const labels decided = received(random, sent, qpsk, 3, 10, 0.0);
    error_counter counter(qpsk);
    counter.append_sent(sent.data(), sent.size());
    counter.append_decided(decided.data(), 30010);
    while (counter.next())
        ;
    BOOST_TEST(counter.locked());
    counter.reset();
    BOOST_TEST(!counter.locked());
    BOOST_TEST(counter.totals().bits == 0);
    counter.append_decided(decided.data() + 30010, 20000);
    while (counter.next())
        ;
    BOOST_TEST(counter.locked());
    BOOST_TEST(counter.where().delay == 10);
    BOOST_TEST(counter.totals().symbols > 18000);
    BOOST_TEST(counter.totals().symbol_errors == 0);
}

BOOST_AUTO_TEST_SUITE_END()
