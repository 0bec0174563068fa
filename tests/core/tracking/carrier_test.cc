/* A carrier's phase, foretold and measured. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/carrier.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>

using namespace gr::adann::core;

BOOST_AUTO_TEST_SUITE(carriers)

// Of a tone without noise, sample for sample: the straight lines through what was measured.
BOOST_AUTO_TEST_CASE(samples_are_turned_to_the_phase_that_was_measured)
{
    constexpr std::size_t sps = 2, step = carrier::step * sps, steps = 40;
    const std::vector<float> expected = [] {
        std::vector<float> ones(2 * step);
        for (std::size_t i = 0; i < ones.size(); i += 2)
            ones[i] = 1;
        return ones;
    }();
    std::mt19937 random(1);
    std::normal_distribution<double> normal(0, 0.1);
    carrier tracked(steps * step, sps, 9, 0.7f);
    tracked.begin(0.011, 1, 0); // turns a symbol
    std::vector<float> rotated(2 * steps * step);
    double phase = 1, worst = 0, worst_foretold = 0;
    for (std::size_t k = 0; k < steps; ++k) {
        const std::size_t first = k * step;
        tracked.prepare(first, first + step);
        phase += normal(random);
        for (std::size_t i = first; i < first + step; ++i) {
            const double growth = 2 * M_PI * 0.011 / sps * static_cast<double>(i);
            const auto sample = std::polar(1.0f, static_cast<float>(phase + growth)) *
                                std::conj(tracked.rotation(i));
            rotated[2 * i] = sample.real();
            rotated[2 * i + 1] = sample.imag();
        }
        const float before = tracked.phase();
        tracked.measure(expected.data(), &rotated[2 * first], first);
        if (k < steps / 2)
            continue;
        const phase_path path = tracked.measured();
        BOOST_TEST(path.middle == first + step / 2);
        BOOST_TEST((path.line.phase == tracked.phase()));
        if (path.before != before)
            continue; // another loop has come into use
        std::vector<float> turned(4 * step);
        tracked.turn_to(
            path, &rotated[2 * (first - step)], first - step, 2 * step, turned.data());
        for (std::size_t i = first - step / 2; i < first + step; ++i) {
            const double later = (static_cast<double>(i) - static_cast<double>(first) -
                                  static_cast<double>(step) / 2) /
                                 static_cast<double>(step);
            const double between = std::remainder(
                path.line.phase - double{ before } - path.line.growth, 2 * M_PI);
            const double along =
                path.line.phase + later * (path.line.growth + (later < 0 ? between : 0));
            const auto received =
                std::complex<double>(rotated[2 * i], rotated[2 * i + 1]) *
                std::complex<double>(tracked.rotation(i));
            const auto wanted = received * std::polar(1.0, -along);
            const std::size_t at = 2 * (i + step - first);
            worst = std::max(
                worst,
                std::abs(std::complex<double>(turned[at], turned[at + 1]) - wanted));
            worst_foretold = std::max(
                worst_foretold,
                std::abs(std::complex<double>(rotated[2 * i], rotated[2 * i + 1]) -
                         wanted));
        }
    }
    BOOST_TEST(worst < 1e-5);
    BOOST_TEST(worst_foretold > 0.03); // the prediction is another phase
}

// Loops that follow noise lead now and then by chance; used, they would turn the signal. A phase that
// surely moves is followed within the steps that its evidence takes.
BOOST_AUTO_TEST_CASE(noise_is_no_phase_that_moves)
{
    std::mt19937 random(2);
    std::normal_distribution<float> normal(0, 0.1f); // radians, of QPSK at 5 dB
    phase_bank bank(2, 0.7f);
    std::size_t used = 0;
    for (int step = 0; step < 100'000; ++step) {
        bank.measure(normal(random));
        used += !bank.idle();
    }
    BOOST_TEST(
        used <
        200u); // in one of ten streams some 20, where neighbours in time are nearly one look
    int steps = 0;
    for (float phase = 0; bank.idle() && steps < 1000; ++steps)
        bank.measure(wrapped(phase += 0.05f));
    BOOST_TEST(steps < 16);
}

/* Uncertain decisions show a phase less, and half-way to the next symmetry not at all. A slow one is seen over
 * many steps before that: by a twentieth of a turn, 314 steps, that have 2.8 times the evidence asked for. */
BOOST_AUTO_TEST_CASE(a_slow_phase_is_found_though_a_step_hardly_shows_it)
{
    constexpr float noise = 0.12f; // radians, of a step
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal(0, noise);
        phase_bank bank(2, 0.38f);
        for (int step = 0; step < 2000; ++step) // a link without a carrier
            bank.measure(normal(random), true);
        BOOST_TEST(bank.idle());
        float phase = 0;
        while (bank.idle() && phase < 1)
            bank.measure(std::sin(8 * (phase += 1e-3f)) / 8 + normal(random), true);
        BOOST_TEST(phase < 0.31f);
    }
}

// … and the loop that is best for long is in use: the narrowest of a phase that is steady but for noise.
BOOST_AUTO_TEST_CASE(of_a_steady_phase_a_narrow_loop_is_in_use)
{
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 0.2f);
    phase_bank bank(2, 0.7f);
    bank.set({ 0, 1e-3f });
    float phase = 0;
    double wrong = 0;
    constexpr int steps = 20'000;
    for (int step = 0; step < steps; ++step) {
        bank.measure(wrapped(phase += 1e-3f) + normal(random), true);
        const float off = wrapped(bank.in_use().phase - phase);
        wrong += step < steps / 2 ? 0 : off * off;
    }
    // A tenth of the noise would take a loop of θ = 0.993; that of 0.98 has (5/4) (1 - θ) of it, 0.025.
    BOOST_TEST(wrong / (steps / 2) < 0.04 * 0.2 * 0.2);
}

BOOST_AUTO_TEST_SUITE_END()
