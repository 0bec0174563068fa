/* Pauses of a transmitter. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/pause_detector.h"
#include "receivers.h"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <random>

using namespace gr::adann::core;

namespace {

constexpr std::size_t group = pause_detector::group;

// PAM4, four equal samples a symbol, with noise of 0.1.
struct transmitter {
    const model receiver = make_followed_receiver();
    pause_detector pauses{ *receiver.waveform, receiver.window };
    std::mt19937 random{ 1 };
    float level = 1, noise = 0.1f;

    // \return symbols after which one was found within as many
    std::size_t send(std::size_t symbols, bool is_on)
    {
        std::vector<float> samples(receiver.window.dimension());
        std::normal_distribution<float> draw(0, noise);
        const auto points = receiver.symbols.unit_points();
        std::size_t found = 0;
        for (std::size_t k = 0; k < symbols; ++k) {
            const float point = is_on ? level * points[random() % 4].real() : 0;
            for (std::size_t i = 20; i < 24; ++i) // the window has five symbols before
                samples[i] = point + draw(random);
            pauses.add(receiver.window.view(samples.data(), 1));
            found += pauses.is_within(1);
        }
        return found;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(detecting_pauses, transmitter)

// Eight symbols of the two inner levels come once in 256 groups, two groups of these once in 65,536.
BOOST_AUTO_TEST_CASE(data_has_none)
{
    BOOST_TEST(send(8192, true) == 0u);
    BOOST_TEST(pauses.part() == 0);
    BOOST_TEST(!pauses.is_within(100'000));
}

BOOST_AUTO_TEST_CASE(a_pause_is_found_with_its_second_group)
{
    send(1600, true);
    BOOST_TEST(send(group, false) == 0u);
    BOOST_TEST(pauses.since_quiet() == 0u);
    BOOST_TEST(send(10 * group, false) > 9 * group - 2);
    send(5 * group, true);
    BOOST_TEST(pauses.since_quiet() == 5 * group);
    BOOST_TEST(pauses.is_within(5 * group));
    BOOST_TEST(!pauses.is_within(4 * group));
    BOOST_TEST(pauses.part() == 10 * group / double{ pause_detector::remembered },
               boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(any_level_is_known)
{
    for (const float scale : { 0.01f, 100.0f }) {
        transmitter other;
        other.level = scale;
        other.noise = 0.1f * scale;
        BOOST_TEST(other.send(1600, true) == 0u);
        BOOST_TEST(other.send(64, false) > 40u);
    }
}

BOOST_AUTO_TEST_CASE(a_level_that_has_dropped_is_no_pause_for_ever)
{
    send(1600, true);
    level = 0.1f;
    noise = 0.01f;
    BOOST_TEST(send(pause_detector::longest, true) > 1000u);
    send(pause_detector::longest, true);
    BOOST_TEST(send(8192, true) == 0u);
    BOOST_TEST(send(64, false) > 40u);
}

// The level falls by e in four times as many symbols.
BOOST_AUTO_TEST_CASE(a_long_pause_is_found_as_long_as_the_level_allows)
{
    noise = 0.05f;
    send(1600, true);
    BOOST_TEST(send(pause_detector::longest, false) > 3000u);
}

// A burst of 15 dB more in a tenth of the time, as of a radar.
BOOST_AUTO_TEST_CASE(strong_interference_makes_no_pauses)
{
    send(1600, true);
    for (int i = 0; i < 10; ++i) {
        noise = 4;
        send(200, true);
        noise = 0.1f;
        BOOST_TEST(send(1800, true) == 0u);
    }
}

// A level that had followed it would make a pause of the 3000 symbols after it.
BOOST_AUTO_TEST_CASE(nor_does_interference_that_lasts)
{
    send(1600, true);
    noise = 4;
    send(8192, true);
    noise = 0.1f;
    BOOST_TEST(send(8192, true) == 0u);
    BOOST_TEST(send(64, false) > 40u);
}

// From noise alone on, also of a signal that is 40 dB stronger than the model's; pauses have less than its noise.
BOOST_AUTO_TEST_CASE(packets_raise_the_level)
{
    for (const float scale : { 1.0f, 100.0f }) {
        transmitter other;
        other.level = scale;
        other.noise = 0.1f * scale;
        other.send(8192, false);
        for (std::size_t k = 0; k < 2 * pause_detector::loudest; k += 655) {
            other.send(524, true);
            other.send(131, false);
        }
        BOOST_TEST(other.send(524, true) < 20u);
        BOOST_TEST(other.send(128, false) > 100u);
    }
}

BOOST_AUTO_TEST_CASE(what_lasts_longer_is_no_pause)
{
    send(1600, true);
    noise = 0;
    BOOST_TEST(send(pause_detector::longest + 2 * group, false) > 4000u);
    BOOST_TEST(send(100'000, false) == 0u);
}

BOOST_AUTO_TEST_CASE(noise_beyond_the_limit_is_no_pause)
{
    noise = 0.5f;
    send(1600, true);
    BOOST_TEST(send(1600, false) == 0u);
}

BOOST_AUTO_TEST_CASE(samples_that_are_no_numbers_say_nothing)
{
    send(1600, true);
    std::vector<float> samples(receiver.window.dimension(),
                               std::numeric_limits<float>::quiet_NaN());
    for (std::size_t k = 0; k < 64; ++k)
        pauses.add(receiver.window.view(samples.data(), 1));
    BOOST_TEST(!pauses.is_within(1600));
    BOOST_TEST(std::isfinite(pauses.now().level));
    BOOST_TEST(send(64, false) > 40u);
}

BOOST_AUTO_TEST_CASE(another_one_goes_on)
{
    send(1603, true);
    tensor_file saved;
    archive to = archive::saving(saved, "pauses");
    pause_detector::found now = pauses.now();
    now.state(to);
    archive from = archive::restoring(saved, "pauses");
    pause_detector::found restored;
    restored.state(from);
    transmitter other;
    other.pauses.go_on(restored);
    other.random = random;
    for (int i = 0; i < 20; ++i) {
        BOOST_TEST(send(7, i % 4) == other.send(7, i % 4));
        BOOST_TEST(pauses.since_quiet() == other.pauses.since_quiet());
    }
}

BOOST_AUTO_TEST_SUITE_END()
