/* Noise whose power changes. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/local_noise.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

using namespace gr::adann::core;

namespace {

constexpr double chance = 2.0 / 16; // of 16 real symbols
constexpr int blocks = 20'000;

struct errors {
    double estimated = 0, shown = 0; // mean squares
};

// What 16 symbols of Gaussian noise show of their power, which has the mean 1.
errors errors_of(const std::function<double(int)>& power)
{
    std::mt19937 random(1);
    std::chi_squared_distribution<double> squares(16);
    std::vector<float> shown(blocks);
    for (int i = 0; i < blocks; ++i)
        shown[i] = static_cast<float>(power(i) * squares(random) / 16);
    local_noise noise(chance);
    errors found;
    for (int i = 1; i + 1 < blocks; ++i) {
        const local_noise::shown three{ shown[i - 1], shown[i], shown[i + 1] };
        if (i >= blocks / 4) {
            found.estimated += std::pow(noise.find(three) - power(i), 2);
            found.shown += std::pow(shown[i] - power(i), 2);
        }
        noise.add(three);
    }
    found.estimated /= blocks - blocks / 4;
    found.shown /= blocks - blocks / 4;
    return found;
}

} // namespace

BOOST_AUTO_TEST_SUITE(noise_of_blocks)

BOOST_AUTO_TEST_CASE(nothing_counts_before_the_first_block)
{
    BOOST_TEST(local_noise(chance).find({ 9, 9, 9 }) == 1);
}

// Over 512 blocks the variance that is learnt scatters by a seventeenth of the chance.
BOOST_AUTO_TEST_CASE(what_constant_noise_shows_by_chance_counts_for_little)
{
    const errors found = errors_of([](int) { return 1.0; });
    BOOST_TEST(std::abs(found.shown - chance) < 0.01);
    BOOST_TEST(found.estimated < chance / 50);
}

// Wiener: of independent blocks, of powers ½ and 3/2, what is shown weighs v / (v + (1 + v) chance), v = ¼.
BOOST_AUTO_TEST_CASE(of_independent_blocks_each_counts_for_itself)
{
    std::mt19937 random(2);
    std::vector<double> power(blocks);
    for (double& each : power)
        each = random() % 2 ? 0.5 : 1.5;
    const errors found = errors_of([&](int i) { return power[i]; });
    const double noise = 1.25 * chance, least = 0.25 * noise / (0.25 + noise);
    BOOST_TEST(found.estimated < 1.1 * least);
    BOOST_TEST(found.estimated > 0.9 * least);
}

// In a burst of many blocks each of three counts alike: a third of the variance, but for the ends.
BOOST_AUTO_TEST_CASE(of_long_bursts_neighbours_count_as_well)
{
    const errors found = errors_of([](int i) { return i / 50 % 2 ? 0.5 : 1.5; });
    BOOST_TEST(found.estimated < 0.55 * found.shown);
}

BOOST_AUTO_TEST_SUITE_END()
