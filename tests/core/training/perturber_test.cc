/* Perturbed inputs: both perturbers' gradient of the first layer has
 * the covariance that its definition gives. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/initialize.h"
#include "core/training/projected_perturber.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace gr::adann::core;
using simd::lanes;
using simd::tile;

namespace {

std::vector<float> random_floats(std::size_t n, std::uint64_t seed)
{
    std::vector<float> values(n);
    gaussian_noise(seed).fill(values.data(), n);
    return values;
}

/* The errors e_t fixed, Σ e_t (v_t + σ n_t)ᵀ has the mean Σ e_t v_tᵀ and, its elements
 * (o, i) and (p, j), the covariance σ² Σ e_to e_tp if i = j, else 0. */
template <typename Perturber>
void check_gradient(const network& net)
{
    const std::size_t rows = net.layers()[0].outputs, inputs = net.inputs();
    const float sigma = 0.5f;
    const std::size_t steps = 20000;
    const auto features = random_floats(tile * inputs, 2);
    aligned_floats errors(rows * tile);
    gaussian_noise(3).fill(errors.data(), errors.size());
    for (std::size_t t = 0; t < tile; ++t) // rows that vary together
        errors[t] += 2 * errors[tile + t];

    std::vector<double> mean(rows * inputs), products(mean.size() * mean.size());
    const prepared_network prepared(net);
    Perturber around(simd::active(), net);
    perturbed_input at(net);
    generated_noise source(1);
    for (std::size_t step = 0; step < steps; ++step) {
        aligned_floats sums(net.parameters().size() * lanes);
        tile_noise noise(source, 0);
        around.begin_step(prepared);
        around.load({ features.data(), inputs, inputs, tile });
        around.forward({ nullptr, 0.0f, sigma }, noise, at);
        around.add_gradient(errors, at, sums.data());
        around.end_step(noise, sums.data());
        std::vector<double> gradient(rows * inputs);
        for (std::size_t k = 0; k < gradient.size(); ++k) {
            gradient[k] = sum_of_lanes(&sums[k * lanes]);
            for (std::size_t t = 0; t < tile; ++t)
                gradient[k] -= static_cast<double>(errors[k / inputs * tile + t]) *
                               features[t * inputs + k % inputs];
            mean[k] += gradient[k] / steps;
            for (std::size_t j = 0; j <= k; ++j)
                products[k * mean.size() + j] += gradient[k] * gradient[j] / steps;
        }
    }
    const auto covariance = [&](std::size_t k, std::size_t j) {
        double sum = 0;
        for (std::size_t t = 0; t < tile; ++t)
            sum += errors[k / inputs * tile + t] * errors[j / inputs * tile + t];
        return k % inputs == j % inputs ? sigma * sigma * sum : 0.0;
    };
    // Five standard errors: of some 300 comparisons none is beyond them by chance.
    for (std::size_t k = 0; k < mean.size(); ++k) {
        BOOST_TEST(std::abs(mean[k]) < 5 * std::sqrt(covariance(k, k) / steps));
        for (std::size_t j = 0; j <= k; ++j) {
            const double expected = covariance(k, j);
            const double deviation = std::sqrt(
                (covariance(k, k) * covariance(j, j) + expected * expected) / steps);
            BOOST_TEST(std::abs(products[k * mean.size() + j] - expected) <
                       5 * deviation);
        }
    }
}

network make_network(std::size_t rows)
{
    network net({ 6, rows, 4 });
    initialize(net, 4);
    return net;
}

} // namespace

BOOST_AUTO_TEST_SUITE(perturbers)

BOOST_AUTO_TEST_CASE(the_gradient_has_the_covariance_of_its_definition)
{
    check_gradient<full_perturber>(make_network(4));
    check_gradient<projected_perturber>(make_network(4)); // sees 4 of 6 dimensions
    check_gradient<projected_perturber>(make_network(7)); // sees all
}

BOOST_AUTO_TEST_CASE(a_dead_and_a_doubled_neuron_are_no_exception)
{
    network net = make_network(5);
    float* weights = net.parameters().data();
    std::fill_n(weights, 6, 0.0f);
    std::copy_n(weights + 6, 6, weights + 18);
    check_gradient<projected_perturber>(net);
}

BOOST_AUTO_TEST_CASE(a_row_space_factors_its_matrix_into_orthonormal_rows)
{
    const std::size_t rows = 5, columns = 12;
    auto matrix = random_floats(rows * columns, 5);
    for (std::size_t i = 0; i < columns; ++i) // one depends on two before it
        matrix[3 * columns + i] = matrix[i] - 2 * matrix[columns + i];
    row_space space(rows, columns);
    for (int round = 0; round < 2; ++round) { // nothing is left of the first
        space.assign(matrix.data());
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t i = 0; i < columns; ++i) {
                double sum = 0;
                for (std::size_t k = 0; k < rows; ++k)
                    sum += space.factor()[r * rows + k] * space.basis()[k * columns + i];
                BOOST_TEST(std::abs(sum - matrix[r * columns + i]) < 1e-5);
            }
        for (std::size_t k = 0; k < rows; ++k)
            for (std::size_t j = 0; j < rows; ++j) {
                double sum = 0;
                for (std::size_t i = 0; i < columns; ++i)
                    sum +=
                        space.basis()[k * columns + i] * space.basis()[j * columns + i];
                BOOST_TEST(std::abs(sum - (k == j && k != 3)) < 1e-6);
            }
    }
}

BOOST_AUTO_TEST_SUITE_END()
