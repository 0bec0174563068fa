/* Gain that changes from block to block, and how far measurements of it are believed.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/residual_gain.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <complex>
#include <optional>
#include <random>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

using complex = std::complex<float>;

const float* floats(const std::vector<complex>& samples)
{
    return reinterpret_cast<const float*>(samples.data());
}

std::vector<complex> noise(std::size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<complex> samples(n);
    for (auto& sample : samples)
        sample = { normal(random), normal(random) };
    return samples;
}

// The Wiener filter's weights for three measurements of an error of these covariances, by Cramer's
// rule.
std::array<double, 3>
wiener(const std::array<double, 3>& c, double variance, std::optional<double> wanted = {})
{
    const double a = c[0] + variance, b = c[1], d = c[2];
    const double m[3][3] = { { a, b, d }, { b, a, b }, { d, b, a } };
    const auto det = [](const double(&x)[3][3]) {
        return x[0][0] * (x[1][1] * x[2][2] - x[1][2] * x[2][1]) -
               x[0][1] * (x[1][0] * x[2][2] - x[1][2] * x[2][0]) +
               x[0][2] * (x[1][0] * x[2][1] - x[1][1] * x[2][0]);
    };
    std::array<double, 3> found;
    for (std::size_t column = 0; column < 3; ++column) {
        double other[3][3];
        for (std::size_t j = 0; j < 3; ++j)
            for (std::size_t k = 0; k < 3; ++k)
                other[j][k] = k != column ? m[j][k] : j ? c[j] : wanted.value_or(c[0]);
        found[column] = det(other) / det(m);
    }
    return found;
}

// Blocks whose error goes on from `part` of the one before, as measured. \param known of the measurement's variance
block_error_filter filter_of(double part,
                             double power,
                             double variance,
                             int blocks = 100'000,
                             int seed = 5,
                             double mean = 0,
                             std::optional<double> known = {})
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    block_errors errors;
    block_error_filter filter;
    double error = 0;
    for (int i = 0; i < blocks; ++i) {
        error = part * error + std::sqrt((1 - part * part) * power) * normal(random);
        const double measured = mean + error + std::sqrt(variance) * normal(random);
        errors.add(static_cast<float>(measured));
        filter.add(errors, known.value_or(variance));
    }
    return filter;
}

} // namespace

BOOST_AUTO_TEST_SUITE(residual_gain)

BOOST_DATA_TEST_CASE(a_blocks_gain_is_corrected_by_the_parts_of_the_latest_ones,
                     data::make({ 1u, 2u }),
                     floats_each)
{
    const auto expected = noise(32, 1);
    const std::size_t n = 64 / floats_each;
    residual_gains gains;
    std::complex<float> factor;
    const residual_gains::weights parts{ { 0.5f, 0.25f, 0.1f },
                                         { 0.4f, 0.3f, 0.2f },
                                         0.05f };
    const float phases[] = { 0.3f, -0.2f, 0.5f, 3.0f };
    const float amplitudes[] = { 1.5f, 0.7f, 1.2f, 0.9f };
    for (int k = 0; k < 4; ++k) {
        auto received = expected;
        for (auto& sample : received)
            sample *= floats_each == 2 ? std::polar(amplitudes[k], phases[k])
                                       : complex(amplitudes[k]);
        factor = gains.take(floats(expected), floats(received), n, floats_each, parts);
        BOOST_TEST(gains.phases()[0] == (floats_each == 2 ? phases[k] : 0.0f),
                   boost::test_tools::tolerance(1e-5f));
        BOOST_TEST(gains.amplitudes()[0] == std::log(amplitudes[k]),
                   boost::test_tools::tolerance(1e-4f));
    }
    BOOST_TEST(gains.phases().count() == 3u);
    const float phase = floats_each == 2 ? 0.5f * 3 + 0.25f * 0.5f - 0.1f * 0.2f : 0;
    const float amplitude = std::pow(0.9f, 0.4f) * std::pow(1.2f, 0.3f) *
                            std::pow(0.7f, 0.2f) * std::exp(-0.9f * 0.05f);
    BOOST_TEST(std::abs(factor - std::polar(1 / amplitude, -phase)) < 1e-5f);
    double energy = 0;
    for (const auto& sample : expected)
        energy += std::norm(sample);
    BOOST_TEST(gains.energy() == energy, boost::test_tools::tolerance(1e-5));

    auto samples = expected;
    multiply(reinterpret_cast<float*>(samples.data()), n, floats_each, factor);
    for (std::size_t i = 0; i < samples.size(); ++i)
        BOOST_TEST(std::abs(samples[i] - factor * expected[i]) < 1e-5f);
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_no_gain)
{
    const std::vector<complex> expected{ 1.0f }, received{ std::nanf("") };
    residual_gains gains;
    const auto factor = gains.take(
        floats(expected), floats(received), 1, 2, { { 1, 1, 1 }, { 1, 1, 1 }, 0 });
    BOOST_TEST(factor == 1.0f);
}

// Of 512 blocks, as many as are remembered: independent errors pass in one of 30,000 cases, those of which neighbours
// have 0.7 in common nearly always (their covariance is 15 of its deviations). A mean is no error.
BOOST_AUTO_TEST_CASE(what_neighbours_do_not_have_in_common_is_not_believed)
{
    const block_errors::weights nothing{};
    for (int seed = 0; seed < 100; ++seed) {
        BOOST_TEST((filter_of(0, 1e-3, 1e-4, 512, seed, 0.1).solve_common() == nothing));
        BOOST_TEST(filter_of(0.7, 1e-3, 1e-4, 512, seed).solve_common()[0] > 0.2f);
    }
    BOOST_TEST((block_error_filter().solve_common() == nothing));
}

// The parts in common are 0.7 of the variance at one block, 0.49 at two: 0.91 by the line through them, with errors of
// the labels, independent from block to block, of as much variance.
BOOST_AUTO_TEST_CASE(weights_of_what_neighbours_have_in_common)
{
    constexpr double power = 1e-3;
    auto filter = filter_of(0.7, power, 2e-3, 100'000, 5, 0.1, 1e-3);
    BOOST_TEST(std::abs(filter.mean() - 0.1) < 2e-3);
    const auto found = filter.solve_common();
    const auto wanted = wiener({ power, 0.7 * power, 0.49 * power }, 2e-3, 0.91 * power);
    for (std::size_t back = 0; back < 3; ++back)
        BOOST_TEST(std::abs(found[back] - wanted[back]) < 0.03,
                   back << ": " << found[back] << ", " << wanted[back]);
}

// 100,000 blocks: a mean product is known to 1.5 % or better (a seed is fixed).
BOOST_DATA_TEST_CASE(weights_are_the_wiener_filter_of_an_error_that_goes_on,
                     data::make({ 0.3, 0.7, 0.95 }) * data::make({ 1e-4, 1e-3, 1e-2 }),
                     part,
                     variance)
{
    constexpr double power = 1e-3;
    const auto found = filter_of(part, power, variance).solve();
    const auto wanted = wiener({ power, part * power, part * part * power }, variance);
    for (std::size_t back = 0; back < 3; ++back)
        BOOST_TEST(std::abs(found[back] - wanted[back]) < 0.03,
                   back << ": " << found[back] << ", " << wanted[back]);
}

BOOST_AUTO_TEST_CASE(noise_is_not_believed)
{
    for (const float weight : filter_of(0, 0, 1e-3).solve())
        BOOST_TEST(std::abs(weight) < 0.02f);
    block_error_filter none;
    for (const float weight : none.solve())
        BOOST_TEST(weight == 0.0f);
}

BOOST_AUTO_TEST_SUITE_END()
