/* How labels lie, by the channel that there was before.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/last_channel.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <complex>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;
using complex = std::complex<float>;

namespace {

constexpr std::size_t sps = 2, taps = 25, pitch = 32;

// A symbol is its middle sample, and nothing else.
expected_waveform
own_sample(const constellation& symbols, bool is_complex, unsigned memory)
{
    expected_waveform waveform(symbols, sps, is_complex, 1, 0, memory);
    std::vector<float> affine(waveform.rows() * waveform.stride());
    const std::size_t dimensions = symbols.is_complex() ? 2 : 1;
    for (std::size_t d = 0; d < dimensions; ++d)
        affine[(1 + dimensions + d) * waveform.stride() + (is_complex ? 2 + d : 1)] = 1;
    waveform.set(affine, std::vector<float>(waveform.table().size()), 0.1f);
    return waveform;
}

// Two rays, of which labels that are so late and turned show the second one sooner.
struct rays {
    std::vector<float> filter = std::vector<float>(2 * pitch);

    rays(complex first, complex second, int late = 0, float turned = 0)
    {
        // Samples behind the middle tap see what came before.
        put(taps / 2 + static_cast<int>(sps) * late, first * std::polar(1.0f, turned));
        put(taps / 2 + static_cast<int>(sps) * (late - 1),
            second * std::polar(1.0f, turned));
    }
    void put(std::size_t tap, complex value)
    {
        filter[tap] = value.real();
        filter[pitch + tap] = value.imag();
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(last_channels)

// Labels l(t) = s(t - late), turned back by some quarters, see a channel that is as much early and
// turned. By the closed form an echo of 0.55 that turns by half a turn leaves 1 - 0.55^2 of
// the likeness in place, 0.55 a symbol aside.
BOOST_DATA_TEST_CASE(the_displacement_is_found_where_the_echo_has_turned,
                     data::make({ 0u, 2u }),
                     memory)
{
    const constellation symbols("qpsk");
    last_channel channel(own_sample(symbols, true, memory), 4, taps, pitch);
    channel.remember(rays(1, 0.55f).filter.data());
    for (const float angle : { 0.0f, 1.0f, 2.0f, 3.1f })
        for (int late = -4; late <= 4; ++late)
            for (std::size_t quarter = 0; quarter < 4; ++quarter) {
                const auto turned = static_cast<float>(M_PI / 2 * quarter);
                const rays seen(1, std::polar(0.55f, angle), late, turned);
                const displacement by = channel.find(seen.filter.data(), 0);
                BOOST_TEST(by.later == late);
                BOOST_TEST(by.turned == quarter);
            }
}

BOOST_AUTO_TEST_CASE(a_phase_that_is_followed_is_no_rotation)
{
    const constellation symbols("qpsk");
    last_channel channel(own_sample(symbols, true, 0), 4, taps, pitch);
    const rays seen(1, 0.3f, 0, -2.0f); // samples that were turned back by 2 more
    BOOST_TEST(channel.find(seen.filter.data(), 2.0).none());
    BOOST_TEST(!channel.find(seen.filter.data(), 0).none());
}

BOOST_DATA_TEST_CASE(real_levels_are_inverted_or_not, data::make({ 0u, 2u }), memory)
{
    const constellation symbols("pam4");
    last_channel channel(own_sample(symbols, false, memory), 2, taps, pitch);
    channel.remember(rays(0.9f, 0.4f).filter.data());
    for (const int late : { -1, 0, 2 })
        for (const float sign : { 1.0f, -1.0f }) {
            const rays seen(sign, -0.3f * sign, late);
            const displacement by = channel.find(seen.filter.data(), 0);
            BOOST_TEST(by.later == late);
            BOOST_TEST(by.turned == (sign < 0 ? 1u : 0u));
        }
}

BOOST_AUTO_TEST_SUITE_END()
