/* The discrete Fourier transform. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/fourier_transform.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

using namespace gr::adann::core;

BOOST_AUTO_TEST_SUITE(fourier_transforms)

BOOST_DATA_TEST_CASE(it_is_the_sum_of_its_definition,
                     boost::unit_test::data::make({ 2, 4, 8, 512 }),
                     size)
{
    const auto n = static_cast<std::size_t>(size);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<std::complex<float>> samples(n);
    for (auto& each : samples) {
        const float re = normal(random);
        each = { re, normal(random) };
    }
    auto found = samples;
    fourier_transform(n).run(found.data());
    for (std::size_t k = 0; k < n; ++k) {
        std::complex<double> sum = 0;
        for (std::size_t i = 0; i < n; ++i)
            sum += std::complex<double>(samples[i]) *
                   std::polar(1.0, -2 * M_PI * static_cast<double>(i * k % n) / size);
        BOOST_TEST(std::abs(std::complex<double>(found[k]) - sum) <
                   1e-6 * static_cast<double>(n));
    }
}

BOOST_AUTO_TEST_SUITE_END()
