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

// Of 4000 streams without a carrier 91 left the loop of zero phase for some of their first 64 steps, when the averages of
// these counted as later ones; 15 do. Forty have a probability of 1e-7.
BOOST_AUTO_TEST_CASE(a_phase_of_zero_is_kept_in_the_first_steps)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.05f);
    int left = 0;
    for (int stream = 0; stream < 4000; ++stream) {
        phase_bank bank(2, 0.25f);
        bool moves = false;
        for (int step = 0; step < 64; ++step) {
            bank.measure(normal(random));
            moves |= !bank.idle();
        }
        left += moves;
    }
    BOOST_TEST(left < 40);
}

// A carrier of 3e-4 cycles a symbol is within 0.25 radians of zero for eight steps, where the loop of zero phase may
// have the least error by chance. Left to it, labels would rotate.
BOOST_AUTO_TEST_CASE(a_slow_line_that_is_known_is_kept)
{
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal(0, 0.2f);
        phase_bank bank(2, 0.38f);
        bank.set({ 0, 0.03f }, 64);
        for (int step = 1; step < 200; ++step) {
            bank.measure(wrapped(0.03f * static_cast<float>(step) + normal(random)),
                         phase_reference::labels);
            BOOST_REQUIRE(!bank.idle());
        }
    }
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
            bank.measure(normal(random), phase_reference::means);
        BOOST_TEST(bank.idle());
        float phase = 0;
        while (bank.idle() && phase < 1)
            bank.measure(std::sin(8 * (phase += 1e-3f)) / 8 + normal(random),
                         phase_reference::means);
        BOOST_TEST(phase < 0.31f);
    }
}

/* A carrier that is there from the first step, of 8PSK with one wrong symbol in twenty: it turns a slicer's labels
 * after 49 steps. The noise of a step is a sixth of what decisions tolerate, so few of them are evidence enough. */
BOOST_AUTO_TEST_CASE(a_carrier_of_the_first_step_is_followed_before_labels_turn)
{
    constexpr float noise = 0.065f;
    for (unsigned seed = 0; seed < 50; ++seed) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal(0, noise);
        phase_bank turning(2, 0.39f), resting(2, 0.39f);
        float phase = 0;
        for (; turning.idle() && phase < 1; phase += 8e-3f)
            turning.measure(std::sin(8 * phase) / 8 + normal(random),
                            phase_reference::means);
        BOOST_TEST(phase < 0.26f); // two thirds of what is tolerated
        for (int step = 0; step < 2000; ++step)
            resting.measure(normal(random), phase_reference::means);
        BOOST_TEST(resting.idle());
    }
}

// Steps without a measurement are no evidence of the noise: a variance of seven steps is not one of a thousand.
BOOST_AUTO_TEST_CASE(after_a_pause_noise_is_no_phase_either)
{
    unsigned moved = 0;
    for (unsigned seed = 0; seed < 50; ++seed) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal(0, 0.065f);
        phase_bank bank(2, 0.134f); // 32APSK
        for (int step = 0; step < 7; ++step)
            bank.measure(normal(random));
        for (int step = 0; step < 1000; ++step)
            bank.skip();
        for (int step = 0; step < 500; ++step) {
            bank.measure(normal(random), phase_reference::means);
            moved += !bank.idle();
        }
    }
    BOOST_TEST(moved == 0u);
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
        bank.measure(wrapped(phase += 1e-3f) + normal(random), phase_reference::means);
        const float off = wrapped(bank.in_use().phase - phase);
        wrong += step < steps / 2 ? 0 : off * off;
    }
    // A tenth of the noise would take a loop of θ = 0.993; that of 0.98 has (5/4) (1 - θ) of it, 0.025.
    BOOST_TEST(wrong / (steps / 2) < 0.04 * 0.2 * 0.2);
}

/* A phase that walks, of 8PSK with one wrong symbol in seven: decisions show it periodically, and a loop that
 * passes much noise slips to the next symmetry. A closed form for loops alike says that one of α = 0.12 has
 * an error of 0.1 rad, so that an eighth of a turn, 0.39 rad, is passed rarely. */
