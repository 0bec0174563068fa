/* Known symbols against random ones that lie late or rotated.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/ambiguity.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <complex>
#include <random>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;
using complex = std::complex<float>;

namespace {

// Runs of 16 known symbols in 64, some of them known wrongly.
struct stream {
    constellation symbols;
    std::vector<std::uint8_t> labels;
    std::vector<complex> points; // estimates, of unit power
    std::mt19937 random;
    float variance;
    std::vector<std::uint8_t> told;

    stream(
        const char* name, float noise, std::size_t n, double wrong = 0, unsigned seed = 5)
        : symbols(name), labels(n), points(n), random(seed), variance(noise), told(n)
    {
        float power = 0;
        for (const auto& point : symbols.points())
            power += std::norm(point) / static_cast<float>(symbols.size());
        const float deviation = std::sqrt(noise / (symbols.is_complex() ? 2 : 1));
        std::normal_distribution<float> normal(0, deviation);
        for (std::size_t i = 0; i < n; ++i) {
            labels[i] = static_cast<std::uint8_t>(random() % symbols.size());
            const complex by(normal(random), symbols.is_complex() ? normal(random) : 0);
            points[i] = symbols.points()[labels[i]] / std::sqrt(power) + by;
            told[i] = labels[i];
            if (std::uniform_real_distribution<>()(random) < wrong)
                told[i] = static_cast<std::uint8_t>(random() % symbols.size());
        }
    }

    /* Symbols until it tells a displacement, of estimates that lie `later` and turned: none within n
     * symbols is n. */
    std::size_t until(ambiguity& test, int later, complex turn) const
    {
        std::vector<complex> seen(points.size());
        for (std::size_t i = 16; i + 16 < seen.size(); ++i)
            seen[i + later] = turn * points[i];
        for (std::size_t i = 64; i + 64 < seen.size(); ++i)
            if (i % 64 < 16) {
                test.take(told[i], &seen[i], &labels[i]);
                if (!test.found().none())
                    return i - 64;
            }
        return points.size();
    }
};

const char* const constellations[] = { "qpsk", "8psk", "16qam" };

} // namespace

BOOST_AUTO_TEST_SUITE(ambiguities)

// Symbol error rates of 20 to 45 %. One in 120 tells another rotation: of 56 more than six do, once in 1e6.
BOOST_DATA_TEST_CASE(known_symbols_tell_a_rotation_within_two_runs,
                     data::make(constellations) ^ data::make({ 0.6f, 0.2f, 0.15f }),
                     name,
                     noise)
{
    int late_or_wrong = 0;
    const std::size_t turns = constellation(name).symmetries().size();
    for (unsigned seed = 0; seed < 56; seed += 7)
        for (unsigned turned = 1; turned < turns; ++turned) {
            const stream drawn(name, noise, 512, 0, seed + turned);
            ambiguity test(drawn.symbols, noise);
            const double angle =
                2 * M_PI * static_cast<double>(turned) / static_cast<double>(turns);
            const auto until = drawn.until(test, 0, complex(std::polar(1.0, angle)));
            late_or_wrong +=
                until >= 2 * 64 || !(test.found() == displacement{ 0, turned });
        }
    BOOST_TEST(late_or_wrong <= 6);
}

BOOST_DATA_TEST_CASE(known_symbols_tell_a_delay_and_a_rotation,
                     data::make({ -4, -1, 1, 3 }),
                     later)
{
    const stream drawn("qpsk", 0.4f, 1024);
    ambiguity test(drawn.symbols, 0.4f);
    drawn.until(test, later, complex(0, 1));
    BOOST_TEST((test.found() == displacement{ later, 1 }));
}

BOOST_AUTO_TEST_CASE(inverted_pam_is_told)
{
    const stream drawn("pam4", 0.1f, 512);
    ambiguity test(drawn.symbols, 0.1f);
    BOOST_TEST(drawn.until(test, 0, -1) < 2 * 64);
    BOOST_TEST((test.found() == displacement{ 0, 1 }));
}

// 10^7 known symbols from one false alarm to the next: 0.05 expected of each.
BOOST_DATA_TEST_CASE(nothing_is_told_where_they_lie_right_and_one_in_ten_is_wrong,
                     data::make(constellations) ^ data::make({ 0.6f, 0.2f, 0.15f }),
                     name,
                     noise)
{
    const std::size_t n = 1 << 17;
    for (const double wrong : { 0.0, 0.1 }) {
        const stream drawn(name, noise, n, wrong);
        ambiguity test(drawn.symbols, noise);
        BOOST_TEST(drawn.until(test, 0, 1) == n);
    }
}

BOOST_AUTO_TEST_SUITE_END()
