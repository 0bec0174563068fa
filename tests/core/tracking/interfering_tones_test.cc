/* A tone is subtracted, and nothing else. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/files/tensor_file.h"
#include "core/tracking/interfering_tones.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>
#include <utility>
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
    interfering_tones tones;

    disturbed(std::size_t n, bool complex, unsigned seed)
        : sent(signal(n, complex, seed)), x(sent), tones(2, complex)
    {
        tones.search_if(true);
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
    void run(std::size_t first, std::size_t end) { subtract(tones, x, first, end); }
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
    subtract(interfering_tones& tones, planes& x, std::size_t first, std::size_t end)
    {
        for (; first < end; first += samples_of_a_call)
            tones.apply(x, first, std::min(samples_of_a_call, end - first));
    }
};

/* An average over blocks with a part α has α / 2 of the variance of one of them, the samples' power over
 * their number, in each of two dimensions: with the parts of frequency and rate about the double. */
constexpr double most_error = 4.0 / (16 * tone_loop::block);
const auto either = data::make({ false, true });

} // namespace

BOOST_AUTO_TEST_SUITE(subtracted_tones)

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
        BOOST_REQUIRE(on.tones.strongest().follows());
        BOOST_TEST(std::abs(on.tones.strongest().frequency() - frequency) < 1e-5);
        error += on.error(65'536) / signals;
    }
    BOOST_TEST(error < most_error);
}