BOOST_AUTO_TEST_CASE(loops_that_pass_too_much_noise_are_not_used)
{
    constexpr float step = 0.031f, noise = 0.22f,
                    symmetry = 2 * static_cast<float>(M_PI) / 8;
    std::size_t slips = 0;
    for (unsigned seed = 0; seed < 10; ++seed) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal;
        phase_bank bank(2, 0.38f);
        bank.set({ 0, 0 });
        float phase = 0, turned = 0;
        for (int k = 0; k < 10'000; ++k) {
            phase = wrapped(phase + step * normal(random));
            const float predicted = bank.in_use().phase + 2 * bank.in_use().growth;
            const float off =
                std::sin(8 * (phase - predicted)) / 8 + noise * normal(random);
            bank.measure(wrapped(predicted + off), phase_reference::means);
            const float aside = wrapped(bank.in_use().phase - phase - turned);
            if (k > 1000 && std::abs(aside) > 0.75f * symmetry) {
                ++slips;
                turned = symmetry * std::nearbyint((aside + turned) / symmetry);
            }
        }
    }
    BOOST_TEST_MESSAGE("slips: " << slips);
    BOOST_TEST(slips < 100u);
}

// What a step of posterior means leaves is its quadrature part over the power that is expected, whatever the size
// of the sum, within a radian.
BOOST_AUTO_TEST_CASE(what_uncertain_decisions_leave_is_linear_in_the_phase)
{
    constexpr std::size_t sps = 2, n = carrier::step * sps;
    constexpr float power = 1.5f;
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    std::vector<float> expected(2 * n), samples(2 * n);
    carrier tracked(n, sps, 9, 0.7f); // two steps ahead
    tracked.begin(0, 0.1, 0);
    phase_bank bank(2, 0.7f);
    bank.set({ 0.1f, 0 });
    float furthest = 0;
    for (int k = 0; k < 200; ++k) {
        tracked.prepare(0, n);
        double quadrature = 0;
        for (std::size_t i = 0; i < 2 * n; i += 2) {
            const std::complex<float> mean(0.2f + normal(random), 0.2f + normal(random));
            const std::complex<float> sample(1 + normal(random), normal(random));
            expected[i] = mean.real();
            expected[i + 1] = mean.imag();
            samples[i] = sample.real();
            samples[i + 1] = sample.imag();
            const auto turned =
                tracked.rotation(i / 2) * std::conj(tracked.rotation(n / 2));
            quadrature += (sample * std::conj(mean) * turned).imag();
        }
        const double left = std::clamp(quadrature / (power * n), -1.0, 1.0);
        const float taken_off = std::arg(tracked.rotation(n / 2));
        bank.measure(wrapped(taken_off + static_cast<float>(left)),
                     phase_reference::means);
        tracked.measure_by_means(expected.data(), samples.data(), 0, power);
        furthest =
            std::max(furthest, std::abs(wrapped(tracked.phase() - bank.in_use().phase)));
    }
    BOOST_TEST(furthest < 1e-4f);
}

/* As often as it is, counted: a walk of normal steps, measured with noise. Of 30,000 steps some 900 are beyond
 * 2.2 deviations of the error; those follow one another, so that a count scatters by a tenth. */
BOOST_AUTO_TEST_CASE(phases_are_as_far_off_as_is_said)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    phase_bank bank(2, 0.38f);
    BOOST_TEST(bank.probability_beyond(0.1) == 0);
    bank.set({ 0, 0 });
    float phase = 0;
    std::vector<phase_line> before;
    constexpr std::size_t steps = 30000, first = 2000;
    for (const float beyond : { 0.3f, 0.4f }) {
        std::size_t counted = 0;
        double said = 0;
        for (std::size_t k = 0; k < steps; ++k) {
            phase += 0.07f * normal(random);
            const float measured = phase + 0.05f * normal(random);
            if (k >= first) {
                const phase_line& line = before[before.size() - 2];
                counted +=
                    std::abs(wrapped(measured - line.phase - 2 * line.growth)) > beyond;
                said += bank.probability_beyond(beyond);
            }
            bank.measure(wrapped(measured));
            before.push_back(bank.in_use());
        }
        BOOST_TEST_CONTEXT(beyond)
        BOOST_TEST(std::abs(static_cast<double>(counted) / said - 1) < 0.3);
    }
}

BOOST_AUTO_TEST_SUITE_END()
