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
    const std::size_t all =
        channels * taps + (channels == 1); // one channel has an offset
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
            return v + (channels == 1) < all ? block::at(x[v / taps], i + v % taps)
                                             : number(1);
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

// Without the offset its sums are zero, and all others stay.
BOOST_AUTO_TEST_CASE(an_offset_is_cleared)
{
    constexpr std::size_t taps = 5;
    const block given(1, taps);
    normal_equations sums(taps, true);
    sums.set(given.views[0], given.wanted, n);
    const normal_equations before = sums;
    sums.clear_offset();
    for (const bool imaginary : { false, true }) {
        for (std::size_t k = 0; k <= taps; ++k)
            for (std::size_t j = 0; j <= taps; ++j)
                BOOST_TEST(sums.row(k, imaginary)[j] ==
                           (k < taps && j < taps ? before.row(k, imaginary)[j] : 0));
        for (std::size_t k = 0; k <= taps; ++k) {
            const std::size_t at = imaginary * sums.pitch() + k;
            BOOST_TEST(sums.correlation()[at] ==
                       (k < taps ? before.correlation()[at] : 0));
        }
    }
    BOOST_TEST(sums.energy() == before.energy());
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
    solver.set_prior(towards);
    const float load = 30;
    aligned_floats gradient(sums.vector_floats());
    solver.find_gradient(sums, found.data(), gradient.data());
    solver.approach(sums, load, 0, taps, 50, found.data(), gradient.data());
    // (R + load) w = p + load · towards
    aligned_floats product(sums.vector_floats());
    const float* const vector = found.data();
    float* const result = product.data();
    sums.product(&vector, 1, &result);
    for (std::size_t i = 0; i < sums.vector_floats(); ++i)
        BOOST_TEST(std::abs(product[i] + load * (found[i] - towards[i]) -
                            sums.correlation()[i]) < 1e-3);
    // What is then the gradient is told.
    for (std::size_t i = 0; i < sums.vector_floats(); ++i)
        BOOST_TEST(std::abs(sums.correlation()[i] - product[i] - gradient[i]) < 1e-3);
    // With fewer taps, the others of each channel stay.
    aligned_floats shorter(sums.vector_floats());
    solver.find_gradient(sums, shorter.data(), gradient.data());
    solver.approach(sums, load, 1, taps - 1, 50, shorter.data(), gradient.data());
    for (const std::size_t k : { 0, 4, 5, 9 })
        BOOST_TEST(shorter[k] == 0);
    for (const std::size_t k : { 1, 2, 3, 6, 7, 8 })
        BOOST_TEST(shorter[k] != 0);
}

// With the noise beside them, the sums of samples ask for what they are: R e = p.
BOOST_DATA_TEST_CASE(samples_with_the_noise_in_them_are_wanted_as_they_are,
                     data::make({ false, true }) * data::make<std::size_t>({ 3, 25, 49 }),
                     complex,
                     taps)
{
    constexpr std::size_t reach = 12;
    block given(1, taps);
    auto& x = given.x[0];
    const auto& noise = given.wanted;
    double power = 0;
    for (std::size_t i = 0; i < n; ++i)
        power += (complex ? std::norm(block::at(x, i)) : x.re[i] * x.re[i]) / n;
    for (std::size_t i = 0; i < x.re.size(); ++i) {
        x.re[i] *= static_cast<float>(1 / std::sqrt(power));
        x.im[i] *= static_cast<float>(1 / std::sqrt(power));
    }
    const std::size_t middle = taps / 2;
    planes wanted(n, true); // the middle of the windows, without the noise
    std::vector<float> correlation;
    for (std::size_t k = 0; k <= 2 * reach; ++k) {
        number sum = 0;
        for (std::size_t i = 0; i < n && k + middle >= reach; ++i) {
            const number v = block::at(noise, i);
            const number later = block::at(x, i + middle + k - reach);
            sum += complex ? std::conj(later) * v : later.real() * v.real();
        }
        correlation.push_back(static_cast<float>(sum.real() / n));
        if (complex)
            correlation.push_back(static_cast<float>(sum.imag() / n));
    }
    for (std::size_t i = 0; i < n; ++i) {
        wanted.re[i] = x.re[i + middle] - noise.re[i];
        wanted.im[i] = x.im[i + middle] - noise.im[i];
    }
    normal_equations sums(taps, complex);
    sums.set(given.views.data(), wanted, n);
    sums.add_noise_target(sums.noise_of(correlation));
    BOOST_TEST(sums.count() == n);
    double left = 0;
    for (std::size_t i = 0; i < n; ++i)
        left += complex ? std::norm(block::at(noise, i)) : noise.re[i] * noise.re[i];
    aligned_floats nothing(sums.vector_floats()), product(nothing);
    least_squares::set_identity(sums, nothing);
    const float* const vector = nothing.data();
    float* const result = product.data();
    sums.product(&vector, 1, &result);
    const float* const p = sums.correlation();
    for (std::size_t k = 0; k < taps; ++k) {
        const bool is_told = k + reach >= middle && k <= middle + reach;
        BOOST_TEST((std::abs(product[k] - p[k]) < 2e-3) == is_told);
        if (complex)
            BOOST_TEST((std::abs(product[sums.pitch() + k] - p[sums.pitch() + k]) <
                        2e-3) == is_told);
    }
    // wᴴ R w - 2 Re wᴴ p + Σ |z|²
    BOOST_TEST(product[middle] - 2 * p[middle] + sums.energy() == left,
               boost::test_tools::tolerance(1e-3));
}

