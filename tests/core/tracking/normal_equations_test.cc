/* Sums of least squares over several channels, against sums written out in double.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/least_squares.h"
#include "core/tracking/normal_equations.h"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

using number = std::complex<double>;
constexpr std::size_t n = 96;

struct block {
    block(std::size_t channels, std::size_t taps) : wanted(n, true)
    {
        std::mt19937 random(7);
        std::normal_distribution<float> normal;
        for (std::size_t c = 0; c < channels; ++c)
            x.emplace_back(n + taps + 64, true);
        x.push_back(wanted);
        for (auto& each : x)
            for (std::size_t i = 0; i < each.re.size(); ++i) {
                each.re[i] = normal(random);
                each.im[i] = normal(random);
            }
        wanted = x.back();
        x.pop_back();
        views.assign(x.begin(), x.end());
    }
    static number at(const planes& of, std::size_t i) { return { of.re[i], of.im[i] }; }

    std::vector<planes> x;
    planes wanted;
    std::vector<signal_planes> views;
};

} // namespace

BOOST_AUTO_TEST_SUITE(normal_equations_of_channels)

BOOST_DATA_TEST_CASE(are_the_sums_written_out,
                     data::make({ 1, 2, 3 }) * data::make({ 1, 5, 16, 25 }),
                     channels,
                     taps)
{
    const std::size_t all = channels * taps;
    const block given(channels, taps);
    normal_equations sums(taps, true, simd::active(), channels);
    sums.set(given.views.data(), given.wanted, n);
    BOOST_TEST_REQUIRE(sums.unknowns() == all);
    double worst = 0;
    const auto compare = [&](float re, float im, number expected) {
        worst = std::max(worst, std::abs(number(re, im) - expected));
    };
    const auto& x = given.x; // whose type, unlike block, has a name elsewhere
    for (std::size_t u = 0; u < all; ++u) {
        const auto window = [&](std::size_t i, std::size_t v) {
            return block::at(x[v / taps], i + v % taps);
        };
        for (std::size_t v = 0; v < all; ++v) {
            number sum = 0;
            for (std::size_t i = 0; i < n; ++i)
                sum += std::conj(window(i, u)) * window(i, v);
            compare(sums.row(u)[v], sums.row(u, true)[v], sum);
        }
        number sum = 0;
        for (std::size_t i = 0; i < n; ++i)
            sum += std::conj(window(i, u)) * block::at(given.wanted, i);
        compare(sums.correlation()[u], sums.correlation()[sums.pitch() + u], sum);
    }
    for (std::size_t u = 0; u < all; ++u) // what is behind the unknowns
        for (std::size_t v = all; v < sums.pitch(); ++v)
            compare(sums.row(u)[v], sums.row(u, true)[v], 0);
    BOOST_TEST(worst < 2e-4); // of sums of about 200
}

BOOST_AUTO_TEST_CASE(conjugate_gradients_solve_them)
{
    constexpr std::size_t taps = 5, channels = 2;
    const block given(channels, taps);
    normal_equations sums(taps, true, simd::active(), channels);
    sums.set(given.views.data(), given.wanted, n);
    least_squares solver(sums);
    aligned_floats towards(sums.vector_floats()), found(sums.vector_floats());
    towards[7] = 1; // of the second channel
    solver.draw_towards(towards);
    const float load = 30;
    solver.approach(sums, load, 0, taps, 50, found.data());
    // (R + load) w = p + load · towards
    aligned_floats product(sums.vector_floats());
    const float* const vector = found.data();
    float* const result = product.data();
    sums.product(&vector, 1, &result);
    for (std::size_t i = 0; i < sums.vector_floats(); ++i)
        BOOST_TEST(std::abs(product[i] + load * (found[i] - towards[i]) -
                            sums.correlation()[i]) < 1e-3);
    // With fewer taps, the others of each channel stay.
    aligned_floats shorter(sums.vector_floats());
    solver.approach(sums, load, 1, taps - 1, 50, shorter.data());
    for (const std::size_t k : { 0, 4, 5, 9 })
        BOOST_TEST(shorter[k] == 0);
    for (const std::size_t k : { 1, 2, 3, 6, 7, 8 })
        BOOST_TEST(shorter[k] != 0);
}

// Whether R + load is positive definite: Cholesky's factorization finds no root of less.
bool positive(const normal_equations& sums, bool complex, double load)
{
    const std::size_t size = sums.taps();
    std::vector<number> factor(size * size);
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            number left(sums.row(i)[j], complex ? sums.row(i, true)[j] : 0);
            left += i == j ? load : 0;
            for (std::size_t k = 0; k < j; ++k)
                left -= factor[i * size + k] * std::conj(factor[j * size + k]);
            if (i == j && !(left.real() > 0))
                return false;
            factor[i * size + j] =
                i == j ? std::sqrt(left.real()) : left / factor[j * size + j];
        }
    return true;
}

// What is left of a sinc after eight lags has a spectrum below zero.
BOOST_DATA_TEST_CASE(noise_that_is_band_limited_is_positive,
                     data::make({ false, true }),
                     complex)
{
    std::vector<float> correlation;
    double lowest = 0;
    for (std::size_t lag = 1; lag <= 8; ++lag) {
        const double angle = M_PI * static_cast<double>(lag) / 4;
        correlation.push_back(static_cast<float>(std::sin(angle) / angle));
        if (complex)
            correlation.push_back(0);
    }
    for (int k = 0; k < 1000; ++k) {
        double density = 1;
        for (std::size_t lag = 1; lag <= 8; ++lag)
            density += 2 * correlation[(lag - 1) * (complex ? 2 : 1)] *
                       std::cos(2 * M_PI * static_cast<double>(k * lag) / 1000);
        lowest = std::min(lowest, density);
    }
    BOOST_TEST_REQUIRE(lowest < -0.1);
    normal_equations sums(49, complex);
    sums.set_noise(0.5f, correlation, 100);
    BOOST_TEST(sums.row(0)[0] == 50);
    BOOST_TEST(sums.row(3)[4] < 50 * correlation[0]);
    BOOST_TEST(positive(sums, complex, 1e-3));
}

BOOST_AUTO_TEST_SUITE_END()
