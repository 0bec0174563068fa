/* What is taken off samples before the taps, against what was added to them.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/corrections.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

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
                     impulse_detector(2),
                     interfering_tone(sps, is_complex),
                     {},
                     { reach, sps, is_complex } },
          sent((blocks * block + late_echoes::latest) * sps),
          samples(sent.size(), is_complex),
          done(late_echoes::latest * sps)
    {
        if (is_complex)
            corrected.iq.emplace(alphabet);
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
    // Mean square of what is left over the last quarter.
    double run()
    {
        const std::size_t n = block * sps;
        double power = 0, count = 0;
        planes left(n, is_complex);
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
            corrected.learn(
                samples + static_cast<std::ptrdiff_t>(done), left, sps, block);
        }
        return power / count;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(sample_corrections)

BOOST_DATA_TEST_CASE(an_image_and_a_constant_are_taken_off,
                     data::make({ "qpsk", "8psk", "16qam" }) * data::make({ 1u, 2u, 4u }),
                     name,
                     sps)
{
    receiver link(name, sps, 1024);
    link.add_noise(0.05f);
    const number image(0.06f, -0.04f), constant(-0.05f, 0.03f);
    link.each([&](std::size_t, number x) { return x + image * std::conj(x) + constant; });
    // What is left is the noise: x - ρx̄ is (1 - |ρ|²) times the sent one.
    BOOST_TEST(link.run() == 0.05, boost::test_tools::tolerance(0.02));
    BOOST_TEST(std::abs(link.corrected.iq->image() - image) < 0.01f);
    // Without the image the constant is c - ρc̄.
    const number expected = constant - image * std::conj(constant);
    BOOST_TEST(std::abs(link.corrected.iq->constant() - expected) < 0.01f);
}

// Of 8 links each makes some 15 independent tests of each of two coefficients: 240 exp(-14) = 2e-4.
BOOST_DATA_TEST_CASE(nothing_is_taken_off_where_nothing_was_added,
                     data::make({ "qpsk", "16qam", "pam2", "pam4" }) *
                         data::make({ 1u, 2u }),
                     name,
                     sps)
{
    receiver link(name, sps, 1024);
    link.add_noise(0.3f);
    link.run();
    if (link.corrected.iq) {
        BOOST_TEST(link.corrected.iq->image() == 0.0f);
        BOOST_TEST(link.corrected.iq->constant() == 0.0f);
    }
    BOOST_TEST(link.corrected.echoes.strongest().lag == 0u);
}

// Their samples are their own image.
BOOST_AUTO_TEST_CASE(points_of_two_rotations_have_no_image)
{
    iq_correction bpsk(constellation("bpsk"));
    const std::size_t n = block;
    planes x(n, true), left(n, true);
    for (std::size_t k = 0; k < 1000; ++k) {
        for (std::size_t i = 0; i < n; ++i) {
            x.re[i] = (i * i + k) % 3 ? 1.0f : -1.0f;
            left.re[i] = -0.1f * x.re[i]; // a gain
        }
        bpsk.learn(x, left, 0, 1, n);
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
