/* What counts as noise, and what as wrong labels. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/files/tensor_file.h"
#include "core/tracking/linear_estimator.h"
#include "core/tracking/noise_level.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <utility>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

constexpr std::size_t symbols = 128, tests = 8;
constexpr float learnt = 0.01f; // deviation of the noise in each dimension

//! The waveform of points themselves, one complex sample a symbol.
expected_waveform points_of(const constellation& alphabet)
{
    expected_waveform waveform(alphabet, 1, true, 1, 0);
    std::vector<float> affine(waveform.rows() * waveform.stride());
    const std::size_t middle =
        1 + alphabet.dimensions(); // after the constant and one symbol's rows
    for (std::size_t d = 0; d < alphabet.dimensions(); ++d)
        affine[(middle + d) * waveform.stride() + d] = 1;
    waveform.set(affine, std::vector<float>(waveform.table().size()), learnt);
    return waveform;
}

//! Tests of symbols through `channel`, decided as the nearest points.
struct tested_stream {
    explicit tested_stream(const std::string& name)
        : alphabet(name),
          waveform(points_of(alphabet)),
          level(waveform, alphabet, symbols)
    {
    }

    using channel = std::function<std::complex<float>(std::complex<float>)>;
    //! \param residual mean square of a sample
    void test(float residual, const channel& change, std::size_t count = tests)
    {
        draw(change, count, [&](const std::uint8_t* labels, const float* samples) {
            level.test(residual, waveform, labels, samples);
        });
    }
    void test_unfiltered(const noise_level::residuals& left, const channel& change)
    {
        draw(change, tests, [&](const std::uint8_t* labels, const float* samples) {
            level.test_unfiltered(left, waveform, labels, samples);
        });
    }
    template <typename Function>
    void draw(const channel& change, std::size_t count, const Function& tested)
    {
        const auto points = alphabet.unit_points();
        std::uniform_int_distribution<std::size_t> any(0, points.size() - 1);
        for (std::size_t t = 0; t < count; ++t) {
            std::vector<std::uint8_t> labels(symbols + 2 * waveform.reach());
            std::vector<float> samples(2 * labels.size());
            for (std::size_t k = 0; k < labels.size(); ++k) {
                const auto z = change(points[any(random)]);
                const auto nearest = std::min_element(
                    points.begin(), points.end(), [&](const auto& a, const auto& b) {
                        return std::norm(z - a) < std::norm(z - b);
                    });
                labels[k] = static_cast<std::uint8_t>(nearest - points.begin());
                samples[2 * k] = z.real(), samples[2 * k + 1] = z.imag();
            }
            tested(&labels[waveform.reach()], &samples[2 * waveform.reach()]);
        }
    }
    channel noise(
        double power, channel before = [](auto z) { return z; })
    {
        return [this,
                before,
                normal = std::normal_distribution<float>(
                    0, static_cast<float>(std::sqrt(power / 2)))](
                   std::complex<float> z) mutable {
            const float re = normal(random);
            return before(z) + std::complex<float>(re, normal(random));
        };
    }

    std::mt19937 random{ 1 };
    const constellation alphabet;
    const expected_waveform waveform;
    noise_level level;
};

} // namespace

BOOST_AUTO_TEST_SUITE(noise_levels)

// Of points that stand alone in white noise: an unbiased estimate is the sample.
BOOST_AUTO_TEST_CASE(an_estimate_of_points_in_white_noise_is_the_sample)
{
    const constellation alphabet("16qam");
    const expected_waveform waveform = points_of(alphabet);
    const symbol_response response(waveform, 2);
    for (const float noise : { 0.0f, 0.05f, 0.4f }) {
        const linear_estimator by(waveform, response, { 0, true, noise });
        const float power = noise > 0 ? noise : 2 * learnt * learnt;
        BOOST_TEST(by.variance() == power, boost::test_tools::tolerance(1e-3f));
        const float samples[] = { 5, 6, 0.3f, -0.2f, 7, 8 };
        BOOST_TEST(by.estimate(samples).real() == 0.3f,
                   boost::test_tools::tolerance(1e-4f));
        BOOST_TEST(by.estimate(samples).imag() == -0.2f,
                   boost::test_tools::tolerance(1e-4f));
    }
}

// 12 % of the symbols are wrong. No one of 3000 simulated draws had a mean distance as large as of wrong labels.
BOOST_AUTO_TEST_CASE(right_labels_with_much_noise_show_noise)
{
    tested_stream stream("16qam");
    const float before = stream.level.limit(), random = stream.level.at_random();
    stream.test(0.06f, stream.noise(0.0667), tests - 1);
    BOOST_TEST(stream.level.limit() == before); // too few symbols
    stream.test(0.06f, stream.noise(0.0667), 1);
    const float more = 0.06f - 2 * learnt * learnt;
    BOOST_TEST(std::abs(stream.level.limit() - before - more) < 1e-5f);
    BOOST_TEST(std::abs(stream.level.at_random() - random - more) < 1e-5f);
    stream.test(0.02f, stream.noise(0.02), 1); // less noise
    BOOST_TEST(std::abs(stream.level.limit() - before - 0.02f + 2 * learnt * learnt) <
               1e-5f);
    stream.test(1e-5f, stream.noise(1e-5), 1);
    BOOST_TEST(stream.level.limit() == before); // that the model learnt, not less
}

// Another phase, noise alone, and what is not a number.
BOOST_DATA_TEST_CASE(wrong_labels_show_none,
                     data::make({ "qpsk", "8psk", "16qam", "64qam" }),
                     name)
{
    tested_stream stream(name);
    const float before = stream.level.limit();
    const float angle = name == std::string("qpsk") ? 0.75f : 0.4f; // radians
    const auto turned = [&](auto z) { return z * std::polar(1.0f, angle); };
    stream.test(1, stream.noise(0.01, turned), 64);
    BOOST_TEST(stream.level.limit() == before);
    stream.test(1, stream.noise(1, [](auto) { return 0.0f; }), 64);
    BOOST_TEST(stream.level.limit() == before);
    const std::vector<std::uint8_t> labels(symbols + 2);
    for (const float residual : { std::numeric_limits<float>::quiet_NaN(), 1.0f }) {
        stream.level.test(residual, stream.waveform, &labels[1], nullptr);
        BOOST_TEST(stream.level.limit() == before);
    }
}

// As after a jump of the channel: also where more noise was known, and the residual is below its limit.
BOOST_AUTO_TEST_CASE(wrong_labels_end_it)
{
    tested_stream stream("16qam");
    const float before = stream.level.limit();
    stream.test(0.06f, stream.noise(0.0667));
    const float raised = stream.level.limit();
    const auto turned = [](auto z) { return z * std::polar(1.0f, 0.4f); };
    stream.test(0.09f, stream.noise(0.0667, turned), 1);
    BOOST_TEST(stream.level.limit() == raised); // most of the latest are right
    stream.test(0.09f, stream.noise(0.0667, turned), tests);
    BOOST_TEST(stream.level.limit() == before);
    stream.test(0.06f, stream.noise(0.0667), 8 * tests);
    BOOST_TEST(stream.level.limit() == raised);
}

// Labels without the filter: 7 to 12 % of the decisions are wrong. If a channel explains them, that is it.
BOOST_DATA_TEST_CASE(points_show_noise_unless_a_channel_explains_it,
                     data::make({ "qpsk", "8psk", "16qam", "64qam" }),
                     name)
{
    for (const auto& [fitted, is_noise] : { std::pair{ 0.95f, true }, { 0.5f, false } }) {
        tested_stream stream(name);
        const float h = stream.alphabet.half_distance(), power = 0.6f * h * h;
        const float before = stream.level.limit();
        stream.test_unfiltered({ power, fitted * power }, stream.noise(power));
        BOOST_TEST(stream.level.is_raised() == is_noise);
        BOOST_TEST((stream.level.limit() > before) == is_noise);
        if (is_noise)
            BOOST_TEST(stream.level.power() == fitted * power,
                       boost::test_tools::tolerance(1e-5f));
    }
    tested_stream turning(name);
    float phase = 0;
    turning.test_unfiltered({ 1, 1 }, turning.noise(0.001, [&](auto z) {
        return z * std::polar(1.0f, phase += 0.02f);
    }));
    BOOST_TEST(!turning.level.is_raised());
}

BOOST_AUTO_TEST_CASE(it_goes_on_from_what_was_saved)
{
    tested_stream stream("16qam");
    stream.test(0.06f, stream.noise(0.0667), tests - 1);
    tensor_file file;
    archive saved = archive::saving(file, "noise");
    stream.level.state(saved);
    noise_level other(stream.waveform, stream.alphabet, symbols);
    archive restored = archive::restoring(file, "noise");
    other.state(restored);
    stream.test(0.06f, stream.noise(0.0667), 1);
    std::swap(stream.level, other);
    stream.random.seed(9); // a test of its own
    stream.test(0.06f, stream.noise(0.0667), 1);
    BOOST_TEST(stream.level.limit() == other.limit());
    BOOST_TEST(stream.level.is_raised());
}

BOOST_AUTO_TEST_CASE(a_reset_forgets_it)
{
    tested_stream stream("16qam");
    const float before = stream.level.limit();
    stream.test(0.06f, stream.noise(0.0667));
    BOOST_TEST(stream.level.limit() > before);
    stream.level.reset();
    BOOST_TEST(stream.level.limit() == before);
    stream.test(0.06f, stream.noise(0.0667), tests - 1);
    BOOST_TEST(stream.level.limit() == before);
}

BOOST_AUTO_TEST_SUITE_END()
