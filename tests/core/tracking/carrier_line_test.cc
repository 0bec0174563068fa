/* The line of a carrier in noise. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/carrier_line.h"
#include "tracking/links.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

// 2048 symbols in noise, rotated by a frequency in cycles per symbol, and by a phase that is modulated.
// \param depth radians, by a sine of so many symbols
std::optional<carrier_line::line> line_of(const char* name,
                                          double decibels,
                                          double frequency,
                                          unsigned seed,
                                          double depth = 0,
                                          double period = 1)
{
    const auto noise = static_cast<float>(std::pow(10, -decibels / 10));
    const model receiver = make_slicer(name, 1, 1, std::sqrt(noise / 2));
    carrier_line sought(*receiver.waveform, receiver.symbols);
    sent_symbols sent(name, 2048, 1, seed);
    sent.add_noise(noise, true, seed + 1);
    for (std::size_t k = 0; k < sent.samples.size(); ++k)
        sought.take(
            sent.samples[k] *
            std::complex<float>(std::polar(
                1.0,
                2 * M_PI * frequency * static_cast<double>(k) +
                    depth * std::sin(2 * M_PI * static_cast<double>(k) / period))));
    return sought.find();
}

} // namespace

BOOST_AUTO_TEST_SUITE(carrier_lines)

/* At symbol error rates of 1 to 10 %. What is found in each of 50 streams has a probability of 0.95 at least, or
 * this fails once in 10^5. The least error that is possible for 1024 symbols is some 5e-6 turns a symbol. */
BOOST_DATA_TEST_CASE(a_line_is_found_where_decisions_are_uncertain,
                     data::make({ "qpsk", "8psk", "16qam", "16apsk", "64qam" }) ^
                         data::make({ 6.0, 12.0, 14.0, 17.0, 20.0 }),
                     name,
                     decibels)
{
    unsigned found = 0, steady = 0;
    for (unsigned seed = 0; seed < 50; ++seed)
        if (const auto line = line_of(name, decibels, -7e-4, 2 * seed)) {
            found += std::abs(line->frequency + 7e-4) < 3e-5;
            steady += line->coherence > 0.95;
        }
    BOOST_TEST_MESSAGE(name << ": found " << found << ", steady " << steady);
    BOOST_TEST(found > 40u);
    BOOST_TEST(steady > 25u);
}

/* With an echo of 0.5 an amplitude says little of the point that was sent. Weights of the points alone find the line
 * of 16QAM in one of these 20 streams. */
BOOST_AUTO_TEST_CASE(amplitudes_count_as_the_channel_leaves_them)
{
    model receiver = make_slicer("16qam", 1, 1, 0.07f);
    expected_waveform waveform = *receiver.waveform;
    std::vector<float> affine(waveform.affine());
    for (std::size_t d = 0; d < 2; ++d)
        affine[(1 + d) * waveform.stride() + d] = 0.5f; // a neighbour
    waveform.set(affine, std::vector<float>(waveform.table().size()), 0.07f);
    unsigned found = 0;
    for (unsigned seed = 0; seed < 20; ++seed) {
        carrier_line sought(waveform, receiver.symbols);
        constexpr std::size_t symbols = 2048;
        sent_symbols sent("16qam", symbols + 2, 1, seed);
        std::vector<float> samples(2 * symbols);
        waveform.expect(&sent.labels[1], symbols, samples.data());
        for (std::size_t k = 0; k < symbols; ++k)
            sent.samples[k] = { samples[2 * k], samples[2 * k + 1] };
        sent.add_noise(0.01f, true, seed + 1);
        for (std::size_t k = 0; k < symbols; ++k)
            sought.take(sent.samples[k] * std::complex<float>(std::polar(
                                              1.0, 1e-3 * static_cast<double>(k))));
        const auto line = sought.find();
        found += line && std::abs(2 * M_PI * line->frequency - 1e-3) < 2e-4;
    }
    BOOST_TEST_MESSAGE("found " << found);
    BOOST_TEST(found > 15u);
}

// A modulation of 2.4 radians of the fourth power, in which the carrier itself has no line but two sidebands (the zero of
// the Bessel function J0); of 1.2, in which it has, and the sidebands half of its power.
BOOST_DATA_TEST_CASE(a_sideband_is_no_carrier, data::make({ 70.0, 100.0, 150.0 }), period)
{
    for (unsigned seed = 0; seed < 20; ++seed) {
        BOOST_TEST(!line_of("qpsk", 15, 3e-4, 2 * seed, 0.6, period));
        const auto line = line_of("qpsk", 15, 3e-4, 2 * seed, 0.3, period);
        BOOST_TEST_REQUIRE(line.has_value());
        BOOST_TEST(std::abs(line->frequency - 3e-4) < 3e-5);
    }
}

BOOST_AUTO_TEST_CASE(noise_has_none)
{
    for (unsigned seed = 0; seed < 50; ++seed)
        BOOST_TEST(!line_of("16apsk", -20, 0, 2 * seed));
}

BOOST_AUTO_TEST_SUITE_END()
