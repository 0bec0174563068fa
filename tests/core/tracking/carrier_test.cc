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

BOOST_AUTO_TEST_SUITE_END()
