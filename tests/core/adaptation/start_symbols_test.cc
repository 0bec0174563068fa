/* The symbols that a blind start has taken. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/start_symbols.h"

#include "core/signal/known_symbols.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <complex>
#include <random>

using namespace gr::adann::core;

namespace {

constexpr std::size_t sps = 2, half_window = 1, batch = 100, batches = 3;
const window_geometry window(sps, half_window, true);

// Complex samples of a constant power, with noise; symbol k's own ones begin with 2 sps k.
std::vector<float> drawn()
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal(1, 0.1f);
    std::vector<float> samples(2 * (sps * batch * batches + window.samples() - sps));
    for (float& each : samples)
        each = normal(random);
    return samples;
}

start_symbols taken(const std::vector<float>& samples, const std::uint8_t* known)
{
    start_symbols symbols(window, 4);
    for (std::size_t i = 0; i < batches; ++i)
        symbols.add(window.view(&samples[i * batch * window.stride()], batch),
                    known ? known + i * batch : nullptr);
    return symbols;
}

} // namespace

BOOST_AUTO_TEST_SUITE(symbols_of_a_start)

BOOST_AUTO_TEST_CASE(overlapping_batches_are_one_view)
{
    const auto samples = drawn();
    const start_symbols symbols = taken(samples, nullptr);
    BOOST_TEST(symbols.count() == batch * batches);
    const feature_view found = symbols.view();
    BOOST_TEST(found.floats() == samples.size());
    BOOST_TEST(std::equal(samples.begin(), samples.end(), found.data));
    // Half a window is before the first symbol's own samples, and after the last one's.
    const auto own = symbols.own_samples();
    const std::size_t before = (window.dimension() - window.stride()) / 2;
    BOOST_TEST(own.size() == samples.size() - 2 * before);
    BOOST_TEST(std::equal(own.begin(), own.end(), samples.begin() + before));
}

BOOST_AUTO_TEST_CASE(known_labels_are_counted_and_forgotten)
{
    std::vector<std::uint8_t> known(batch * batches, not_known);
    for (const std::size_t k : { 3, 40, 150, 299 })
        known[k] = 2;
    const auto samples = drawn();
    start_symbols symbols = taken(samples, known.data());
    BOOST_TEST(symbols.known() == 4u);
    symbols.forget_known(200);
    BOOST_TEST(symbols.known() == 3u);
    symbols.forget_before(10);
    BOOST_TEST(symbols.known() == 2u);
    BOOST_TEST(symbols.count() == batch * batches - 10);
    BOOST_TEST((symbols.labels()[140] == std::optional<std::uint8_t>(2)));
    BOOST_TEST(*symbols.view()[0] == samples[10 * window.stride()]);
    symbols.clear();
    BOOST_TEST(symbols.count() + symbols.known() == 0u);
}

BOOST_AUTO_TEST_CASE(an_impulse_is_blanked_and_marked)
{
    auto samples = drawn();
    constexpr std::size_t symbol = 123;
    const std::size_t own = symbol * window.stride();
    const std::size_t at = own + (window.dimension() - window.stride()) / 2 + 2;
    samples[at] = 30;
    const start_symbols symbols = taken(samples, nullptr);
    BOOST_TEST(symbols.own_samples()[own + 2] == 0);
    BOOST_TEST(symbols.own_samples()[own + 3] == 0);
    const auto marked = symbols.own_samples_marked();
    for (std::size_t k = 0; k < symbols.count(); ++k)
        BOOST_TEST(std::isnan(marked[k * window.stride()]) == (k == symbol));
}

BOOST_AUTO_TEST_CASE(a_carrier_is_removed)
{
    constexpr double frequency = 2e-3;
    std::vector<float> samples(drawn().size());
    const double last = static_cast<double>(batch * batches - 1);
    const auto symbol_of = [](std::size_t i) { // the middle of symbol 0's window is 0
        return (static_cast<double>(i) - static_cast<double>(window.samples_before())) /
               sps;
    };
    for (std::size_t i = 0; i < samples.size() / 2; ++i) {
        const auto value = std::polar(1.0, 0.3 + 2 * M_PI * frequency * symbol_of(i));
        samples[2 * i] = static_cast<float>(value.real());
        samples[2 * i + 1] = static_cast<float>(value.imag());
    }
    start_symbols symbols = taken(samples, nullptr);
    carrier_track carrier;
    carrier.frequency = frequency;
    for (std::size_t k = 0; k < symbols.count(); ++k)
        carrier.phase.push_back(static_cast<float>(2 * M_PI * frequency * k));
    carrier.count_from(symbols.count() - 1);
    symbols.rotate_back(carrier);
    const std::complex<double> expected =
        std::polar(1.0, 0.3 + 2 * M_PI * frequency * last);
    for (std::size_t i = 0; i < samples.size() / 2; ++i) {
        const float* const found = symbols.view().data + 2 * i;
        BOOST_TEST(std::abs(std::complex<double>(found[0], found[1]) - expected) < 1e-5);
    }
}

BOOST_AUTO_TEST_SUITE_END()
