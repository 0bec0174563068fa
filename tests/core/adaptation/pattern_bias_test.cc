/* Whether what is left of symbols is noise.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/pattern_bias.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

using namespace gr::adann::core;

namespace {

constexpr std::size_t around = 2, round_of = 8192; // symbols

// What a round says of noise of variance 1, and of a bias that labels around decide.
struct drawn {
    template <typename bias_of>
    drawn(std::size_t classes, std::size_t dimensions, unsigned seed, bias_of bias)
        : found(classes, dimensions)
    {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal;
        std::vector<std::uint8_t> labels(round_of + 2 * around);
        for (auto& label : labels)
            label = static_cast<std::uint8_t>(random() % classes);
        for (std::size_t i = 0; i < round_of; ++i) {
            BOOST_TEST(!found.known());
            const std::uint8_t* own = &labels[around + i];
            const float left[2] = { normal(random) + bias(own, 0),
                                    normal(random) + bias(own, 1) };
            found.add(own, left);
        }
        BOOST_TEST(found.known());
    }
    pattern_bias found;
};

float no_bias(const std::uint8_t*, std::size_t) { return 0; }

} // namespace

BOOST_AUTO_TEST_SUITE(the_bias_of_patterns)

/* Of p patterns of n symbols the estimate has the deviation √(2 / (p n (n - 1) dimensions)), by
 * chance alone: 16QAM, 4096 patterns of 2, 0.8 %; PAM4, 1024 of 8, 0.6 %; PAM2, 32 of 256, 0.1 %. Five of them
 * are allowed: a test in 300,000 fails. */
BOOST_AUTO_TEST_CASE(noise_alone_has_none)
{
    for (const auto& [classes, dimensions, deviation] : { std::tuple{ 16, 2, 0.008 },
                                                          { 4, 1, 0.006 },
                                                          { 2, 1, 0.001 },
                                                          { 64, 2, 0.008 } })
        BOOST_TEST(drawn(classes, dimensions, 1, no_bias).found.part() < 5 * deviation);
}

// The part is that of the variances, whichever of the labels around decides.
BOOST_AUTO_TEST_CASE(a_bias_is_as_large_as_it_was_made)
{
    const auto bias = [](const std::uint8_t* own, std::size_t dimension) {
        return 0.4f * (own[-1] % 2 == own[0] % 2 ? 1.0f : -1.0f) *
               (own[1] % 2 && dimension ? -1.0f : 1.0f);
    };
    const double part = 0.16 / 1.16;
    for (const auto& [classes, dimensions, most] :
         { std::tuple{ 16, 2, 0.03 }, { 4, 1, 0.02 } }) {
        constexpr unsigned draws =
            8; // of some 0.012 each: six standard deviations, and five
        double found = 0;
        for (unsigned seed = 0; seed < draws; ++seed)
            found += drawn(classes, dimensions, 2 + seed, bias).found.part() / draws;
        BOOST_TEST(std::abs(found - part) < most);
    }
}

BOOST_AUTO_TEST_CASE(a_bias_in_time_is_none)
{
    std::size_t time = 0; // a phase that turns, for example
    const auto bias = [&](const std::uint8_t*, std::size_t) {
        return std::sin(0.01f * static_cast<float>(time++));
    };
    BOOST_TEST(drawn(16, 2, 4, bias).found.part() < 0.04);
}

BOOST_AUTO_TEST_CASE(another_round_starts_afresh)
{
    drawn of(4, 1, 5, [](const std::uint8_t* own, std::size_t) {
        return own[0] % 2 ? 1.0f : -1.0f;
    });
    BOOST_TEST(of.found.part() > 0.4);
    std::mt19937 random(6);
    std::normal_distribution<float> normal;
    std::vector<std::uint8_t> labels(2 * around + 1);
    for (std::size_t i = 0; i < round_of; ++i) {
        for (auto& label : labels)
            label = random() % 4;
        const float left = normal(random);
        BOOST_TEST(of.found.part() > 0.4);
        of.found.add(&labels[around], &left);
    }
    BOOST_TEST(of.found.part() < 0.03);
    of.found.reset();
    BOOST_TEST(!of.found.known());
}

// That of the round before would stand for up to 32,768 symbols. Its part is 0.39, of which four deviations of
// chance, 0.011 each in half a round of PAM4, are not sure.
BOOST_AUTO_TEST_CASE(a_bias_that_begins_is_not_hidden_by_the_round_before)
{
    constexpr std::size_t classes = 4;
    pattern_bias found = drawn(classes, 1, 1, no_bias).found;
    const double before = found.part();
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    std::vector<std::uint8_t> labels(round_of + 2 * around);
    for (auto& label : labels)
        label = static_cast<std::uint8_t>(random() % classes);
    for (std::size_t i = 0; i < round_of / 2; ++i) {
        const std::uint8_t* own = &labels[around + i];
        const float left = normal(random) + (own[0] % 2 ? 0.8f : -0.8f);
        found.add(own, &left);
    }
    BOOST_TEST(before < 0.03);
    BOOST_TEST(std::abs(found.part() - 0.39) < 0.08);
}

BOOST_AUTO_TEST_SUITE_END()
