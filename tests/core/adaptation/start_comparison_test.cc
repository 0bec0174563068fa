/* Labels of two blind starts, compared. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/start_comparison.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

using namespace gr::adann::core;

BOOST_AUTO_TEST_SUITE(start_comparisons)

/* Of labels with a part p of wrong ones, drawn at random, the residual is that of the noise and of
 * nearly the whole signal in p. */
BOOST_AUTO_TEST_CASE(labels_with_less_than_half_of_the_residual_are_better)
{
    constexpr std::size_t count = 4096;
    constexpr float noise = 0.05f;
    const model signal(network({ 3, 2 }), 1, 1, false, "pam2");
    const auto points = signal.symbols.unit_points();
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, std::sqrt(noise));
    std::vector<std::uint8_t> sent(count), wrong(count), rarely(count);
    std::vector<float> samples(count + 2);
    for (std::size_t k = 0; k < count; ++k) {
        sent[k] = static_cast<std::uint8_t>(random() % 2);
        wrong[k] = random() % 3 ? sent[k] : static_cast<std::uint8_t>(random() % 2);
        rarely[k] = random() % 200 ? sent[k] : static_cast<std::uint8_t>(random() % 2);
        samples[k + 1] = points[sent[k]].real() + normal(random);
    }
    const auto compared_with = [&](const std::vector<std::uint8_t>& in_use) {
        start_symbols symbols(signal.window, 2);
        symbols.add(signal.window.view(samples.data(), count), nullptr);
        symbols.add_in_use(in_use.data(), count);
        return residual_ratio(symbols, signal, sent);
    };
    // A third of the labels is drawn, half of them wrongly: the waveform is 2/3 of the signal.
    const double expected = (noise + 1 - 4.0 / 9) / noise;
    const auto ratio = compared_with(wrong);
    BOOST_REQUIRE(ratio.has_value());
    // Over 1024 symbols it scatters by 0.07: 5 % from the number of wrong labels, 4.4 % from the noise.
    BOOST_TEST(std::abs(*ratio / expected - 1) < 0.28);
    BOOST_TEST(!compared_with(sent));
    BOOST_TEST(!compared_with(rarely)); // its residual is larger by a fifth
}

BOOST_AUTO_TEST_SUITE_END()