// A squelch that closes just when a tone was found.
BOOST_DATA_TEST_CASE(silence_leaves_numbers, either, complex)
{
    constexpr std::size_t silence = interfering_tones::searched;
    disturbed on(65'536, complex, 3);
    on.add(0.6, 0.0917003);
    std::fill(on.x.re.begin() + silence, on.x.re.end(), 0.0f);
    if (complex)
        std::fill(on.x.im.begin() + silence, on.x.im.end(), 0.0f);
    on.run(0, silence);
    BOOST_REQUIRE(on.tones.strongest().follows());
    on.run(silence, on.x.re.size());
    BOOST_TEST(std::all_of(
        on.x.re.begin(), on.x.re.end(), [](float each) { return std::isfinite(each); }));
    BOOST_TEST(!on.tones.strongest().follows());
}

BOOST_DATA_TEST_CASE(a_negative_frequency_is_one_of_complex_samples,
                     data::make({ -0.21, -0.453 }),
                     frequency)
{
    disturbed on(32'768, true, 2);
    on.add(0.3, frequency);
    on.run();
    BOOST_TEST(std::abs(on.tones.strongest().frequency() - frequency) < 1e-5);
    BOOST_TEST(std::abs(on.tones.strongest().amplitude() - 0.3f) < 0.03f);
}

// Pulses of 16 samples a symbol: most of the spectrum is empty.
BOOST_AUTO_TEST_CASE(a_narrow_signal_is_none)
{
    constexpr std::size_t sps = 16, pulse = 8 * sps, n = 131'072;
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        std::normal_distribution<float> noise(0, 0.05f);
        planes x(n, true);
        std::vector<std::complex<float>> sent(n + pulse);
        for (std::size_t i = 0; i < sent.size(); i += sps)
            sent[i] = { random() & 1 ? 0.7f : -0.7f, random() & 1 ? 0.7f : -0.7f };
        std::vector<float> shape(pulse);
        for (std::size_t k = 0; k < pulse; ++k) { // a raised cosine's, by a Hann window
            const double t = (static_cast<double>(k) + 0.5 - pulse / 2.0) / sps;
            shape[k] = static_cast<float>(std::sin(M_PI * t) / (M_PI * t) *
                                          (0.5 + 0.5 * std::cos(M_PI * t / 4)));
        }
        for (std::size_t i = 0; i < n; ++i) {
            std::complex<float> sum;
            for (std::size_t k = (pulse - i % sps) % sps; k < pulse; k += sps)
                sum += sent[i + k] * shape[k];
            x.re[i] = sum.real() + noise(random);
            x.im[i] = sum.imag() + noise(random);
        }
        interfering_tones tones(sps, true);
        tones.search_if(true);
        tones.apply(x, 0, n);
        BOOST_TEST(!tones.strongest().follows());
    }
}

// Of 40 signals of 4 searches each none has one: exp(-16) for each of 30 rates in each search, 1e-4 in all.
BOOST_DATA_TEST_CASE(a_signal_is_none, either, complex)
{
    for (unsigned seed = 0; seed < 40; ++seed) {
        disturbed on(262'144, complex, seed);
        on.run();
        BOOST_TEST(!on.tones.strongest().follows());
        BOOST_TEST(on.x.re == on.sent.re);
    }
}

BOOST_AUTO_TEST_CASE(none_is_searched_while_decisions_explain_the_samples)
{
    disturbed on(65'536, true, 9);
    on.add(0.5, 0.0917);
    on.tones.search_if(false);
    on.run(0, 32'768);
    BOOST_TEST(!on.tones.strongest().follows());
    on.tones.search_if(true);
    on.run(32'768, 65'536);
    BOOST_TEST(on.tones.strongest().follows());
}

// Five lines that are alike, as idle words of 31 symbols have more, and an offset, which has one at zero.
BOOST_DATA_TEST_CASE(many_lines_and_a_constant_are_none, either, complex)
{
    disturbed on(65'536, complex, 3);
    for (const double each : { 0.0477, 0.0796, 0.1532, 0.2714, 0.3391 })
        on.add(0.7, each);
    on.add(1, 0);
    on.run();
    BOOST_TEST(!on.tones.strongest().follows());
}

// One after the other: each search takes 16,384 samples.
BOOST_DATA_TEST_CASE(four_tones_are_subtracted, either, complex)
{
    constexpr unsigned signals = 6;
    double error = 0;
    for (unsigned seed = 1; seed <= signals; ++seed) {
        disturbed on(163'840, complex, seed);
        for (const auto& [amplitude, frequency] : std::vector<std::pair<double, double>>{
                 { 0.5, 0.0477 }, { 0.45, 0.1796 }, { 0.3, 0.1532 }, { 0.2, 0.3391 } })
            on.add(complex ? amplitude : amplitude * std::sqrt(2), frequency);
        on.run();
        error += on.error(131'072) / signals;
    }
    BOOST_TEST(error < 4 * most_error);
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
    BOOST_TEST(!on.tones.strongest().follows());
}

BOOST_DATA_TEST_CASE(a_tone_that_ends_is_given_up, either, complex)
{
    constexpr std::size_t n = 131'072, ends = 65'536;
    disturbed on(n, complex, 4);
    on.add(0.5, 0.0717, ends);
    on.run(0, ends);
    BOOST_TEST(on.tones.strongest().follows());
    on.run(ends, n);
    BOOST_TEST(!on.tones.strongest().follows());
    BOOST_TEST(on.error(ends + 16'384) < 1e-3);
}

// Up to 0.14 cycles a sample within the signal, found by a chirp.
BOOST_DATA_TEST_CASE(a_swept_tone_is_subtracted,
                     either* data::make({ 0.3, 1.0 }) *
                         data::make({ 3e-8, 2.3e-7, -7.1e-7 }),
                     complex,
                     amplitude,
                     rate)
{
    constexpr std::size_t n = 196'608, from = 131'072;
    constexpr unsigned signals = 6;
    double error = 0;
    for (unsigned seed = 1; seed <= signals; ++seed) {
        disturbed on(n, complex, seed);
        for (std::size_t i = 0; i < n; ++i) {
            const auto t = static_cast<double>(i);
            on.add(i,
                   std::polar(complex ? amplitude : amplitude * std::sqrt(2),
                              2 * M_PI * (0.2417 * t + rate / 2 * t * t) + 1));
        }
        on.run();
        BOOST_REQUIRE(on.tones.strongest().follows());
        BOOST_TEST(std::abs(on.tones.strongest().frequency() - (0.2417 + rate * n)) <
                   2e-4);
        error += on.error(from) / signals;
    }
    BOOST_TEST(error < most_error);
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
    on.tones.state(saved);
    interfering_tones other(2, true);
    archive restored = archive::restoring(file, "tone");
    other.state(restored);
    on.run(cut, n);
    disturbed::subtract(other, rest, cut, n);
    BOOST_TEST(std::equal(on.x.re.begin() + cut, on.x.re.end(), rest.re.begin() + cut));
    BOOST_TEST(std::equal(on.x.im.begin() + cut, on.x.im.end(), rest.im.begin() + cut));
}

// To the bit, also if one of four tones ends and another one begins.
BOOST_AUTO_TEST_CASE(calls_of_any_length_leave_the_same)
{
    disturbed on(262'144, true, 10);
    for (const double each : { 0.0477, 0.1796, 0.1532 })
        on.add(0.5, each);
    on.add(0.5, 0.3391, 131'000);
    for (std::size_t i = 150'000; i < on.x.re.size(); ++i)
        on.add(i, std::polar(0.6, 0.41 * 2 * M_PI * static_cast<double>(i)));
    planes whole = on.x;
    interfering_tones other(2, true);
    other.search_if(true);
    other.apply(whole, 0, whole.re.size());
    on.run();
    BOOST_TEST(other.strongest().follows());
    BOOST_TEST(on.x.re == whole.re);
    BOOST_TEST(on.x.im == whole.im);
}

// Samples that are lost leave the phase as it is, and a sweep goes on.
BOOST_DATA_TEST_CASE(lost_samples_pass, data::make({ 0.0, 7e-7 }), rate)
{
    constexpr std::size_t n = 65'536;
    disturbed on(n, true, 7);
    for (std::size_t i = 0; i < n; ++i) {
        const auto t = static_cast<double>(i);
        on.add(i, std::polar(0.3, 2 * M_PI * (0.1317 * t + rate / 2 * t * t) + 1));
    }
    disturbed whole = on;
    whole.run();
    on.run(0, 49'152);
    for (std::size_t i = 49'152; i < 50'000; ++i)
        on.tones.pass();
    on.run(50'000, n);
    // The loop of a fast sweep has not settled yet.
    BOOST_TEST(on.error(50'000) < (rate > 0 ? 1.5 * whole.error(50'000) : most_error));
}

BOOST_AUTO_TEST_SUITE_END()
