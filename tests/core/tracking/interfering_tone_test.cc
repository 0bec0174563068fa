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

// Two samples a symbol, and what is subtracted from them.
struct disturbed {
    planes sent, x;
    interfering_tone tone;

    disturbed(std::size_t n, bool complex, unsigned seed)
        : sent(signal(n, complex, seed)), x(sent), tone(2, complex)
    {
        tone.search_if(true);
    }
    void add(std::size_t i, number more)
    {
        x.re[i] += static_cast<float>(more.real());
        if (!x.im.empty())
            x.im[i] += static_cast<float>(more.imag());
    }
    void add(double amplitude, double frequency, std::size_t end)
    {
        for (std::size_t i = 0; i < end; ++i)
            add(i,
                std::polar(amplitude, 2 * M_PI * frequency * static_cast<double>(i) + 1));
    }
    void add(double amplitude, double frequency)
    {
        add(amplitude, frequency, x.re.size());
    }
    void run(std::size_t first, std::size_t end) { subtract(tone, x, first, end); }
    void run() { run(0, x.re.size()); }
    // Mean square of what is not as it was sent.
    double error(std::size_t first) const
    {
        double sum = 0;
        for (std::size_t i = first; i < x.re.size(); ++i)
            sum += std::pow(x.re[i] - sent.re[i], 2) +
                   (x.im.empty() ? 0 : std::pow(x.im[i] - sent.im[i], 2));
        return sum / static_cast<double>(x.re.size() - first);
    }
    static void
    subtract(interfering_tone& tone, planes& x, std::size_t first, std::size_t end)
    {
        for (; first < end; first += samples_of_a_call)
            tone.apply(x, first, std::min(samples_of_a_call, end - first));
    }
};

/* An average over blocks with a part α has α / 2 of the variance of one of them, the samples' power over
 * their number, in each of two dimensions: with the frequency's part about the double. */
