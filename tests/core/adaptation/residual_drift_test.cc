/* A mean of the residual that moves.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/residual_drift.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>
#include <tuple>
#include <vector>

using namespace gr::adann::core;

namespace {

constexpr std::size_t batch = 512, batches = 16; // symbols

// The power of the mean of noise of variance 1 and of a sine of an amplitude and a period in symbols.
double
of(std::size_t sps, std::size_t planes, double amplitude, double period, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    residual_drift drift(sps, planes);
    std::vector<float> left(batch * sps * planes);
    for (std::size_t k = 0; k < batches; ++k) {
        for (std::size_t i = 0; i < left.size(); ++i) {
            const double at = static_cast<double>(k * left.size() + i) /
                              static_cast<double>(sps * planes);
            const double mean =
                i % planes ? 0 : amplitude * std::sin(2 * M_PI * at / period);
            left[i] = static_cast<float>(mean + normal(random));
        }
        drift.add(left.data(), batch);
    }
    return drift.power();
}

} // namespace

BOOST_AUTO_TEST_SUITE(the_drift_of_residuals)

// Beyond four standard deviations one of 30,000 is: a test in 150 has one of 200, in 45,000 two.
BOOST_AUTO_TEST_CASE(noise_alone_has_none)
{
    int moves = 0;
    for (unsigned seed = 1; seed <= 200; ++seed)
        moves += of(1 + seed % 4, 1 + seed % 2, 0, 1, seed) > 0;
    BOOST_TEST(moves <= 1);
}

// Of stretches that lie 16 symbols apart: half the amplitude's square, times the cosine of their phase, times what
// a mean over 16 symbols leaves.
BOOST_AUTO_TEST_CASE(a_mean_that_moves_is_as_large_as_it_was_made)
{
    for (const auto& [sps, planes, period] : { std::tuple{ 2, 1, 1500.0 },
                                               { 2, 2, 1500.0 },
                                               { 4, 1, 200.0 },
                                               { 1, 2, 200.0 } }) {
        constexpr double amplitude = 0.3;
        const double turn = 2 * M_PI * residual_drift::stretch / period;
        const double kept = std::sin(turn / 2) / (turn / 2);
        const double power = amplitude * amplitude / 2 * kept * kept * std::cos(turn);
        // Products of 500 pairs scatter by 0.012 at one sample a symbol: five of them.
        BOOST_TEST(std::abs(of(sps, planes, amplitude, period, 1) - power) <
                   0.02 / std::sqrt(sps));
    }
}

BOOST_AUTO_TEST_CASE(it_is_forgotten)
{
    residual_drift drift(2, 1);
    const std::vector<float> left(2 * batch, 0.1f);
    drift.add(left.data(), batch);
    BOOST_TEST(drift.power() > 0);
    drift.reset();
    BOOST_TEST(drift.power() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
