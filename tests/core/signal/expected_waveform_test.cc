/* The expected waveform against its definition, written out.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/expected_waveform.h"
#include "core/signal/fit_waveform.h"
#include "core/signal/label_probabilities.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

using namespace gr::adann::core;

namespace {

constexpr std::size_t symbols = 400;

template <typename call>
void refused(const std::string& reason, call make)
{
    BOOST_CHECK_EXCEPTION(make(), std::invalid_argument, [&](const auto& error) {
        return std::string(error.what()).find(reason) != std::string::npos;
    });
}

struct drawn {
    drawn(const std::string& name,
          unsigned sps,
          bool complex,
          unsigned reach,
          unsigned context,
          unsigned memory)
        : alphabet(name),
          waveform(alphabet, sps, complex, reach, context, memory),
          labels(symbols)
    {
        std::mt19937 random(7);
        std::normal_distribution<float> normal;
        std::vector<float> affine(waveform.affine().size()),
            table(waveform.table().size()),
            polynomial(waveform.polynomial().coefficients().size());
        const auto draw = [&](std::vector<float>& values, float scale) {
            for (float& value : values)
                value = scale * normal(random);
        };
        // With a polynomial of it, of a received signal's power.
        draw(affine, memory ? 1 / std::sqrt(static_cast<float>(waveform.rows())) : 1);
        draw(table, 1);
        draw(polynomial, 0.1f);
        waveform.set(affine, table, 0.1f, {}, polynomial);
        for (auto& label : labels)
            label = random() % alphabet.size();
    }

    // One float of symbol i, by the classes' own words.
    double by_definition(std::size_t i, std::size_t j) const
    {
        std::size_t pattern = 0;
        for (std::size_t k = 0; k < waveform.context(); ++k)
            pattern = pattern * alphabet.size() + labels[i - waveform.context() / 2 + k];
        const std::size_t stride = waveform.stride();
        double value = affine(i, j) + waveform.table()[pattern * stride + j];
        const auto& polynomial = waveform.polynomial();
        if (!polynomial.memory())
            return value;
        const std::size_t planes = waveform.is_complex() ? 2 : 1, sps = waveform.sps();
        const float* of =
            &polynomial.coefficients()[j % planes *
                                       (polynomial.coefficients().size() / planes)];
        value += *of++;
        const int step = sps < 4 ? 1 : static_cast<int>(sps) / 4;
        const int memory = static_cast<int>(polynomial.memory());
        // Of I, of Q, and of |x|⁴.
        const std::vector<std::array<int, 3>> powers =
            planes == 1
                ? std::vector<std::array<int, 3>>{ { 1, 0, 0 }, { 2, 0, 0 }, { 3, 0, 0 } }
                : std::vector<std::array<int, 3>>{ { 1, 0, 0 }, { 0, 1, 0 }, { 2, 0, 0 },
                                                   { 1, 1, 0 }, { 0, 2, 0 }, { 3, 0, 0 },
                                                   { 2, 1, 0 }, { 1, 2, 0 }, { 0, 3, 0 },
                                                   { 1, 0, 1 }, { 0, 1, 1 } };
        for (const auto& [of_i, of_q, of_power] : powers)
            for (int tap = -memory; tap <= memory; ++tap) {
                const std::size_t sample = i * sps + j / planes + tap * step;
                const auto part = [&](std::size_t plane) {
                    return plane < planes
                               ? affine(sample / sps, sample % sps * planes + plane)
                               : 0;
                };
                value += *of++ * std::pow(part(0), of_i) * std::pow(part(1), of_q) *
                         std::pow(part(0) * part(0) + part(1) * part(1), 2 * of_power);
            }
        return value;
    }

    double affine(std::size_t i, std::size_t j) const
    {
        const std::size_t reach = waveform.affine_reach(), stride = waveform.stride();
        double power = 0, value = waveform.affine()[j];
        for (const auto& point : alphabet.points())
            power += std::norm(point) / double(alphabet.size());
        std::size_t row = 1;
        for (std::size_t k = 0; k <= 2 * reach; ++k) {
            const auto point = alphabet.points()[labels[i + k - reach]];
            value +=
                point.real() / std::sqrt(power) * waveform.affine()[row++ * stride + j];
            if (alphabet.is_complex())
                value += point.imag() / std::sqrt(power) *
                         waveform.affine()[row++ * stride + j];
        }
        return value;
    }

    const constellation alphabet;
    expected_waveform waveform;
    std::vector<std::uint8_t> labels;
};

struct kind {
    const char* name;
    unsigned sps;
    bool complex;
    unsigned reach, context, memory = 0;
};
const kind kinds[] = {
    { "pam4", 4, false, 6, 5 },    { "pam2", 1, false, 3, 7 },
    { "pam2", 2, true, 6, 4 },     { "qpsk", 2, true, 5, 3 },
    { "16qam", 4, true, 6, 3 },    { "64qam", 2, true, 2, 2 },
    { "pam8", 3, false, 6, 1 },    { "16qam", 7, true, 6, 0 },
    { "pam4", 8, false, 0, 1 },    { "qpsk", 1, true, 4, 0 },
    { "pam4", 4, false, 6, 5, 2 }, { "pam8", 1, false, 2, 2, 2 },
    { "16qam", 4, true, 3, 2, 8 }, { "pam2", 3, true, 3, 3, 4 },
    { "qpsk", 9, true, 1, 0, 3 },  { "pam4", 64, false, 1, 1, 8 },
    { "qpsk", 64, true, 2, 1, 8 },
};

} // namespace

BOOST_AUTO_TEST_SUITE(expected_waveforms)

BOOST_AUTO_TEST_CASE(each_sample_is_what_the_definition_says_however_it_is_cut)
{
    for (const auto& k : kinds) {
        BOOST_TEST_CONTEXT(k.name << " sps " << k.sps << " context " << k.context
                                  << " memory " << k.memory)
        {
            const drawn d(k.name, k.sps, k.complex, k.reach, k.context, k.memory);
            const std::size_t reach = d.waveform.reach(), stride = d.waveform.stride();
            const std::size_t count = symbols - 2 * reach;
            BOOST_TEST(stride == k.sps * (k.complex ? 2 : 1));
            std::vector<float> all(count * stride), cut(all.size());
            d.waveform.expect(&d.labels[reach], count, all.data());
            for (std::size_t i = 0; i < count; ++i)
                for (std::size_t j = 0; j < stride; ++j) {
                    const double value = d.by_definition(reach + i, j);
                    BOOST_TEST(std::abs(all[i * stride + j] - value) <
                               2e-5 * std::max(1.0, std::abs(value)));
                }
            for (std::size_t i = 0, n = 1; i < count; i += n, n = i % 7 + 1)
                d.waveform.expect(
                    &d.labels[reach + i], std::min(n, count - i), &cut[i * stride]);
            BOOST_TEST((cut == all));
            d.waveform.expect_nonlinear(&d.labels[reach], count, cut.data());
            for (std::size_t i = 0; i < count; ++i)
                for (std::size_t j = 0; j < stride; ++j) {
                    const double value = d.by_definition(reach + i, j);
                    const double of_points =
                        d.affine(reach + i, j) - double{ d.waveform.affine()[j] };
                    BOOST_TEST(
                        std::abs(cut[i * stride + j] + of_points - value) <
                        2e-5 * std::max({ 1.0, std::abs(value), std::abs(of_points) }));
                }

            auto other = all;
            for (std::size_t i = 0; i < other.size(); ++i)
                other[i] += i % 2 ? 0.5f : -0.25f;
            BOOST_TEST(d.waveform.residual(&d.labels[reach], all.data(), count) == 0);
            BOOST_TEST(
                d.waveform.residual(
                    &d.labels[reach], other.data(), other.size() / stride) ==
                    (0.25 * (other.size() / 2) + 0.0625 * ((other.size() + 1) / 2)) /
                        other.size(),
                boost::test_tools::tolerance(1e-5));
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_out_of_range_is_named)
{
    const constellation pam4("pam4"), qpsk("qpsk");
    const auto make = [&](unsigned sps, unsigned reach, unsigned context) {
        return [=] { expected_waveform(pam4, sps, false, reach, context); };
    };
    refused("sps is 0", make(0, 6, 5));
    refused("waveform reach is 65, allowed: 0 to 64", make(4, 65, 5));
    refused("waveform context is 6, allowed: 0 to 5", make(4, 2, 6));
    refused("waveform context is 9, allowed: at most 65536 patterns", make(4, 6, 9));
    refused("constellation is qpsk", [&] { expected_waveform(qpsk, 4, false, 6, 3); });

    expected_waveform waveform(pam4, 4, false, 1, 1);
    std::vector<float> affine(16), table(16);
    refused("waveform affine is 15",
            [&] { waveform.set(std::vector<float>(15), table, 1); });
    refused("waveform table is 17",
            [&] { waveform.set(affine, std::vector<float>(17), 1); });
    refused("waveform noise is 0", [&] { waveform.set(affine, table, 0); });
    std::vector<float> correlation(66);
    refused("waveform noise correlation is 66, allowed: 65",
            [&] { waveform.set(affine, table, 1, correlation); });
    correlation.pop_back();
    correlation[31] = 1001;
    refused("a value of the waveform",
            [&] { waveform.set(affine, table, 1, correlation); });
    table[3] = std::numeric_limits<float>::quiet_NaN();
    refused("a value of the waveform", [&] { waveform.set(affine, table, 1); });

    refused("waveform memory is 9, allowed: 0 to 8",
            [&] { expected_waveform(pam4, 4, false, 1, 1, 9); });
    expected_waveform bent(pam4, 4, false, 1, 1, 2);
    std::vector<float> polynomial(1 + 3 * 5);
    table[3] = 0;
    refused("waveform polynomial is 15, allowed: 16",
            [&] { bent.set(affine, table, 1, {}, std::vector<float>(15)); });
    polynomial[0] = 1001;
    refused("a value of the waveform's polynomial",
            [&] { bent.set(affine, table, 1, {}, polynomial); });

    const std::vector<std::uint8_t> labels(79, 4);
    const std::vector<float> samples(316);
    refused("a label is 4", [&] {
        fit_waveform(pam4, 4, false, samples.data(), labels.data(), labels.size());
    });
    const std::vector<std::uint8_t> few(79, 0);
    refused("usable samples and neighbours is 51, allowed: at least 52", [&] {
        fit_waveform(pam4, 4, false, samples.data(), few.data(), few.size());
    });
}

// Of PAM4 with points ±1, ±3 over √5 and no neighbours: 0.2 · 9/5 + 0.8 · 1/5 of the power that equal
// probabilities give. Of 4096 draws the mean has a standard deviation of 0.01.
BOOST_AUTO_TEST_CASE(power_is_that_of_the_labels_that_are_sent)
{
    expected_waveform pam4(constellation("pam4"), 1, false, 0, 0);
    pam4.set({ 0, 1 }, { 0 }, 0.1f);
    BOOST_TEST(pam4.has_equal_probabilities());
    BOOST_TEST(std::abs(pam4.power() - 1) < 0.06);
    pam4.set_probabilities({ 0.1f, 0.4f, 0.1f, 0.4f });
    BOOST_TEST(!pam4.has_equal_probabilities());
    BOOST_TEST(std::abs(pam4.power() - 0.52) < 0.05);
    const auto samples = pam4.drawn();
    const auto outer = std::count_if(
        samples.begin(), samples.end(), [](float x) { return std::abs(x) > 1; });
    BOOST_TEST(std::abs(static_cast<double>(outer) - 819.2) < 5 * 25.6); // √(n p (1 - p))
    refused("label probabilities is 3, allowed: 4", [&] {
        pam4.set_probabilities({ 0.5f, 0.25f, 0.25f });
    });
    refused("sum of label probabilities is", [&] {
        pam4.set_probabilities({ 0.5f, 0.25f, 0.25f, 0.25f });
    });
    refused("a label's probability is -0.25", [&] {
        pam4.set_probabilities({ 0.75f, 0.25f, 0.25f, -0.25f });
    });
    refused("label probabilities is of one label alone", [&] {
        pam4.set_probabilities({ 1, 0, 0, 0 });
    });
}

// Noise of 0.1, and pulses of 10 dB over the signal in 30 of each 1000 symbols: in all symbols its deviation is 0.56. Of
// 16,000 samples it has a standard error of 6e-4.
BOOST_AUTO_TEST_CASE(pulses_of_interference_are_no_noise_of_the_waveform)
{
    constexpr std::size_t count = 8192, sps = 2;
    const constellation pam4("pam4");
    expected_waveform sent(pam4, sps, false, 1, 0);
    sent.set({ 0, 0, 0.1f, 0, 1, 0.5f, 0, 0.5f }, { 0, 0 }, 0.1f);
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    std::vector<std::uint8_t> labels(count);
    for (auto& label : labels)
        label = random() % 4;
    std::vector<float> samples(count * sps);
    sent.expect(labels.data() + 1, count - 2, samples.data() + sps);
    for (std::size_t i = 0; i < samples.size(); ++i)
        samples[i] += (i / sps % 1000 < 30 ? 3.2f : 0.1f) * normal(random);
    const auto fitted =
        fit_waveform(pam4, sps, false, samples.data(), labels.data(), count);
    BOOST_TEST(std::abs(fitted.noise() - 0.1f) < 5 * 6e-4f);
    const auto& correlation = fitted.noise_correlation();
    BOOST_TEST(std::abs(correlation[correlation.size() / 2] - 0.01f) < 5 * 1.2e-4f);
}

// Equal ones stay equal but with a probability of 10^-6 each time.
BOOST_AUTO_TEST_CASE(frequencies_count_where_they_surely_differ)
{
    std::mt19937 random(3);
    for (const std::size_t classes : { 2u, 4u, 16u, 64u })
        for (int set = 0; set < 200; ++set) {
            std::vector<std::uint8_t> labels(2000);
            for (auto& label : labels)
                label = static_cast<std::uint8_t>(random() % classes);
            const auto found = label_probabilities(labels.data(), labels.size(), classes);
            BOOST_TEST(
                (found == std::vector<float>(classes, 1 / static_cast<float>(classes))));
        }
    const std::vector<std::uint8_t> shaped{ 0, 1, 1, 1, 1, 2, 3, 3, 3, 3 };
    std::vector<std::uint8_t> labels;
    for (int k = 0; k < 100; ++k)
        labels.insert(labels.end(), shaped.begin(), shaped.end());
    const std::vector<float> expected{ 0.1f, 0.4f, 0.1f, 0.4f };
    BOOST_TEST((label_probabilities(labels.data(), labels.size(), 4) == expected));
}

BOOST_AUTO_TEST_SUITE_END()
