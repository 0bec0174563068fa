/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/burst_equalizer.h"

#include "core/signal/known_symbols.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <random>

using namespace gr::adann::core;

namespace {
using number = burst_sums::number;
} // namespace

BOOST_AUTO_TEST_SUITE(burst_equalizer)

// One tap, and a second one that has nothing to do with the target: all is known in closed form.
BOOST_AUTO_TEST_CASE(the_error_is_that_of_generalised_cross_validation)
{
    const std::vector<std::vector<number>> windows{
        { 1, 0 }, { number(0, 2), 0 }, { 0, 1 }, { 0, number(1, 1) }
    };
    const std::vector<number> targets{ 2, number(1, 1), number(0, -1), 3 };
    burst_sums sums(2);
    double power = 0;
    for (std::size_t i = 0; i < windows.size(); ++i) {
        sums.add(windows[i].data(), targets[i], 1);
        power += std::norm(targets[i]);
    }
    // R is diag(5, 3), its mean 4; the middle tap is the first.
    const number p0 = 2.0 + number(0, -2) * number(1, 1),
                 p1 = number(0, -1) + number(1, -1) * 3.0;
    double least = std::numeric_limits<double>::infinity();
    for (const double ridge : burst_fit::ridges) {
        const double a = 5 + 0.04 * ridge, b = 3 + 4 * ridge;
        const number w0 = p0 / a, w1 = p1 / b;
        double rest = power;
        rest -= 2 * (std::real(std::conj(p0) * w0) + std::real(std::conj(p1) * w1));
        rest += 5 * std::norm(w0) + 3 * std::norm(w1);
        least = std::min(least, 4 * rest / std::pow(4 - 5 / a - 3 / b, 2));
    }
    burst_fit fit(2, 0);
    BOOST_TEST(fit.best(sums, sums.wanted, 1, burst_fit::ridge_search::all) == least,
               boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(sums_fade_and_add_up)
{
    const number x[2] = { number(1, 2), number(-1, 0.5) }, z(0.3, -2);
    burst_sums early(2), late(2), both(2);
    early.add(x, z, 1);
    early.fade(0.25);
    late.add(x, 2.0 * z, 0.5);
    early.add(late);
    both.add(x, z, 0.25);
    both.add(x, 2.0 * z, 0.5);
    for (std::size_t k = 0; k < 2; ++k)
        BOOST_TEST(std::abs(early.wanted[k] - both.wanted[k]) < 1e-12);
    BOOST_TEST(std::abs(early.matrix[2] - both.matrix[2]) < 1e-12);
    BOOST_TEST(early.power == both.power, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(early.symbols == 0.75, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_seed_is_one_long_run_or_the_closest_short_ones)
{
    using run = std::pair<std::size_t, std::size_t>;
    const auto seed_is = [](const std::vector<run>& runs, run expected) {
        std::vector<std::uint8_t> known(3000, not_known);
        for (const auto& [first, end] : runs)
            std::fill(known.begin() + first, known.begin() + end, 1);
        const stretch found = burst_symbols::seed(known.data(), known.size(), 4);
        BOOST_TEST(found.first == expected.first);
        BOOST_TEST(found.end == expected.second);
    };
    seed_is({ { 5, 15 }, { 20, 32 }, { 40, 49 } }, { 20, 32 });
    seed_is({ { 5, 13 }, { 100, 104 }, { 110, 114 }, { 120, 124 } }, { 100, 124 });
    seed_is({ { 5, 14 }, { 16, 17 }, { 100, 109 }, { 111, 119 } }, { 5, 17 });
    seed_is({ { 0, 9 }, { 2991, 3000 } }, { 0, 0 }); // too far apart
    seed_is({ { 7, 16 } }, { 0, 0 });
    seed_is({}, { 0, 0 });
}

// An echo of the symbol before, a carrier, a level: what was sent, from 12 symbols in the middle.
BOOST_AUTO_TEST_CASE(a_burst_is_decided_outwards_from_its_middle)
{
    const constellation symbols("qpsk");
    const auto points = symbols.unit_points();
    const std::size_t n = 200;
    gr::adann::core::burst_equalizer equalizer(symbols, 1, true, { 6, 0.05f, n });
    std::mt19937 random(1);
    std::uniform_int_distribution<int> label(0, 3);
    std::normal_distribution<float> noise(0, 0.05f);
    std::vector<std::uint8_t> sent(n), known(n, not_known);
    for (auto& each : sent)
        each = static_cast<std::uint8_t>(label(random));
    std::copy(sent.begin() + 90, sent.begin() + 102, known.begin() + 90);
    std::vector<std::complex<float>> samples(equalizer.samples(n));
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto at = [&](std::size_t symbol) {
            return symbol >= equalizer.reach() && symbol < n + equalizer.reach()
                       ? points[sent[symbol - equalizer.reach()]]
                       : std::complex<float>(0);
        };
        const auto echo = i ? std::complex<float>(0.1f, 0.3f) * at(i - 1) : 0.0f;
        samples[i] =
            0.02f * ((at(i) + echo) * std::polar(1.0f, 0.1f * static_cast<float>(i)) +
                     std::complex<float>(noise(random), noise(random)));
    }
    equalizer.equalize(samples.data(), known.data(), n);
    BOOST_TEST(std::vector<std::uint8_t>(equalizer.labels(), equalizer.labels() + n) ==
                   sent,
               boost::test_tools::per_element());
    BOOST_TEST(equalizer.frequency() == 0.1 / (2 * M_PI),
               boost::test_tools::tolerance(0.02));
    BOOST_TEST(equalizer.noise() < 0.02);

    // No sample of it is a number: nothing is learnt, and nothing becomes NaN.
    std::fill(samples.begin(), samples.end(), std::numeric_limits<float>::quiet_NaN());
    equalizer.equalize(samples.data(), known.data(), n);
    BOOST_TEST(std::isfinite(equalizer.soft()[0].real()));
    BOOST_TEST(std::isfinite(equalizer.noise()));
    BOOST_TEST(std::isfinite(equalizer.posteriors()[0]));
}

BOOST_AUTO_TEST_SUITE_END()