constexpr double most_error = 4.0 / (16 * interfering_tone::block);
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
    // The mean of six signals is known to 8 %. Of some the weakest tone is found after 32,768 samples.
    constexpr unsigned signals = 6;
    double error = 0;
    for (unsigned seed = 1; seed <= signals; ++seed) {
        disturbed on(98'304, complex, seed);
        on.add(complex ? amplitude : amplitude * std::sqrt(2), frequency);
        on.run();
        BOOST_REQUIRE(on.tone.is_found());
        BOOST_TEST(std::abs(on.tone.frequency() - frequency) < 1e-5);
        error += on.error(65'536) / signals;
    }
    BOOST_TEST(error < most_error);
}

// A squelch that closes just when a tone was found.
BOOST_DATA_TEST_CASE(silence_leaves_numbers, either, complex)
{
    constexpr std::size_t silence = interfering_tone::searched;
    disturbed on(65'536, complex, 3);
    on.add(0.6, 0.0917003);
    std::fill(on.x.re.begin() + silence, on.x.re.end(), 0.0f);
    if (complex)
        std::fill(on.x.im.begin() + silence, on.x.im.end(), 0.0f);
    on.run(0, silence);
    BOOST_REQUIRE(on.tone.is_found());
    on.run(silence, on.x.re.size());
    BOOST_TEST(std::all_of(
        on.x.re.begin(), on.x.re.end(), [](float each) { return std::isfinite(each); }));
    BOOST_TEST(!on.tone.is_found());
}

BOOST_DATA_TEST_CASE(a_negative_frequency_is_one_of_complex_samples,
                     data::make({ -0.21, -0.453 }),
                     frequency)
{
    disturbed on(32'768, true, 2);
    on.add(0.3, frequency);
    on.run();
    BOOST_TEST(std::abs(on.tone.frequency() - frequency) < 1e-5);
    BOOST_TEST(std::abs(on.tone.amplitude() - 0.3f) < 0.03f);
}

// Of 40 signals of 4 searches each none has one: exp(-16) for each search.
BOOST_DATA_TEST_CASE(a_signal_is_none, either, complex)
{
    for (unsigned seed = 0; seed < 40; ++seed) {
        disturbed on(262'144, complex, seed);
        on.run();
        BOOST_TEST(!on.tone.is_found());
        BOOST_TEST(on.x.re == on.sent.re);
    }
}

BOOST_AUTO_TEST_CASE(none_is_searched_while_decisions_explain_the_samples)
{
    disturbed on(65'536, true, 9);
    on.add(0.5, 0.0917);
    on.tone.search_if(false);
    on.run(0, 32'768);
    BOOST_TEST(!on.tone.is_found());
    on.tone.search_if(true);
    on.run(32'768, 65'536);
    BOOST_TEST(on.tone.is_found());
}

// Two lines that are alike, and an offset, which has one at zero.
BOOST_DATA_TEST_CASE(several_lines_and_a_constant_are_none, either, complex)
{
    disturbed on(65'536, complex, 3);
    on.add(0.7, 0.0477);
    on.add(0.7, 0.0796);
    on.add(1, 0);
    on.run();
    BOOST_TEST(!on.tone.is_found());
}

// Idle words of 2, 10 and 8 symbols.
BOOST_DATA_TEST_CASE(a_line_of_periodic_data_is_none,
                     either* data::make({ 0.25, 0.05, 0.1875 }),
                     complex,
                     frequency)
{
    disturbed on(65'536, complex, 8);
    on.add(0.5, frequency);
    on.run();
    BOOST_TEST(!on.tone.is_found());
}

BOOST_DATA_TEST_CASE(a_tone_that_ends_is_given_up, either, complex)
{
    constexpr std::size_t n = 131'072, ends = 65'536;
    disturbed on(n, complex, 4);
    on.add(0.5, 0.0717, ends);
    on.run(0, ends);
    BOOST_TEST(on.tone.is_found());
    on.run(ends, n);
    BOOST_TEST(!on.tone.is_found());
    BOOST_TEST(on.error(ends + 16'384) < 1e-3);
}

// By 2e-10 cycles per sample squared.
BOOST_AUTO_TEST_CASE(a_drifting_tone_is_followed)
{
    constexpr std::size_t n = 524'288;
    disturbed on(n, true, 5);
    for (std::size_t i = 0; i < n; ++i) {
        const auto t = static_cast<double>(i);
        on.add(i, std::polar(0.3, 2 * M_PI * (0.0517 * t + 1e-10 * t * t)));
    }
    on.run();
    BOOST_TEST(on.error(65'536) < 0.05 * 0.09);
}

BOOST_DATA_TEST_CASE(it_goes_on_from_what_was_saved,
                     data::make({ 5'000u, 30'000u, 60'100u }),
                     cut)
{
    constexpr std::size_t n = 98'304;
    disturbed on(n, true, 6);
    on.add(0.2, 0.1117);
    planes rest = on.x;
    on.run(0, cut);
    tensor_file file;
    archive saved = archive::saving(file, "tone");
    on.tone.state(saved);
    interfering_tone other(2, true);
    archive restored = archive::restoring(file, "tone");
    other.state(restored);
    on.run(cut, n);
    disturbed::subtract(other, rest, cut, n);
    BOOST_TEST(std::equal(on.x.re.begin() + cut, on.x.re.end(), rest.re.begin() + cut));
    BOOST_TEST(std::equal(on.x.im.begin() + cut, on.x.im.end(), rest.im.begin() + cut));
}

// To the bit.
BOOST_AUTO_TEST_CASE(calls_of_any_length_leave_the_same)
{
    disturbed on(65'536, true, 10);
    on.add(0.3, 0.0917);
    planes whole = on.x;
    interfering_tone other(2, true);
    other.search_if(true);
    other.apply(whole, 0, whole.re.size());
    on.run();
    BOOST_TEST(other.is_found());
    BOOST_TEST(on.x.re == whole.re);
    BOOST_TEST(on.x.im == whole.im);
}

// Samples that are lost leave the phase as it is.
BOOST_AUTO_TEST_CASE(lost_samples_pass)
{
    constexpr std::size_t n = 65'536;
    disturbed on(n, true, 7);
    on.add(0.3, 0.1317);
    on.run(0, 49'152);
    for (std::size_t i = 49'152; i < 50'000; ++i)
        on.tone.pass();
    on.run(50'000, n);
    BOOST_TEST(on.error(50'000) < most_error);
}

BOOST_AUTO_TEST_SUITE_END()
