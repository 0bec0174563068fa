/* A carrier that was confirmed, extrapolated. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/settled_carrier.h"

#include <boost/test/unit_test.hpp>

#include <complex>

using namespace gr::adann::core;

namespace {
constexpr double frequency = 3e-4, phase = 1.1; // cycles per symbol; radians
constexpr std::size_t most = settled_carrier::extrapolated_for;

settled_carrier confirmed()
{
    settled_carrier carrier;
    carrier.pass(1000);
    carrier.set_phase(phase);
    carrier.set_frequency(frequency);
    carrier.confirm();
    return carrier;
}
} // namespace

BOOST_AUTO_TEST_SUITE(settled_carriers, *boost::unit_test::tolerance(1e-12))

BOOST_AUTO_TEST_CASE(it_is_confirmed_by_a_line_or_after_the_time_of_one)
{
    settled_carrier carrier;
    BOOST_TEST(!carrier.has_carrier());
    BOOST_TEST(!carrier.is_confirmed());
    BOOST_TEST(confirmed().has_carrier());
    BOOST_TEST(confirmed().is_confirmed());
    BOOST_TEST(confirmed().phase_before() == phase);
    carrier.set_phase(phase);
    BOOST_TEST(carrier.phase_before() == 0.0);
    carrier.pass(most + 1);
    BOOST_TEST(carrier.is_confirmed());
    BOOST_TEST(!carrier.is_by_line());
}

BOOST_AUTO_TEST_CASE(the_phase_is_extrapolated_for_a_limited_time)
{
    settled_carrier carrier = confirmed();
    carrier.pass(500);
    BOOST_TEST(carrier.since() == 500.0);
    BOOST_TEST(carrier.phase() == phase + 2 * M_PI * frequency * 500);
    BOOST_TEST(carrier.is_recent());
    carrier.pass(2 * most);
    BOOST_TEST(!carrier.is_recent());
    BOOST_TEST(carrier.phase() == phase + 2 * M_PI * frequency * most);
    carrier.forget();
    BOOST_TEST(!carrier.has_carrier());
    BOOST_TEST(carrier.passed() == 1500 + 2 * most);
}

// The phase is that of the next symbol: earlier samples have had less.
BOOST_AUTO_TEST_CASE(samples_rotate_by_it)
{
    constexpr unsigned sps = 4;
    const sample_history history({ sps, 1, true }, 0, 1, 4, 64, 64);
    const settled_carrier carrier = confirmed();
    const std::size_t n = 40, first = history.sample(history.next()) - 30;
    planes samples(n, true);
    std::fill(samples.re.begin(), samples.re.end(), 2.0f);
    for (const double way : { 1.0, -1.0 }) {
        carrier.rotate(history, samples, first, n, way);
        for (std::size_t i = 0; i < n; ++i) {
            const double angle = phase + 2 * M_PI * frequency * (double(i) - 30) / sps;
            const auto expected = std::polar(2.0, way > 0 ? angle : 0);
            BOOST_TEST(std::abs(std::complex<double>(samples.re[i], samples.im[i]) -
                                expected) < 1e-6);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
