/* What is taken off samples before the taps, against what was added to them.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/expected_waveform.h"
#include "core/tracking/corrections.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <random>
#include <vector>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

using number = std::complex<float>;
constexpr std::size_t block = 64, reach = 12;

// Points of an alphabet, interleaved, each drawn alike.
std::vector<float> drawn_points(const constellation& alphabet)
{
    std::mt19937 random(3);
    const auto points = alphabet.unit_points();
    std::vector<float> samples;
    for (std::size_t i = 0; i < expected_waveform::drawn_symbols; ++i) {
        const number point = points[random() % points.size()];
        samples.insert(samples.end(), { point.real(), point.imag() });
    }
    return samples;
}

std::uint8_t nearest_label(const constellation& alphabet, number x)
{
    const auto points = alphabet.unit_points();
    return static_cast<std::uint8_t>(std::min_element(points.begin(),
                                                      points.end(),
                                                      [x](number a, number b) {
                                                          return std::norm(x - a) <
                                                                 std::norm(x - b);
                                                      }) -
                                     points.begin());
}

// A filter that does nothing: what it leaves are the sent samples less the corrected ones.
struct receiver {
    constellation alphabet;
    unsigned sps;
    bool is_complex;
    corrections corrected;
    std::vector<number> sent, received;
    planes samples;
    std::size_t done;

    receiver(const std::string& name, unsigned samples_a_symbol, std::size_t blocks)
        : alphabet(name),
          sps(samples_a_symbol),
          is_complex(alphabet.is_complex()),
          corrected{ input_level({ 1, -1, 1, -1 }, is_complex ? 2 : 1),
                     impulse_detector(sps, 2),
                     interfering_tones(sps, is_complex),
                     {},
                     { reach, sps, is_complex } },
          sent((blocks * block + late_echoes::latest) * sps),
          samples(sent.size(), is_complex),
          done(late_echoes::latest * sps)
    {
        if (is_complex)
            corrected.iq.emplace(alphabet, drawn_points(alphabet));
        std::mt19937 random(1);
        const auto points = alphabet.unit_points();
        for (std::size_t i = done; i < sent.size(); ++i)
            sent[i] = i % sps ? sent[i - 1] : points[random() % points.size()];
        received = sent;
    }
    void add_noise(float power)
    {
        std::mt19937 random(2);
        std::normal_distribution<float> normal(
            0, std::sqrt(power / (is_complex ? 2.0f : 1.0f)));
        for (std::size_t i = done; i < sent.size(); ++i) {
            const float re = normal(random);
            received[i] += number(re, is_complex ? normal(random) : 0.0f);
        }
    }
    void each(const std::function<number(std::size_t, number)>& changed)
    {
        for (std::size_t i = done; i < sent.size(); ++i)
            received[i] = changed(i, received[i]);
    }
    /* Mean square of what is left over the last quarter.
     * \param uncertain whether decisions are: they are the points nearest to the samples then */
    double run(bool uncertain = false)
    {
        const auto points = alphabet.unit_points();
        const std::size_t n = block * sps;
        double power = 0, count = 0;
        planes left(n, is_complex);
        std::vector<std::uint8_t> labels(block);
        for (; done < sent.size(); done += n) {
            for (std::size_t i = done; i < done + n; ++i) {
                samples.re[i] = received[i].real();
                if (is_complex)
                    samples.im[i] = received[i].imag();
            }
            corrected.apply(samples, done, n);
            for (std::size_t i = 0; i < n; ++i) {
                left.re[i] = sent[done + i].real() - samples.re[done + i];
                if (is_complex)
                    left.im[i] = sent[done + i].imag() - samples.im[done + i];
                if (4 * done > 3 * sent.size()) {
                    power += std::pow(left.re[i], 2) +
                             (is_complex ? std::pow(left.im[i], 2) : 0);
                    ++count;
                }
            }
            const auto decided = [&](std::size_t i) {
                return nearest_label(
                    alphabet,
                    { samples.re[done + i], is_complex ? samples.im[done + i] : 0.0f });
            };
            for (std::size_t i = 0; uncertain && i < n; ++i) {
                left.re[i] = points[decided(i)].real() - samples.re[done + i];
                if (is_complex)
                    left.im[i] = points[decided(i)].imag() - samples.im[done + i];
            }
            for (std::size_t k = 0; k < block; ++k)
                labels[k] = decided(k * sps + sps / 2);
            corrected.learn(samples + static_cast<std::ptrdiff_t>(done),
                            labels.data(),
                            left,
                            sps,
                            block,
                            uncertain);
        }
        return power / count;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(sample_corrections)

BOOST_DATA_TEST_CASE(an_image_is_taken_off,
                     data::make({ "qpsk", "8psk", "16qam" }) * data::make({ 1u, 2u, 4u }),
                     name,
                     sps)
{
    receiver link(name, sps, 1024);
    link.add_noise(0.05f);
    const number image(0.06f, -0.04f);
    link.each([&](std::size_t, number x) { return x + image * std::conj(x); });
    // What is left is the noise: x - ρx̄ is (1 - |ρ|²) times the sent one.
    BOOST_TEST(link.run() == 0.05, boost::test_tools::tolerance(0.02));
    BOOST_TEST(std::abs(link.corrected.iq->image() - image) < 0.01f);
}

// One symbol in ten or more is decided as a neighbour: nearest points hide half of an image and more.
BOOST_DATA_TEST_CASE(an_image_is_taken_off_where_decisions_are_uncertain,
                     data::make({ "qpsk", "16qam", "64qam" }) ^
                         data::make({ 0.4f, 0.07f, 0.02f }),
                     name,
                     noise)
{
    receiver link(name, 2, 2048);
    link.add_noise(noise);
    const number image(0.1f, -0.08f), constant(0.1f, 0.05f);
    link.each([&](std::size_t, number x) { return x + image * std::conj(x) + constant; });
    link.run(true);
    // Four deviations of 1024 blocks' mean square, 0.7 / 256: an estimate below is not applied.
    BOOST_TEST(std::abs(link.corrected.iq->image() - image) < 0.015f);
}

// Its network removes an image that the model was trained with.
BOOST_AUTO_TEST_CASE(an_image_of_the_model_stays_where_decisions_are_uncertain)
{
    const constellation qpsk("qpsk");
    auto expected = drawn_points(qpsk);
    for (std::size_t i = 0; i < expected.size(); i += 2)
        expected[i] *= 1.2f;
    iq_correction correction(qpsk, expected), without(qpsk, drawn_points(qpsk));
    planes x(block, true);
    std::vector<std::uint8_t> labels(block);
    for (std::size_t k = 0; k < 1000; ++k) {
        for (std::size_t i = 0; i < block; ++i) {
            const std::size_t at =
                2 * ((k * block + i) % expected_waveform::drawn_symbols);
            x.re[i] = expected[at];
            x.im[i] = expected[at + 1];
            labels[i] = nearest_label(qpsk, { x.re[i], x.im[i] });
        }
        planes corrected = x;
        without.apply(corrected.re.data(), corrected.im.data(), block);
        without.learn(corrected, labels.data(), nullptr, 0, 1, block);
        correction.learn(x, labels.data(), nullptr, 0, 1, block);
    }
    BOOST_TEST(correction.image() == 0.0f);
    BOOST_TEST(std::abs(without.image() - 0.0909f) < 0.02f); // (1.2 - 1) / (1.2 + 1)
}

// There the residual is all there is.
BOOST_AUTO_TEST_CASE(a_model_with_an_image_has_another_one_taken_off)
{
    receiver link("16qam", 2, 1024);
    auto expected = drawn_points(link.alphabet);
    for (std::size_t i = 0; i < expected.size(); i += 2)
        expected[i] *= 1.2f;
    link.corrected.iq.emplace(link.alphabet, expected);
    link.add_noise(0.01f);
    const number image(0.06f, -0.04f);
    link.each([&](std::size_t, number x) { return x + image * std::conj(x); });
    link.run(true);
    BOOST_TEST(std::abs(link.corrected.iq->image() - image) < 0.01f);
}

// Every symbol of idle words is one of two opposite points, and a header has such ones, too.
BOOST_AUTO_TEST_CASE(an_idle_code_is_no_image)
{
    const constellation alphabet("16qam");
    const auto points = alphabet.unit_points();
    iq_correction correction(alphabet, drawn_points(alphabet));
    std::mt19937 random(5);
    planes x(block, true);
    std::vector<std::uint8_t> labels(block);
    for (std::size_t k = 0; k < 1000; ++k) {
        const bool is_header = k % 4 == 0;
        for (std::size_t i = 0; i < block; ++i) {
            const number point = is_header ? (random() & 1 ? points[0] : -points[0])
                                           : points[random() % points.size()];
            x.re[i] = point.real();
            x.im[i] = point.imag();
            labels[i] = nearest_label(alphabet, point);
        }
        correction.learn(x, labels.data(), nullptr, 0, 1, block);
    }
    BOOST_TEST(correction.image() == 0.0f);
}

// Of 8 links with an image each makes some 15 independent tests: 120 exp(-16) = 1e-5.
BOOST_DATA_TEST_CASE(nothing_is_taken_off_where_nothing_was_added,
                     data::make({ "qpsk", "16qam", "pam2", "pam4" }) *
                         data::make({ 1u, 2u }) * data::make({ false, true }),
                     name,
                     sps,
                     uncertain)
{
    receiver link(name, sps, 1024);
    link.add_noise(0.3f);
    link.run(uncertain);
    if (link.corrected.iq)
        BOOST_TEST(link.corrected.iq->image() == 0.0f);
    BOOST_TEST(link.corrected.echoes.strongest().lag == 0u);
}

// Their samples are their own image.
BOOST_AUTO_TEST_CASE(points_of_two_rotations_have_no_image)
{
    const constellation alphabet("bpsk");
    iq_correction bpsk(alphabet, drawn_points(alphabet));
    const std::size_t n = block;
    planes x(n, true), left(n, true);
    const std::vector<std::uint8_t> labels(n);
    for (std::size_t k = 0; k < 1000; ++k) {
        for (std::size_t i = 0; i < n; ++i) {
            x.re[i] = (i * i + k) % 3 ? 1.0f : -1.0f;
            left.re[i] = -0.1f * x.re[i]; // a gain
        }
        const signal_planes residual = left;
        bpsk.learn(x, labels.data(), k % 2 ? &residual : nullptr, 0, 1, n);
    }
    BOOST_TEST(bpsk.image() == 0.0f);
}

BOOST_DATA_TEST_CASE(late_echoes_are_taken_off,
                     data::make({ "qpsk", "16qam", "pam4" }) * data::make({ 1u, 2u, 4u }),
                     name,
                     sps)
{
    receiver link(name, sps, 2048);
    const std::size_t lag = 40 * sps, second = 101 * sps;
    const number strength = link.is_complex ? number(0.2f, -0.25f) : number(-0.3f, 0);
    const auto clean = link.sent;
    link.each([&](std::size_t i, number x) {
        return x + strength * clean[i - lag] + 0.1f * clean[i - second];
    });
    link.add_noise(0.02f);
    // Noise passes the recursion: 1 + |h|² + … with the present strengths.
    const double noise = 0.02 / (1 - std::norm(strength) - 0.01);
    BOOST_TEST(link.run() < 1.15 * noise);
    BOOST_TEST(link.corrected.echoes.strongest().lag == lag);
    BOOST_TEST(std::abs(link.corrected.echoes.strongest().strength - strength) < 0.1f);
}

// With decisions that are right an eighth of its 0.09 is left at 4e-5 cycles a symbol, half when each 16th block was learnt
// from at 1e-5. At 1e-4 a correction is soon wrong, and the echo stays; the other one, of 0.0625, which does not rotate,
// is removed.
BOOST_DATA_TEST_CASE(rotating_echoes_are_followed_or_left_alone,
                     data::make({ "qpsk", "16qam" }) * data::make({ 1u, 2u }) *
                         data::make({ 4e-5, 1e-4 }),
                     name,
                     sps,
                     cycles)
{
    receiver link(name, sps, 4096);
    const auto clean = link.sent;
    link.each([&](std::size_t i, number x) {
        const double phase = 2 * M_PI * cycles * static_cast<double>(i) / sps;
        return x +
               0.3f * static_cast<number>(std::polar(1.0, phase)) * clean[i - 40 * sps] +
               0.25f * clean[i - 70 * sps];
    });
    link.add_noise(0.02f);
    const double found = link.run();
    BOOST_TEST(found < (cycles < 5e-5 ? 0.02 + 0.02 : 1.15 * (0.02 + 0.09)));
}

// All lags are alike to a tone.
BOOST_DATA_TEST_CASE(a_tone_is_no_echo, data::make({ "qpsk", "pam4" }), name)
{
    receiver link(name, 2, 2048);
    link.add_noise(0.05f);
    link.each([is_complex = link.is_complex](std::size_t i, number x) {
        const number tone = std::polar(0.4f, 0.5717f * static_cast<float>(i));
        return x + (is_complex ? tone : number(tone.real(), 0));
    });
    link.run();
    BOOST_TEST(link.corrected.echoes.strongest().lag == 0u);
}

// However samples are cut, y(n) = x(n) - Σ h(d) y(n - d).
BOOST_DATA_TEST_CASE(echoes_are_taken_off_by_a_recursion,
                     data::make({ "qpsk", "pam4" }),
                     name)
{
    receiver link(name, 2, 512);
    link.each(
        [&sent = link.sent](std::size_t i, number x) { return x + 0.4f * sent[i - 90]; });
    link.run();
    const late_echoes& found = link.corrected.echoes;
    BOOST_REQUIRE(found.strongest().lag != 0u);
    const std::size_t first = late_echoes::latest * 2, n = 700;
    planes whole = link.samples, cut = link.samples;
    found.apply(whole, first, n);
    for (std::size_t i = 0, k = 1; i < n; k = k * 7 % 97) {
        const std::size_t count = std::min(k, n - i);
        found.apply(cut, first + i, count);
        i += count;
    }
    BOOST_TEST(whole.re == cut.re, boost::test_tools::per_element());
    BOOST_TEST(whole.im == cut.im, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
