/* Cycle slips, detected by a line. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/slip_detector.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

using namespace gr::adann::core;

namespace {
constexpr double symmetry = M_PI / 2;
}

BOOST_AUTO_TEST_SUITE(slip_detectors)

BOOST_DATA_TEST_CASE(a_symmetry_is_a_slip_once_lines_have_predicted_the_phase,
                     boost::unit_test::data::make({ -1, 1, 2, 3 }),
                     symmetries)
{
    const double slipped = symmetries * symmetry;
    slip_detector detector(symmetry), fresh(symmetry);
    std::mt19937 random(1);
    std::normal_distribution<double> error(0, symmetry / 100);
    for (int i = 0; i < 8; ++i)
        BOOST_TEST(detector.find(error(random), false) == 0);
    BOOST_TEST(std::abs(detector.find(slipped + error(random), false) - slipped) < 1e-9);
    BOOST_TEST(fresh.find(slipped, false) == 0);
    BOOST_TEST(std::abs(slip_detector(symmetry).find(slipped, true) - slipped) < 1e-9);
}

BOOST_AUTO_TEST_CASE(a_whole_cycle_is_no_slip)
{
    BOOST_TEST(slip_detector(symmetry).find(4 * symmetry, true) == 0);
}

// An error of its own of an eighth of a symmetry: twice the largest rms that is accepted.
BOOST_AUTO_TEST_CASE(under_phase_noise_there_is_none)
{
    slip_detector detector(symmetry);
    for (int i = 0; i < 8; ++i)
        BOOST_TEST(detector.find((i % 2 ? 1 : -1) * symmetry / 8, false) == 0);
    BOOST_TEST(detector.find(symmetry, false) == 0);
}

BOOST_AUTO_TEST_CASE(between_two_symmetries_it_is_uncertain)
{
    BOOST_TEST(slip_detector(symmetry).find(1.3 * symmetry, true) == 0);
    BOOST_TEST(slip_detector(symmetry).find(1.2 * symmetry, true) > 0);
}

BOOST_AUTO_TEST_SUITE_END()
