/* A tone is subtracted, and nothing else. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/files/tensor_file.h"
#include "core/tracking/interfering_tone.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>
#include <vector>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

constexpr std::size_t samples_of_a_call = 100;
using number = std::complex<double>;

// QPSK or PAM4 of unit power, two samples a symbol, with noise.
planes signal(std::size_t n, bool complex, unsigned seed)
{
    planes x(n, complex);
    std::mt19937 random(seed);
    std::normal_distribution<float> noise(0, 0.1f);
    const auto level = [&] {
        const float sign = random() & 1 ? 1.0f : -1.0f;
        return complex ? sign * std::sqrt(0.5f)
                       : sign * (random() & 1 ? 3.0f : 1.0f) / std::sqrt(5.0f);
    };
    for (std::size_t i = 0; i < n; i += 2) {
        const float re = level(), im = level();
        for (std::size_t k = i; k < i + 2; ++k) {
            x.re[k] = re + noise(random);
            if (complex)
                x.im[k] = im + noise(random);
        }
    }
    return x;
}

void add(
    planes& x, double amplitude, double frequency, std::size_t first, std::size_t end)
{
    for (std::size_t i = first; i < end; ++i) {
        const number tone =
            std::polar(amplitude, 2 * M_PI * frequency * static_cast<double>(i) + 1);
        x.re[i] += static_cast<float>(tone.real());
        if (!x.im.empty())
            x.im[i] += static_cast<float>(tone.imag());
    }
}

void subtract(interfering_tone& tone, planes& x, std::size_t first, std::size_t end)
{
    for (; first < end; first += samples_of_a_call)
        tone.apply(x, first, std::min(samples_of_a_call, end - first));
}

double distance(const planes& a, const planes& b, std::size_t first, std::size_t end)
{
    double sum = 0;
    for (std::size_t i = first; i < end; ++i)
        sum += std::pow(a.re[i] - b.re[i], 2) +
               (a.im.empty() ? 0 : std::pow(a.im[i] - b.im[i], 2));
    return sum / static_cast<double>(end - first);
}

const auto either = data::make({ false, true });

} // namespace

BOOST_AUTO_TEST_SUITE(interfering_tones)

BOOST_DATA_TEST_CASE(a_tone_is_subtracted,
                     either* data::make({ 0.15, 0.4, 2.0 }) *
                         data::make({ 0.0123, 0.0917003, 0.31 }),
                     complex,
                     amplitude,
                     frequency)
{
    constexpr std::size_t n = 98'304, settled = 32'768;
    const planes sent = signal(n, complex, 1);
    planes x = sent;
    add(x, complex ? amplitude : amplitude * std::sqrt(2), frequency, 0, n);
    interfering_tone tone(2, complex);
    tone.search_if(true);
    subtract(tone, x, 0, n);
    BOOST_REQUIRE(tone.is_found());
    BOOST_TEST(std::abs(tone.frequency() - frequency) < 5e-6);
    /* An average over blocks with a part α has α / 2 of the variance of one of them, the samples' power over
     * their number, in each of two dimensions: with the frequency's part less than the double. */
    BOOST_TEST(distance(x, sent, settled, n) < 2.5 / (16 * interfering_tone::block));
}

