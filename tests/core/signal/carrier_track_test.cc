/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/carrier_track.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

using namespace gr::adann::core;
using complex = std::complex<double>;

namespace {

struct stretch {
    std::vector<complex> symbols;
    std::vector<double> phase; // that was put in
};

// Uniform points of unit power that turn and wander, in noise.
stretch drawn(const constellation& alphabet,
              double frequency,
              double wander,
              double snr,
              std::size_t n = 4096,
              unsigned seed = 1)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    double power = 0, wandered = 0;
    for (const auto& point : alphabet.points())
        power += std::norm(point) / static_cast<double>(alphabet.size());
    stretch all;
    for (std::size_t i = 0; i < n; ++i) {
        wandered += wander * normal(random);
        const double phase = 2 * M_PI * frequency * static_cast<double>(i) + wandered;
        const complex point(alphabet.points()[random() % alphabet.size()]);
        const double noise = std::pow(10, -snr / 20) / std::sqrt(2);
        all.phase.push_back(phase);
        all.symbols.push_back(point / std::sqrt(power) * std::polar(1.0, phase) +
                              noise * complex(normal(random), normal(random)));
    }
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(carrier_tracks)

BOOST_AUTO_TEST_CASE(the_power_tells_a_carrier_up_to_a_symmetry)
{
    for (const char* name : { "bpsk", "qpsk", "16qam" }) {
        const auto symbols = constellation(name);
        const auto order = static_cast<double>(symbols.symmetries().size());
        for (const double frequency : { 3.1e-3, -3e-2, 0.1 }) {
            const stretch signal = drawn(symbols, frequency, 0.003, 18);
            const carrier_track track = track_power(signal.symbols, symbols);
            BOOST_REQUIRE(!track.stands() && track.turns());
            // The wandering moves it by 0.003 / (2π √4096) = 7.5e-6.
            BOOST_TEST(std::abs(track.frequency - frequency) < 4e-5);
            double squares = 0;
            for (std::size_t i = 0; i < 4096; ++i) {
                const double left =
                    std::remainder(track.phase[i] - signal.phase[i], 2 * M_PI / order);
                squares += left * left / 4096;
            }
            // A tenth of what decides between the points of 16QAM, 17 degrees.
            BOOST_TEST(std::sqrt(squares) < 0.06);
        }
    }
}

// The line of 16 points on two rings is of the inner four alone: the mean of 128 powers hardly exceeds its noise.
// A slip is a quarter of a cycle.
BOOST_AUTO_TEST_CASE(a_faint_carrier_does_not_slip)
{
    const constellation symbols("16apsk");
    const double wander = std::sqrt(2 * M_PI * 1e-6);
    for (unsigned seed = 1; seed <= 10; ++seed) {
        const stretch signal = drawn(symbols, 1e-4, wander, 12, 32768, seed);
        const carrier_track track = track_power(signal.symbols, symbols);
        BOOST_REQUIRE(!track.stands());
        const auto error = [&](std::size_t i) {
            return track.phase[i] - signal.phase[i];
        };
        BOOST_TEST(std::abs(std::remainder(error(32767) - error(0), 2 * M_PI)) < 0.4);
    }
}

BOOST_AUTO_TEST_CASE(what_stands_still_is_left_alone)
{
    for (const char* name : { "qpsk", "16qam" }) {
        const auto symbols = constellation(name);
        BOOST_TEST(track_power(drawn(symbols, 0, 0, 18).symbols, symbols).stands());
    }
}

// A ring that turns, by half a turn of the power or more, or at random, is no phase that stands.
BOOST_AUTO_TEST_CASE(one_phase_is_told_from_a_ring)
{
    struct sample {
        const char* name;
        double frequency, wander, snr;
        bool stands;
    };
    for (const auto& [name, frequency, wander, snr, stands] : {
             sample{ "qpsk", 0, 0, 5, true },
             sample{ "8psk", 0, 0, 14, true },
             sample{ "16qam", 0, 0, 15, true },
             sample{ "64qam", 0, 0, 25, true },
             sample{ "bpsk", 0, 0.003, 10, true },
             sample{ "qpsk", 1.0 / 8 / 4096, 0, 15, false },
             sample{ "qpsk", 0.003, 0, 15, false },
             sample{ "16qam", 0.1, 0, 25, false },
             sample{ "qpsk", 0, 0.5, 15, false },
             sample{ "16qam", 0, 0.5, 25, false },
         }) {
        const auto symbols = constellation(name);
        BOOST_TEST_CONTEXT(name << ", " << frequency << " cycles a symbol, wandering "
                                << wander)
        BOOST_TEST(phase_stands(drawn(symbols, frequency, wander, snr).symbols,
                                symbols) == stands);
    }
}

BOOST_AUTO_TEST_CASE(noise_has_no_line)
{
    std::mt19937 random(2);
    std::normal_distribution<double> normal;
    std::vector<complex> noise(4096);
    for (auto& each : noise)
        each = { normal(random), normal(random) };
    BOOST_TEST(track_power(noise, constellation("16qam")).stands());
    BOOST_TEST(!phase_stands(noise, constellation("16qam")));
}

BOOST_AUTO_TEST_SUITE_END()
