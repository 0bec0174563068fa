/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/linear_regression.h"

#include "core/common/cholesky.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace gr::adann::core {

linear_regression::linear_regression(std::size_t unknowns, std::size_t outputs)
    : d_unknowns(unknowns),
      d_outputs(outputs),
      d_gram(unknowns * unknowns),
      d_moments(unknowns * outputs)
{
}

void linear_regression::add(const double* a, const float* y)
{
    for (std::size_t row = 0; row < d_unknowns; ++row) {
        double* const products = &d_gram[row * d_unknowns];
        for (std::size_t column = 0; column <= row; ++column)
            products[column] += a[row] * a[column];
        for (std::size_t j = 0; j < d_outputs; ++j)
            d_moments[row * d_outputs + j] += a[row] * y[j];
    }
    for (std::size_t j = 0; j < d_outputs; ++j)
        d_squares += double(y[j]) * y[j];
    ++d_observations;
}

linear_regression::solution
linear_regression::solve_for(const std::vector<std::size_t>& some) const
{
    const std::size_t n = some.size();
    std::vector<double> gram(n * n), moments(n * d_outputs);
    for (std::size_t row = 0; row < n; ++row) {
        for (std::size_t column = 0; column <= row; ++column) {
            const auto [low, high] = std::minmax(some[row], some[column]);
            gram[row * n + column] = d_gram[high * d_unknowns + low] + (row == column);
        }
        std::copy_n(
            &d_moments[some[row] * d_outputs], d_outputs, &moments[row * d_outputs]);
    }
    solution found{ moments, d_squares };
    if (!solve(gram, n, found.values, d_outputs))
        throw std::logic_error("least squares: no positive definite covariance");
    for (std::size_t k = 0; k < moments.size(); ++k)
        found.residual -= moments[k] * found.values[k];
    return found;
}

double linear_regression::solve_all(std::vector<double>& work,
                                    std::vector<double>& values) const
{
    work = d_gram;
    values = d_moments;
    for (std::size_t k = 0; k < d_unknowns; ++k)
        work[k * d_unknowns + k] += 1;
    if (!solve(work, d_unknowns, values, d_outputs))
        return std::numeric_limits<double>::quiet_NaN();
    return std::inner_product(values.begin(), values.end(), d_moments.begin(), 0.0);
}

void linear_regression::reset()
{
    std::fill(d_gram.begin(), d_gram.end(), 0.0);
    std::fill(d_moments.begin(), d_moments.end(), 0.0);
    d_squares = 0;
    d_observations = 0;
}

void linear_regression::state(archive& members)
{
    members("gram", d_gram);
    members("moments", d_moments);
    members("squares", d_squares, 0.0, std::numeric_limits<double>::max());
    members("observations", d_observations);
}

} // namespace gr::adann::core