/* Samples that lack some of the noise, which is that of a neighbouring channel, on one side of the carrier: the identity
 * stays the solution, and has the other part as its residual. The gradient of a tap is a mean of products of two samples,
 * with a deviation of at most 1.2 times the power of both over √n. Where white noise was added in place of the coloured
 * one, it was half of the noise's power. A correlation that is cut off, whose spectrum has negative values, is of samples
 * that have none of it. */
BOOST_DATA_TEST_CASE(noise_that_samples_lack_is_as_coloured,
                     data::make({ false, true }) * data::make({ 0.0f, 0.5f, 1.0f }) *
                         data::make({ false, true }),
                     complex,
                     part,
                     is_cut_off)
{
    constexpr std::size_t taps = 9, count = 1 << 16;
    const float lacking = is_cut_off ? 1 : part;
    std::mt19937 random(11);
    std::normal_distribution<float> normal(0, complex ? std::sqrt(0.5f) : 1.0f);
    const auto draw = [&] {
        const float re = normal(random), im = normal(random);
        return std::complex<float>(re, complex ? im : 0.0f);
    };
    const float side = is_cut_off ? 2 * part : 0.9f;
    const std::complex<float> pulse(complex ? 0.0f : side, complex ? side : 0.0f);
    planes x(count + taps + 64, true), wanted(count, true);
    std::complex<float> before = draw();
    for (std::size_t i = 0; i < x.re.size(); ++i) {
        const auto drawn = draw(), sent = draw();
        const auto noise = drawn + pulse * before;
        before = drawn;
        const auto received = sent + std::sqrt(1 - lacking) * noise;
        x.re[i] = received.real();
        x.im[i] = received.imag();
        if (i >= taps / 2 && i < count + taps / 2) {
            wanted.re[i - taps / 2] = sent.real();
            wanted.im[i - taps / 2] = sent.imag();
        }
    }
    // E[v̄(i + d) v(i)] = Σ conj(h(k + d)) h(k)
    const float power = is_cut_off ? 1 : 1 + std::norm(pulse);
    const std::vector<float> correlation =
        complex ? std::vector<float>{ pulse.real(), pulse.imag(), power, 0,
                                      pulse.real(), -pulse.imag() }
                : std::vector<float>{ pulse.real(), power, pulse.real() };
    normal_equations sums(taps, complex);
    sums.set(x, wanted, count);
    const float level = std::sqrt(*sums.row(0) / sums.count()); // the samples' own
    sums.add_noise_target(sums.noise_of(correlation), level, lacking);
    aligned_floats identity(sums.vector_floats()), product(identity);
    least_squares::set_identity(sums, identity);
    const float* const vector = identity.data();
    float* const result = product.data();
    sums.product(&vector, 1, &result);
    const float deviation = 1.2f * (1 + power) / std::sqrt(static_cast<float>(count));
    const std::size_t middle = taps / 2;
    const float left = product[middle] - 2 * sums.correlation()[middle] + sums.energy();
    BOOST_TEST(std::abs(left / sums.count() - (1 - lacking) * power) < 12 * deviation);
    for (std::size_t k = 0; k < taps; ++k)
        for (std::size_t plane = 0; plane < (complex ? 2 : 1); ++plane) {
            const std::size_t at = plane * sums.pitch() + k;
            const float gradient = (product[at] - sums.correlation()[at]) / sums.count();
            BOOST_TEST(std::abs(gradient) < 5 * deviation);
        }
}

BOOST_AUTO_TEST_SUITE_END()
