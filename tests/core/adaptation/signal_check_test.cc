/* Whether a signal is worth learning from. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/signal_check.h"
#include "core/network/decider.h"
#include "receivers.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>
#include <random>

using namespace gr::adann::core;

namespace {

std::string problem(signal_check& watching, const model& by, const feature_view& view)
{
    std::vector<std::uint8_t> decided(view.count);
    decider(by.net).decide(prepared_network(by.net), view, decided.data());
    return watching.problem(view, decided.data());
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(checking_a_signal, noisy_signal)

BOOST_AUTO_TEST_CASE(signals_not_worth_learning_from_are_named)
{
    const model receiver = make_receiver();
    signal_check watching(receiver.symbols, true);
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(problem(watching, receiver, next()) == "");

    std::vector<float> bad(samples.begin(), samples.begin() + 4 * batch + 44);
    const auto found = [&](const std::vector<float>& in) {
        return problem(watching, receiver, { in.data(), 4, 44, batch });
    };
    auto spoilt = bad;
    spoilt[100] = std::numeric_limits<float>::quiet_NaN();
    BOOST_TEST(found(spoilt) == "samples are NaN, infinite or beyond 1000");
    BOOST_TEST(found(std::vector<float>(bad.size(), 0.3f)) == "the samples are constant");
    spoilt = bad;
    for (auto& x : spoilt)
        x = std::clamp(x, -0.5f, 0.5f);
    BOOST_TEST(found(spoilt).find("the samples are saturated") == 0u);
    spoilt = bad;
    for (auto& x : spoilt)
        x *= 0.2f;
    BOOST_TEST(found(spoilt).find("the decisions are not those of random data") == 0u);
    for (std::size_t i = 0; i < spoilt.size(); ++i)
        spoilt[i] = 0.1f * bad[i] + (i / 4 % 2 ? 1.0f : -1.0f); // idle
    BOOST_TEST(found(spoilt).find("the decisions are not those of random data") == 0u);
    BOOST_TEST(found(bad) == "");

    signal_check unscrambled(receiver.symbols, false);
    BOOST_TEST(problem(unscrambled, receiver, { spoilt.data(), 4, 44, batch }) == "");
}

BOOST_AUTO_TEST_CASE(
    a_constellation_in_another_one_is_told_although_each_level_is_as_frequent)
{
    // QPSK of the mean power, which a carrier's loop turns onto four points of 16QAM: I and Q
    // have each of their levels as often as random data does.
    const constellation symbols("16qam");
    std::vector<std::uint8_t> ring;
    for (std::size_t label = 0; label < 16; ++label)
        for (const std::complex<float> point :
             { std::complex<float>(3, 1), { -1, 3 }, { -3, -1 }, { 1, -3 } })
            if (symbols.points()[label] == point)
                ring.push_back(static_cast<std::uint8_t>(label));
    BOOST_REQUIRE(ring.size() == 4u);
    std::vector<float> in(8 * 600 + 88);
    gaussian_noise(3).fill(in.data(), in.size());
    const feature_view view{ in.data(), 8, 88, 600 };
    std::mt19937 random(1);
    std::vector<std::uint8_t> decided(view.count);
    signal_check watching(symbols, true);
    for (auto& label : decided)
        label = static_cast<std::uint8_t>(random() % 16);
    BOOST_TEST(watching.problem(view, decided.data()) == "");
    for (auto& label : decided)
        label = ring[random() % 4];
    BOOST_TEST(watching.problem(view, decided.data()).find("their patterns are 1.3") !=
               std::string::npos);
    signal_check unscrambled(symbols, false);
    BOOST_TEST(unscrambled.problem(view, decided.data()) == "");
}

BOOST_AUTO_TEST_CASE(short_batches_are_judged_together)
{
    const model receiver = make_receiver();
    signal_check watching(receiver.symbols, true);
    std::vector<float> weak(4 * 128 + 44);
    for (std::size_t i = 0; i < weak.size(); ++i)
        weak[i] = 0.05f * samples[i];
    const auto found = [&] {
        return problem(watching, receiver, { weak.data(), 4, 44, 128 });
    };
    for (int i = 0; i < 3; ++i)
        BOOST_TEST(found() == "");
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(found() != "");
}

// PAM4 with noise, of kurtosis 1.64 without: random labels for decisions, so that only
// the samples tell.
BOOST_AUTO_TEST_CASE(noise_is_told_by_its_kurtosis_once_the_signal_is_known)
{
    std::mt19937 random(2);
    std::vector<std::uint8_t> labels(batch);
    std::vector<float> signal(4 * batch + 44);
    signal_check watching(constellation("pam4"), true);
    const auto found = [&](float level, float noise, float gain) {
        for (auto& label : labels)
            label = random() % 4;
        const auto background = next();
        for (std::size_t i = 0; i < signal.size(); ++i)
            signal[i] = gain * (level * (2.0f * labels[i / 4 % batch] - 3) +
                                noise * background.data[i]);
        return watching.problem({ signal.data(), 4, 44, batch }, labels.data());
    };
    // Noise from the start: nothing else is known.
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(found(0, 1, 1) == "");
    for (int i = 0; i < 400; ++i)
        BOOST_TEST(found(1, 0.3f, 1) == "");
    // Another gain is no noise, nor is a signal at 6 dB.
    for (int i = 0; i < 40; ++i)
        BOOST_TEST(found(1, i < 20 ? 0.3f : 1.12f, 0.1f) == "");
    int batches = 0;
    while (found(0, 1, 1).find("the samples are distributed like noise") != 0)
        BOOST_REQUIRE(++batches < 16);
    for (int i = 0; i < 400; ++i)
        BOOST_TEST(found(0, 1, 1) != "");
    batches = 0;
    while (found(1, 0.3f, 1) != "")
        BOOST_REQUIRE(++batches < 8);
}

BOOST_AUTO_TEST_SUITE_END()
