/* A network that computes a linear equalizer. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/linear_network.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <random>

using namespace gr::adann::core;

BOOST_AUTO_TEST_SUITE(linear_networks)

BOOST_AUTO_TEST_CASE(it_decides_the_sample_in_the_middle_at_first)
{
    linear_network linear("qpsk", 2, 2, true, 1);
    const model& made = linear.made();
    const auto points = made.symbols.unit_points();
    std::vector<float> window(made.window.dimension());
    for (std::size_t label = 0; label < points.size(); ++label) {
        window[2 * made.window.samples_before()] = points[label].real();
        window[2 * made.window.samples_before() + 1] = points[label].imag();
        const feature_view view = made.window.view(window.data(), 1);
        BOOST_TEST(linear.decide(view).front() == label);
        BOOST_TEST(std::abs(linear.outputs(view).front() -
                            std::complex<double>(points[label])) < 1e-6);
        for (std::size_t other = 0; other < points.size(); ++other)
            BOOST_TEST(std::abs(linear.squared_error(window.data(),
                                                     static_cast<std::uint8_t>(other)) -
                                std::norm(points[label] - points[other])) < 1e-6);
    }
    BOOST_TEST(linear.taps_of_a_row() == made.window.samples());
    BOOST_TEST(linear.has_carrier());
}

// Its network decides the point that is nearest to the output, unless two are nearly as near.
BOOST_DATA_TEST_CASE(it_decides_by_the_output_of_the_taps,
                     boost::unit_test::data::make({ "qpsk", "16qam", "8psk" }),
                     name)
{
    linear_network linear(name, 2, 2, true, 1);
    const model& made = linear.made();
    const std::size_t dimension = made.window.dimension();
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    linear_equalizer fitted{ std::vector<double>(2 * dimension), { 0.1, -0.2 }, 0.05 };
    for (std::size_t k = 0; k < dimension; k += 2) {
        const double re = 0.2 * normal(random), im = 0.2 * normal(random);
        fitted.taps[k] = fitted.taps[dimension + k + 1] = re;
        fitted.taps[k + 1] = -im;
        fitted.taps[dimension + k] = im;
    }
    linear.set(fitted);
    BOOST_TEST(linear.fitted().taps == fitted.taps);
    const auto points = made.symbols.unit_points();
    std::vector<float> samples(dimension + 499 * made.window.stride());
    for (float& each : samples)
        each = static_cast<float>(normal(random));
    const feature_view view = made.window.view(samples.data(), 500);
    const auto labels = linear.decide(view);
    const auto outputs = linear.outputs(view);
    std::size_t compared = 0;
    for (std::size_t i = 0; i < view.count; ++i) {
        std::complex<double> y(0.1, -0.2);
        for (std::size_t k = 0; k < dimension; k += 2)
            y += std::complex<double>(fitted.taps[k], fitted.taps[dimension + k]) *
                 std::complex<double>(view[i][k], view[i][k + 1]);
        BOOST_TEST(std::abs(y - outputs[i]) < 1e-9);
        std::vector<std::pair<double, std::size_t>> sorted;
        for (std::size_t label = 0; label < points.size(); ++label)
            sorted.emplace_back(std::norm(y - std::complex<double>(points[label])),
                                label);
        std::sort(sorted.begin(), sorted.end());
        BOOST_TEST(std::abs(linear.squared_error(
                                view[i], static_cast<std::uint8_t>(sorted[0].second)) -
                            sorted[0].first) < 1e-6);
        if (sorted[1].first - sorted[0].first < 0.05)
            continue;
        ++compared;
        BOOST_TEST(labels[i] == sorted[0].second);
    }
    BOOST_TEST(compared > 300u);
}

BOOST_AUTO_TEST_SUITE_END()