BOOST_DATA_TEST_CASE(a_negative_frequency_is_one_of_complex_samples,
                     data::make({ -0.21, -0.453 }),
                     frequency)
{
    planes x = signal(32'768, true, 2);
    add(x, 0.3, frequency, 0, x.re.size());
    interfering_tone tone(2, true);
    tone.search_if(true);
    subtract(tone, x, 0, x.re.size());
    BOOST_TEST(std::abs(tone.frequency() - frequency) < 1e-5);
    BOOST_TEST(std::abs(tone.amplitude() - 0.3f) < 0.03f);
}

// Of 40 signals of 16 searches each none has one: exp(-16) for each search.
BOOST_DATA_TEST_CASE(a_signal_is_none, either, complex)
{
    for (unsigned seed = 0; seed < 40; ++seed) {
        const planes sent = signal(1'048'576 / 4, complex, seed);
        planes x = sent;
        interfering_tone tone(2, complex);
        tone.search_if(true);
        subtract(tone, x, 0, x.re.size());
        BOOST_TEST(!tone.is_found());
        BOOST_TEST(x.re == sent.re);
    }
}

// Alternating symbols have two lines that are alike, an offset one at zero.
BOOST_DATA_TEST_CASE(periodic_data_and_a_constant_are_none, either, complex)
{
    planes x = signal(65'536, complex, 3);
    for (std::size_t i = 0; i < x.re.size(); ++i) {
        if (complex)
            x.re[i] += (i / 2) % 2 ? 0.7f : -0.7f; // at a quarter, and minus a quarter
        else
            x.re[i] += 0.7f * static_cast<float>(std::cos(0.3 * static_cast<double>(i)) +
                                                 std::cos(0.5 * static_cast<double>(i)));
    }
    add(x, 1, 0, 0, x.re.size());
    const planes sent = x;
    interfering_tone tone(2, complex);
    tone.search_if(true);
    subtract(tone, x, 0, x.re.size());
    BOOST_TEST(!tone.is_found());
    BOOST_TEST(x.re == sent.re);
}

// As every fifth symbol of an idle word of ten makes one.
BOOST_DATA_TEST_CASE(a_line_of_periodic_data_is_none,
                     data::make({ 0.25, 0.05, 0.1875 }),
                     frequency)
{
    planes x = signal(65'536, true, 8);
    add(x, 0.5, frequency, 0, x.re.size());
    interfering_tone tone(2, true);
    tone.search_if(true);
    subtract(tone, x, 0, x.re.size());
    BOOST_TEST(!tone.is_found());
}

BOOST_DATA_TEST_CASE(a_tone_that_ends_is_given_up, either, complex)
{
    constexpr std::size_t n = 131'072, ends = 65'536;
    const planes sent = signal(n, complex, 4);
    planes x = sent;
    add(x, 0.5, 0.07, 0, ends);
    interfering_tone tone(2, complex);
    tone.search_if(true);
    subtract(tone, x, 0, ends);
    BOOST_TEST(tone.is_found());
    subtract(tone, x, ends, n);
    BOOST_TEST(!tone.is_found());
    BOOST_TEST(distance(x, sent, ends + 16'384, n) < 1e-3);
}

// By 2e-10 cycles per sample squared.
BOOST_AUTO_TEST_CASE(a_drifting_tone_is_followed)
{
    constexpr std::size_t n = 524'288, settled = 65'536;
    const planes sent = signal(n, true, 5);
    planes x = sent;
    for (std::size_t i = 0; i < n; ++i) {
        const auto t = static_cast<double>(i);
        const number tone = std::polar(0.3, 2 * M_PI * (0.0517 * t + 1e-10 * t * t));
        x.re[i] += static_cast<float>(tone.real());
        x.im[i] += static_cast<float>(tone.imag());
    }
    interfering_tone tone(2, true);
    tone.search_if(true);
    subtract(tone, x, 0, n);
    BOOST_TEST(distance(x, sent, settled, n) < 0.05 * 0.09);
}

BOOST_DATA_TEST_CASE(it_goes_on_from_what_was_saved,
                     data::make({ 5'000u, 30'000u, 60'100u }),
                     cut)
{
    planes x = signal(98'304, true, 6);
    add(x, 0.2, 0.11, 0, x.re.size());
    planes whole = x;
    interfering_tone one(2, true), other(2, true);
    one.search_if(true);
    subtract(one, whole, 0, cut);
    tensor_file file;
    {
        archive saved = archive::saving(file, "tone");
        one.state(saved);
    }
    archive restored = archive::restoring(file, "tone");
    other.state(restored);
    planes rest = x;
    subtract(one, whole, cut, x.re.size());
    subtract(other, rest, cut, x.re.size());
    BOOST_TEST(std::equal(whole.re.begin() + cut, whole.re.end(), rest.re.begin() + cut));
    BOOST_TEST(std::equal(whole.im.begin() + cut, whole.im.end(), rest.im.begin() + cut));
}

// Samples that are lost leave the phase as it is.
BOOST_AUTO_TEST_CASE(lost_samples_pass)
{
    constexpr std::size_t n = 65'536;
    const planes sent = signal(n, true, 7);
    planes x = sent;
    add(x, 0.3, 0.13, 0, n);
    interfering_tone tone(2, true);
    tone.search_if(true);
    subtract(tone, x, 0, 49'152);
    for (std::size_t i = 49'152; i < 50'000; ++i)
        tone.pass();
    subtract(tone, x, 50'000, n);
    BOOST_TEST(distance(x, sent, 50'000, n) < 2.5 / (16 * interfering_tone::block));
}

BOOST_AUTO_TEST_SUITE_END()
