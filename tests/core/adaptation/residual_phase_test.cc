/* What a carrier's loop leaves, and how far measurements of it are believed.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/residual_phase.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <complex>
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

// The Wiener filter's weights for three measurements of a phase of these covariances, by Cramer's
// rule.
std::array<double, 3> wiener(const std::array<double, 3>& c, double variance)
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
                other[j][k] = k == column ? c[j] : m[j][k];
        found[column] = det(other) / det(m);
    }
    return found;
}

// Blocks of one sample, whose phase goes on from `part` of the one before, as measured.
residual_phases::weights weights_of(double part, double power, double variance)
{
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    residual_phases phases;
    residual_phase_filter filter;
    const complex expected(0.6f, -0.8f);
    double phase = 0;
    for (int i = 0; i < 100'000; ++i) {
        phase = part * phase + std::sqrt((1 - part * part) * power) * normal(random);
        const double measured = phase + std::sqrt(variance) * normal(random);
        const complex received =
            2.0f * expected * std::polar(1.0f, static_cast<float>(measured));
        phases.take(reinterpret_cast<const float*>(&expected),
                    reinterpret_cast<const float*>(&received),
                    1,
                    {});
        filter.add(phases, variance);
    }
    return filter.solve();
}

} // namespace

BOOST_AUTO_TEST_SUITE(residual_phase)

BOOST_AUTO_TEST_CASE(a_block_is_turned_back_by_the_parts_of_the_latest_phases)
{
    const auto expected = noise(32, 1);
    residual_phases phases;
    float turned = 0;
    for (const float phase : { 0.3f, -0.2f, 0.5f, 3.0f }) {
        auto received = expected;
        for (auto& sample : received)
            sample *= std::polar(1.5f, phase);
        turned =
            phases.take(floats(expected), floats(received), 32, { 0.5f, 0.25f, 0.1f });
        BOOST_TEST(phases[0] == phase, boost::test_tools::tolerance(1e-5f));
    }
    BOOST_TEST(phases.count() == 3u);
    BOOST_TEST(turned == 0.5f * 3 + 0.25f * 0.5f - 0.1f * 0.2f,
               boost::test_tools::tolerance(1e-5f));
    double energy = 0;
    for (const auto& sample : expected)
        energy += std::norm(sample);
    BOOST_TEST(phases.energy() == energy, boost::test_tools::tolerance(1e-5));

    auto samples = expected;
    for (auto& sample : samples)
        sample *= std::polar(1.0f, turned);
    turn_back(reinterpret_cast<float*>(samples.data()), samples.size(), turned);
    for (std::size_t i = 0; i < samples.size(); ++i)
        BOOST_TEST(std::abs(samples[i] - expected[i]) < 1e-5f);
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_no_phase)
{
    const std::vector<complex> expected{ 1.0f }, received{ std::nanf("") };
    residual_phases phases;
    const float turned = phases.take(floats(expected), floats(received), 1, { 1, 1, 1 });
    BOOST_TEST(turned == 0.0f);
}

// 100,000 blocks: a mean product is known to 1.5 % or better (a seed is fixed).
BOOST_DATA_TEST_CASE(weights_are_the_wiener_filter_of_a_phase_that_goes_on,
                     data::make({ 0.3, 0.7, 0.95 }) * data::make({ 1e-4, 1e-3, 1e-2 }),
                     part,
                     variance)
{
    constexpr double power = 1e-3;
    const auto found = weights_of(part, power, variance);
    const auto wanted = wiener({ power, part * power, part * part * power }, variance);
    for (std::size_t back = 0; back < 3; ++back)
        BOOST_TEST(std::abs(found[back] - wanted[back]) < 0.03,
                   back << ": " << found[back] << ", " << wanted[back]);
}

BOOST_AUTO_TEST_CASE(noise_is_not_believed)
{
    for (const float weight : weights_of(0, 0, 1e-3))
        BOOST_TEST(std::abs(weight) < 0.02f);
    residual_phase_filter none;
    for (const float weight : none.solve())
        BOOST_TEST(weight == 0.0f);
}

BOOST_AUTO_TEST_SUITE_END()
