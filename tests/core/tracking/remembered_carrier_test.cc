/* A carrier that is remembered and extrapolated. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/remembered_carrier.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

using namespace gr::adann::core;

namespace {

// A phase that advances steadily and walks, followed every 64 symbols.
struct walking_phase {
    double frequency, linewidth;
    std::mt19937 random;
    double at = 0, phase = 0;

    void follow(remembered_carrier& carrier, double symbols, double estimate)
    {
        constexpr double block = 64;
        std::normal_distribution<double> walk(0, std::sqrt(2 * M_PI * linewidth * block));
        for (double passed = 0; passed < symbols; passed += block) {
            at += block;
            phase += 2 * M_PI * frequency * block + (linewidth > 0 ? walk(random) : 0);
            carrier.follow(at, std::remainder(phase, 2 * M_PI), estimate);
        }
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(remembered_carriers)

BOOST_AUTO_TEST_CASE(a_steady_phase_is_extrapolated)
{
    remembered_carrier carrier;
    BOOST_TEST(!carrier.has_carrier());
    walking_phase sent{ 2e-4, 0, {} };
    sent.follow(carrier, 4096, 1e-4); // the first step is 0.6 rad off
    BOOST_TEST(carrier.has_carrier());
    BOOST_TEST(carrier.frequency() == 2e-4, boost::test_tools::tolerance(1e-9));
    const double later = sent.at + 5000;
    BOOST_TEST(
        std::remainder(carrier.phase_at(later) - sent.phase - 2 * M_PI * 2e-4 * 5000,
                       2 * M_PI) == 0,
        boost::test_tools::tolerance(1e-6));
    carrier.reset();
    BOOST_TEST(!carrier.has_carrier());
    BOOST_TEST(carrier.phase_at(later) == 0);
}

// Of eight steps the phase walks by √(2π·8192·linewidth): the frequency has that, over 2π·8192, as its deviation.
// Of 400 draws a mean square is 7 % off: 30 % with a probability of 2e-5.
BOOST_AUTO_TEST_CASE(phase_noise_is_averaged)
{
    constexpr double linewidth = 1e-6, symbols = 8192;
    double squares = 0;
    constexpr unsigned draws = 400;
    for (unsigned draw = 0; draw < draws; ++draw) {
        remembered_carrier carrier;
        walking_phase sent{ 5e-5, linewidth, std::mt19937(draw) };
        sent.follow(carrier, symbols + 64, 5e-5);
        squares += std::pow(carrier.frequency() - 5e-5, 2) / draws;
    }
    const double expected =
        2 * M_PI * linewidth * symbols / std::pow(2 * M_PI * symbols, 2);
    BOOST_TEST(squares > 0.7 * expected);
    BOOST_TEST(squares < 1.3 * expected);
}

BOOST_AUTO_TEST_CASE(a_frequency_that_steps_is_averaged_anew)
{
    remembered_carrier carrier;
    walking_phase sent{ 0, 1e-7, std::mt19937(1) };
    sent.follow(carrier, 8256, 0);
    sent.frequency = 1e-4;
    sent.follow(carrier, 3 * remembered_carrier::step, 1e-4);
    BOOST_TEST(std::abs(carrier.frequency() - 1e-4) < 1e-5);
}

// Beyond, the error would be a rotation of the constellation.
BOOST_AUTO_TEST_CASE(nothing_is_extrapolated_for_ever)
{
    remembered_carrier carrier;
    carrier.follow(100, 1, 3e-6);
    const double most = remembered_carrier::extrapolated_for;
    BOOST_TEST(carrier.phase_at(100 + most) == 1 + 2 * M_PI * 3e-6 * most,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(carrier.phase_at(100 + 20 * most) == carrier.phase_at(100 + most));
}

// The advance in an interruption is no step's.
BOOST_AUTO_TEST_CASE(a_stream_that_resumes_keeps_its_frequency)
{
    remembered_carrier carrier;
    walking_phase sent{ 1e-4, 0, {} };
    sent.follow(carrier, 8256, 1e-4);
    sent.at += 3000;
    sent.phase = 0.5; // another one than was extrapolated
    carrier.resume(sent.at, sent.phase, carrier.frequency());
    sent.follow(carrier, 2048, 0);
    BOOST_TEST(std::abs(carrier.frequency() - 1e-4) < 1e-9);
}

// 0.3 rad in 4096 symbols after as many that were averaged over: half of it is the frequency's.
BOOST_AUTO_TEST_CASE(an_interruption_shows_the_frequency)
{
    remembered_carrier carrier;
    walking_phase sent{ 1e-4, 0, {} };
    sent.follow(carrier, 4096 + 64, 1e-4);
    const double later = sent.at + 4096;
    BOOST_TEST(carrier.frequency_by(later, carrier.phase_at(later) + 0.3) ==
                   1e-4 + 0.3 / (2 * M_PI * 2 * 4096),
               boost::test_tools::tolerance(1e-6));
    BOOST_TEST(carrier.frequency_by(sent.at + 100, 2) == carrier.frequency());
}

BOOST_AUTO_TEST_SUITE_END()
