/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/row_space.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

// In several sums side by side, which the compiler puts into vectors.
double product(const double* a, const double* b, std::size_t n)
{
    constexpr std::size_t parts = 8;
    double sum[parts] = {}, total = 0;
    std::size_t i = 0;
    for (; i + parts <= n; i += parts)
        for (std::size_t p = 0; p < parts; ++p)
            sum[p] += a[i + p] * b[i + p];
    for (; i < n; ++i)
        total += a[i] * b[i];
    for (const double part : sum)
        total += part;
    return total;
}

void transpose(const aligned_floats& matrix, std::size_t columns, aligned_floats& result)
{
    const std::size_t rows = matrix.size() / columns;
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
            result[c * rows + r] = matrix[r * columns + c];
}

} // namespace

row_space::row_space(std::size_t rows, std::size_t columns)
    : d_rows(rows),
      d_columns(columns),
      d_rank_bound(std::min(rows, columns)),
      d_factor(rows * d_rank_bound),
      d_transposed_factor(d_factor.size()),
      d_basis(d_rank_bound * columns),
      d_transposed_basis(d_basis.size()),
      d_rest(rows * columns)
{
}

void row_space::assign(const float* matrix)
{
    std::fill(d_basis.begin(), d_basis.end(), 0.0f);
    if (!has_null_space()) {
        std::copy_n(matrix, d_factor.size(), d_factor.begin());
        for (std::size_t k = 0; k < d_columns; ++k)
            d_basis[k * d_columns + k] = 1.0f;
    } else {
        std::fill(d_factor.begin(), d_factor.end(), 0.0f);
        std::copy_n(matrix, d_rest.size(), d_rest.begin());
        for (std::size_t k = 0; k < d_rows; ++k) {
            double* own = &d_rest[k * d_columns];
            const double squares = product(own, own, d_columns);
            double whole = squares;
            for (std::size_t j = 0; j < k; ++j)
                whole += std::pow(d_factor[k * d_rank_bound + j], 2);
            // The remainder of a dependent row is rounding.
            if (!(squares > 1e-12 * whole))
                continue;
            const double length = std::sqrt(squares);
            d_factor[k * d_rank_bound + k] = static_cast<float>(length);
            for (std::size_t i = 0; i < d_columns; ++i) {
                own[i] /= length;
                d_basis[k * d_columns + i] = static_cast<float>(own[i]);
            }
            for (std::size_t row = k + 1; row < d_rows; ++row) {
                double* rest = &d_rest[row * d_columns];
                const double along = product(rest, own, d_columns);
                d_factor[row * d_rank_bound + k] = static_cast<float>(along);
                for (std::size_t i = 0; i < d_columns; ++i)
                    rest[i] -= along * own[i];
            }
        }
    }
    transpose(d_factor, d_rank_bound, d_transposed_factor);
    transpose(d_basis, d_columns, d_transposed_basis);
}

} // namespace gr::adann::core
