/* Complex samples are rotated. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/rotate.h"

#include <boost/test/unit_test.hpp>

#include <random>
#include <vector>

using namespace gr::adann::core;
using number = std::complex<float>;

namespace {

std::vector<number> drawn(std::size_t n)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<number> samples(n);
    for (auto& each : samples) {
        const float re = normal(random);
        each = { re, normal(random) };
    }
    return samples;
}

float* floats(std::vector<number>& samples)
{
    return reinterpret_cast<float*>(samples.data());
}

} // namespace

BOOST_AUTO_TEST_SUITE(rotations)

BOOST_AUTO_TEST_CASE(a_sample_is_multiplied)
{
    for (const number sample : drawn(100))
        for (const double phase : { 0.0, 0.3, 2.0, -1.0, 100.0 }) {
            const number by(std::polar(1.0, phase)), expected = sample * by;
            float re = sample.real(), im = sample.imag();
            rotate(re, im, by.real(), by.imag());
            BOOST_TEST(std::abs(number(re, im) - expected) < 1e-6f);
            re = sample.real(), im = sample.imag();
            rotate(re, im, phase);
            BOOST_TEST(std::abs(number(re, im) - expected) < 1e-6f);
        }
}

BOOST_AUTO_TEST_CASE(interleaved_samples_are_multiplied)
{
    const number by(std::polar(1.5f, 0.7f));
    auto samples = drawn(33);
    const auto before = samples;
    std::vector<number> turned(samples.size()), times(samples.size());
    rotate(floats(samples), by, samples.size(), floats(turned));
    times_i(floats(samples), samples.size(), floats(times));
    rotate(floats(samples), by, samples.size(), floats(samples));
    for (std::size_t i = 0; i < samples.size(); ++i) {
        BOOST_TEST(std::abs(turned[i] - before[i] * by) < 1e-6f);
        BOOST_TEST(std::abs(times[i] - before[i] * number(0, 1)) < 1e-6f);
        BOOST_TEST((samples[i] == turned[i]));
    }
}

BOOST_AUTO_TEST_CASE(a_carrier_is_removed)
{
    constexpr double phase = 0.4, growth = -0.01, first = -7;
    const auto sent = drawn(100);
    std::vector<float> re, im;
    for (std::size_t i = 0; i < sent.size(); ++i) {
        const auto at = static_cast<double>(i);
        const number received =
            sent[i] * number(std::polar(1.0, phase + growth * (first + at)));
        re.push_back(received.real());
        im.push_back(received.imag());
    }
    rotate_back(re.data(), im.data(), sent.size(), phase, growth, first);
    for (std::size_t i = 0; i < sent.size(); ++i)
        BOOST_TEST(std::abs(number(re[i], im[i]) - sent[i]) < 1e-6f);
}

BOOST_AUTO_TEST_SUITE_END()
