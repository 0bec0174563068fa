/* Impulses, relative to the signals they hit. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/constellation.h"
#include "core/signal/impulse_detector.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

using number = std::complex<float>;

// Random points of unit power, with an echo and noise.
std::vector<number> signal(const std::string& name, std::size_t n, float noise)
{
    const constellation symbols(name);
    const auto points = symbols.unit_points();
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, noise / std::sqrt(2.0f));
    std::vector<number> x(n);
    number before = 0;
    for (auto& each : x) {
        const number point = points[random() % points.size()];
        const float re = normal(random), im = normal(random);
        each = point + 0.3f * before + number(re, symbols.is_complex() ? im : 0.0f);
        before = point;
    }
    return x;
}

std::vector<std::size_t> found_in(const std::vector<number>& x, impulse_detector& by)
{
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (by.take(std::norm(x[i])))
            found.push_back(i);
    return found;
}

const auto names = data::make({ "pam2", "pam4", "pam8", "qpsk", "16qam", "64qam" });
constexpr std::size_t sps = 4;
constexpr std::size_t start = impulse_detector::blocks * 16 * sps;

} // namespace

BOOST_AUTO_TEST_SUITE(impulse_detectors)

BOOST_DATA_TEST_CASE(impulses_are_found, names, name)
{
    // One sample in 500. Within six deviations the signal's largest is 2.6, of the 64QAM corner's.
    auto x = signal(name, 65'536, 0.1f);
    std::mt19937 random(2);
    std::vector<std::size_t> hit;
    for (std::size_t i = start; i < x.size(); ++i)
        if (random() % 500 == 0) {
            x[i] += 9.0f;
            hit.push_back(i);
        }
    impulse_detector detector(sps);
    const auto found = found_in(x, detector);
    BOOST_TEST(found == hit);
}

BOOST_DATA_TEST_CASE(a_signal_has_none,
                     names* data::make({ 0.02f, 0.1f, 0.3f }) *
                         data::make({ std::size_t{ 1 }, sps, std::size_t{ 16 } }),
                     name,
                     noise,
                     samples_a_symbol)
{
    impulse_detector detector(samples_a_symbol);
    BOOST_TEST(found_in(signal(name, 262'144, noise), detector).size() == 0u);
}

// Real noise: 7500 samples apart, so 267 of 2·10^6; five deviations of a count.
BOOST_DATA_TEST_CASE(noise_has_few, data::make({ false, true }), is_complex)
{
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    impulse_detector detector(sps);
    std::size_t found = 0;
    for (std::size_t i = 0; i < 2'000'000; ++i) {
        const float re = normal(random), im = is_complex ? normal(random) : 0.0f;
        found += detector.take(re * re + im * im);
    }
    BOOST_TEST(found < (is_complex ? 125u : 350u));
}

// One sample in 200, from the first one on, and all of 20 symbols; the last group is not whole.
BOOST_DATA_TEST_CASE(those_of_a_record_are_set_to_zero, names, name)
{
    auto x = signal(name, 10'000, 0.1f);
    const auto clean = x;
    std::mt19937 random(2);
    std::vector<std::size_t> hit;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (random() % 200 == 0 || (i >= 5000 && i < 5000 + 20 * sps)) {
            x[i] += 9.0f;
            hit.push_back(i);
        }
    BOOST_TEST(blank_impulses(reinterpret_cast<float*>(x.data()), x.size(), 2, sps) ==
               hit);
    for (std::size_t i = 0; i < x.size(); ++i)
        BOOST_TEST(x[i] ==
                   (std::binary_search(hit.begin(), hit.end(), i) ? 0.0f : clean[i]));
}

BOOST_AUTO_TEST_CASE(a_level_that_rises_is_no_impulse)
{
    auto x = signal("qpsk", 65'536, 0.1f);
    for (std::size_t i = 32'768; i < x.size(); ++i)
        x[i] *= 4.0f;
    impulse_detector detector(sps);
    const auto found = found_in(x, detector);
    BOOST_TEST(found.size() == 4u);
    BOOST_TEST(found.front() >= 32'768u);
    BOOST_TEST(found.back() < 32'768u + impulse_detector::block(sps));
}

BOOST_AUTO_TEST_CASE(a_burst_after_silence_is_none)
{
    auto x = signal("qpsk", 65'536, 0.1f);
    float peak = 0;
    for (const auto& each : x)
        peak = std::max(peak, std::norm(each));
    for (std::size_t i = 0; i < 32'768; ++i)
        x[i] *= 0.01f;
    impulse_detector detector(sps, peak);
    BOOST_TEST(found_in(x, detector).empty());
}

// In pieces of any length as one by one: impulses, a level that rises, and silence.
BOOST_DATA_TEST_CASE(they_are_blanked_as_one_by_one,
                     data::make({ false, true }) * data::make({ 0.0f, 2.0f }),
                     is_complex,
                     peak)
{
    auto x = signal(is_complex ? "16qam" : "pam4", 65'536, 0.1f);
    std::mt19937 random(4);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] *= i / 16'384 == 1 ? 4.0f : i / 16'384 == 2 ? 0.01f : 1.0f;
        if (random() % 100 == 0)
            x[i] += is_complex ? number(3, 3) : number(3, 0);
    }
    std::vector<float> re, im;
    for (const auto& each : x) {
        re.push_back(each.real());
        im.push_back(each.imag());
    }
    impulse_detector together(sps, peak), one_by_one(sps, peak);
    for (std::size_t i = 0, n; i < x.size(); i += n) {
        n = std::min<std::size_t>(1 + random() % 300, x.size() - i);
        together.blank(&re[i], is_complex ? &im[i] : nullptr, n);
    }
    const auto found = found_in(x, one_by_one);
    BOOST_TEST(found.size() > 200u);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool hit = std::binary_search(found.begin(), found.end(), i);
        BOOST_REQUIRE(re[i] == (hit ? 0 : x[i].real()));
        BOOST_REQUIRE(im[i] == (hit && is_complex ? 0 : x[i].imag()));
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_none)
{
    auto x = signal("qpsk", 4096, 0.1f);
    x[2000] = std::nanf("");
    impulse_detector detector(sps);
    BOOST_TEST(found_in(x, detector).empty());
}

BOOST_AUTO_TEST_SUITE_END()
