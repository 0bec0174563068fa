/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/projected_perturber.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

using simd::activation;
using simd::lanes;
using simd::tile;

namespace {

// out (rows, columns) += scale · a (rows, inner) b (inner, columns)
void add_product(float scale,
                 const aligned_floats& a,
                 const float* b,
                 std::size_t rows,
                 std::size_t inner,
                 std::size_t columns,
                 aligned_floats& out)
{
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t k = 0; k < inner; ++k) {
            const float factor = scale * a[r * inner + k];
            for (std::size_t c = 0; c < columns; ++c)
                out[r * columns + c] += factor * b[k * columns + c];
        }
}

void sum_lanes(const aligned_floats& partial, aligned_floats& total)
{
    for (std::size_t i = 0; i < total.size(); ++i)
        total[i] = sum_of_lanes(&partial[i * lanes]);
}

/* Cholesky's lower factor of a covariance matrix, in place. A row that depends on those
 * before it has a pivot of zero, but for the rounding of float sums. */
void factor_covariance(std::size_t size, aligned_floats& matrix)
{
    for (std::size_t column = 0; column < size; ++column)
        for (std::size_t row = column; row < size; ++row) {
            float* own = &matrix[row * size];
            const float* other = &matrix[column * size];
            const float whole = own[column];
            float sum = whole;
            for (std::size_t k = 0; k < column; ++k)
                sum -= own[k] * other[k];
            if (row == column)
                own[column] = sum > 1e-6f * whole ? std::sqrt(sum) : 0.0f;
            else
                own[column] = other[column] > 0 ? sum / other[column] : 0.0f;
        }
    for (std::size_t row = 0; row < size; ++row)
        std::fill_n(&matrix[row * size + row + 1], size - row - 1, 0.0f);
}

} // namespace

projected_perturber::projected_perturber(const simd::kernels& kernels,
                                         const network& shape)
    : perturber(kernels, shape), d_space(shape.layers().front().outputs, shape.inputs())
{
    const std::size_t rows = shape.layers().front().outputs, inputs = shape.inputs();
    const std::size_t coordinates = d_space.rank_bound();
    d_first.resize(rows * tile);
    d_moved_sums.resize(rows * coordinates * lanes);
    d_coefficients.resize(rows * coordinates);
    d_gradient.resize(rows * inputs);
    if (d_space.has_null_space()) {
        d_error_sums.resize(rows * rows * lanes);
        d_error_factor.resize(rows * rows);
        d_isotropic.resize((rows * inputs + tile - 1) / tile * tile);
        d_in_row_space.resize(rows * coordinates);
    }
}

void projected_perturber::begin_step(const prepared_network& net)
{
    perturber::begin_step(net);
    d_space.assign(net.weights(0));
    std::fill(d_moved_sums.begin(), d_moved_sums.end(), 0.0f);
    std::fill(d_error_sums.begin(), d_error_sums.end(), 0.0f);
    d_sigma = 0;
}

void projected_perturber::load(const feature_view& tile)
{
    perturber::load(tile);
    d_kernels.affine(d_net->transposed(0),
                     d_net->biases(0),
                     nullptr,
                     first_layer().inputs,
                     first_layer().outputs,
                     d_clean.rows().data,
                     d_clean.rows().row,
                     activation::none,
                     nullptr,
                     d_first.data());
}

void projected_perturber::forward(const perturbation& by,
                                  tile_noise& noise,
                                  perturbed_input& to)
{
    to.from_v = by;
    to.place = { by.r, d_passes.dense() };
    if (const float deviation = std::hypot(by.xi, by.sigma); deviation > 0) {
        noise.add(to.place, d_space.rank_bound(), deviation, to.moved.data());
        to.place.data = to.moved.data();
    }
    if (to.place.data)
        d_passes.forward_from_shift(*d_net,
                                    d_first.data(),
                                    d_space.transposed_factor(),
                                    d_space.rank_bound(),
                                    to.place.data,
                                    to.passed);
    else
        d_passes.forward_from_first(*d_net, d_first.data(), to.passed);
}

void projected_perturber::direction(const aligned_floats& error, float length, float* r)
{
    d_kernels.affine(d_space.factor(),
                     nullptr,
                     nullptr,
                     first_layer().outputs,
                     d_space.rank_bound(),
                     error.data(),
                     d_passes.dense(),
                     activation::none,
                     nullptr,
                     r);
    d_kernels.set_length(nullptr, nullptr, d_space.rank_bound(), length, r);
}

void projected_perturber::add_gradient(const aligned_floats& error,
                                       const perturbed_input& at,
                                       float* sums)
{
    const std::size_t rows = first_layer().outputs;
    const auto outer = [&](tile_rows x, std::size_t columns, float* to) {
        d_kernels.outer(error.data(), rows, x.data, x.row, columns, to);
    };
    outer(d_clean.rows(), first_layer().inputs, sums + first_layer().weights * lanes);
    if (!at.place.data)
        return;
    outer(at.place, d_space.rank_bound(), d_moved_sums.data());
    d_sigma = at.from_v.sigma;
    if (d_sigma > 0 && d_space.has_null_space())
        outer({ error.data(), d_passes.dense() }, rows, d_error_sums.data());
}

void projected_perturber::end_step(tile_noise& noise, float* sums)
{
    const std::size_t rows = first_layer().outputs, inputs = first_layer().inputs;
    const std::size_t coordinates = d_space.rank_bound();
    sum_lanes(d_moved_sums, d_coefficients);
    std::fill(d_gradient.begin(), d_gradient.end(), 0.0f);
    if (d_sigma > 0 && d_space.has_null_space()) {
        // F Z (I - QᵀQ) = F Z - (F Z Qᵀ) Q
        sum_lanes(d_error_sums, d_error_factor);
        factor_covariance(rows, d_error_factor);
        noise.add(
            { nullptr, nullptr }, d_isotropic.size() / tile, 1.0f, d_isotropic.data());
        std::fill(d_in_row_space.begin(), d_in_row_space.end(), 0.0f);
        add_product(1.0f,
                    d_isotropic,
                    d_space.transposed_basis(),
                    rows,
                    inputs,
                    coordinates,
                    d_in_row_space);
        add_product(-d_sigma,
                    d_error_factor,
                    d_in_row_space.data(),
                    rows,
                    rows,
                    coordinates,
                    d_coefficients);
        add_product(
            d_sigma, d_error_factor, d_isotropic.data(), rows, rows, inputs, d_gradient);
    }
    add_product(
        1.0f, d_coefficients, d_space.basis(), rows, coordinates, inputs, d_gradient);
    for (std::size_t i = 0; i < d_gradient.size(); ++i)
        sums[(first_layer().weights + i) * lanes] += d_gradient[i];
}

} // namespace gr::adann::core
