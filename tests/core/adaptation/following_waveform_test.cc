/* A table that follows what is left of the samples, and not its noise.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/following_waveform.h"
#include "core/adaptation/waveform_judge.h"
#include "nonlinear_link.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>

using namespace gr::adann::core;
using namespace nonlinear;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(a_waveform_that_follows)

namespace {

constexpr std::size_t round_of = 8192; // symbols

double mean_square(const std::vector<float>& one, const std::vector<float>& other)
{
    double sum = 0;
    for (std::size_t i = 0; i < one.size(); ++i)
        sum += std::pow(double{ one[i] } - other[i], 2);
    return sum / static_cast<double>(one.size());
}

} // namespace

// By the definition: pairs of different symbols of a pattern, in doubles.
BOOST_AUTO_TEST_CASE(means_are_shrunk_as_their_variances_say)
{
    nonlinear_link sent("pam4", 2, false, 1);
    following_waveform follows(sent.trained);
    const std::size_t stride = sent.trained.stride();
    std::normal_distribution<float> normal;
    std::vector<std::uint8_t> labels(round_of + 4);
    for (auto& label : labels) // the last one comes seldom
        label = std::min<unsigned>(sent.random() % 40 / 13, 3);
    std::vector<float> rest(round_of * stride);
    std::map<std::size_t, std::vector<std::size_t>> symbols; // of each pattern
    for (std::size_t i = 0; i < round_of; ++i) {
        const std::size_t pattern = 4u * labels[i + 1] + labels[i + 2];
        BOOST_TEST(sent.trained.pattern(&labels[i + 2]) == pattern);
        symbols[pattern].push_back(i);
        for (std::size_t j = 0; j < stride; ++j)
            rest[i * stride + j] =
                0.02f * static_cast<float>(pattern % 3) + 0.1f * normal(sent.random);
    }
    follows.add(&labels[2], rest.data(), round_of / 2);
    BOOST_TEST(follows.number() == 0u);
    follows.add(&labels[2 + round_of / 2], &rest[round_of / 2 * stride], round_of / 2);
    BOOST_TEST(follows.number() == 1u);

    const auto at = [&](std::size_t symbol, std::size_t j) -> double {
        return rest[symbol * stride + j];
    };
    double change = 0, noise = 0, count = 0, freedom = 0;
    for (const auto& [pattern, of] : symbols) {
        const auto n = static_cast<double>(of.size());
        if (n < 2)
            continue;
        for (std::size_t j = 0; j < stride; ++j) {
            double sum = 0, square = 0;
            for (const std::size_t symbol : of) {
                sum += at(symbol, j);
                square += at(symbol, j) * at(symbol, j);
            }
            for (const std::size_t symbol : of) // its product with the others
                change += at(symbol, j) * (sum - at(symbol, j)) / (n - 1);
            noise += square - sum * sum / n;
        }
        count += n;
        freedom += n - 1;
    }
    change /= count;
    noise /= freedom;
    BOOST_TEST(noise == 0.02, boost::test_tools::tolerance(0.07)); // 2 samples, 0.1²
    for (const auto& [pattern, of] : symbols)
        for (std::size_t j = 0; j < stride; ++j) {
            double mean = 0;
            for (const std::size_t symbol : of)
                mean += at(symbol, j) / static_cast<double>(of.size());
            const auto n = static_cast<double>(of.size());
            const std::size_t k = pattern * stride + j;
            BOOST_TEST(follows.now().table()[k] - sent.trained.table()[k] ==
                           mean * n / (n + noise / change),
                       boost::test_tools::tolerance(1e-3));
        }
    follows.reset();
    BOOST_TEST(follows.number() == 2u);
    BOOST_TEST((follows.now() == sent.trained));
}

/* Noise alone moves each row by less than half of what its mean is wrong by, in three rounds; on the
 * average of 16 such, which is beyond 15 standard deviations. */
BOOST_AUTO_TEST_CASE(where_nothing_has_changed_next_to_nothing_is_added)
{
    nonlinear_link sent("pam4", 2, false, 2);
    std::normal_distribution<float> normal(0, 0.1f);
    std::vector<std::uint8_t> labels(round_of + 4);
    std::vector<float> rest(round_of * sent.trained.stride());
    constexpr int draws = 16;
    double added = 0;
    for (int draw = 0; draw < draws; ++draw) {
        following_waveform follows(sent.trained);
        for (int round = 0; round < 3; ++round) {
            for (auto& label : labels)
                label = sent.random() % 4;
            for (auto& value : rest)
                value = normal(sent.random);
            follows.add(&labels[2], rest.data(), round_of);
        }
        added += mean_square(follows.now().table(), sent.trained.table()) / draws;
    }
    const double of_means = 0.01 / (round_of / 16.0);
    BOOST_TEST(added < of_means / 2);
}

/* Senders that have changed, behind an echo: what is left of their changes beyond the noise of 0.05. Some
 * draws of PAM2 leave a third of it, a tenth on average. */
BOOST_DATA_TEST_CASE(a_sender_that_changes_is_followed_through_a_filter,
                     data::make(kinds),
                     kind)
{
    nonlinear_link received(kind.symbols, kind.sps, kind.is_complex, 4);
    const std::size_t batches = 12 * round_of / batch;
    const auto beyond_noise = [](const waveform_judge& of) {
        return double{ of.noise() } * of.noise() - 0.05 * 0.05;
    };
    double left = 0, was = 0;
    for (int draw = 0; draw < 8; ++draw) {
        received.send(batches * batch, received.symbols.size());
        // What was trained knows another sender.
        expected_waveform before = received.trained;
        std::vector<float> table = before.table();
        std::normal_distribution<float> normal(0, 0.1f);
        for (auto& value : table)
            value += normal(received.random);
        before.set_nonlinear(table, before.polynomial().coefficients());
        waveform_judge judge(before, received.window, batch), still(judge);
        for (std::size_t first = 0; first < batches * batch; first += batch) {
            judge.look(received.view(first), received.sent(first));
            judge.follow(received.sent(first));
            still.look(received.view(first), received.sent(first));
        }
        left += beyond_noise(judge);
        was += beyond_noise(still);
        const auto number = judge.waveform().number();
        judge.reset(); // another channel, maybe of the same sender
        BOOST_TEST(judge.waveform().number() == number);
        judge.forget();
        BOOST_TEST((judge.waveform().now() == before));
    }
    BOOST_TEST(was > 8 * (0.06 * 0.06 - 0.05 * 0.05));
    BOOST_TEST(left < 0.3 * was);
}

// Behind a filter that smooths, each tap of which is small: the table does not run away.
BOOST_AUTO_TEST_CASE(a_filter_that_smooths_is_followed_through_for_long)
{
    nonlinear_link received("pam4", 4, false, 6);
    const std::size_t batches = 40 * round_of / batch;
    received.send(batches * batch, 4);
    const std::vector<float> sharp = received.samples;
    for (std::size_t i = 4; i + 4 < sharp.size(); ++i) {
        received.samples[i] = 0;
        for (std::size_t k = i - 4; k <= i + 4; ++k)
            received.samples[i] += sharp[k] / 9;
    }
    waveform_judge judge(received.trained, received.window, batch);
    for (std::size_t first = 0; first < batches * batch; first += batch) {
        judge.look(received.view(first), received.sent(first));
        judge.follow(received.sent(first));
    }
    BOOST_TEST(mean_square(judge.waveform().now().table(), received.trained.table()) <
               0.05 * 0.05);
}

BOOST_AUTO_TEST_SUITE_END()
