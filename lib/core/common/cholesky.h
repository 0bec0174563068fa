/* -*- c++ -*- */
/*
 * Small systems of linear equations with a positive definite matrix.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/complex.h"

#include <cmath>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! Cholesky's factor L of A = L Lᴴ, in place.
 *
 * \param a m × m, row by row; only its lower half is read, and written
 * \returns false if A is singular to working precision */
template <typename T>
bool factorize(std::vector<T>& a, std::size_t m)
{
    // Four sums at a time: each addition waits for the one before.
    const auto product = [](const T* row, const T* other, std::size_t count) {
        T sums[4] = {};
        std::size_t k = 0;
        for (; k + 4 <= count; k += 4)
            for (std::size_t l = 0; l < 4; ++l)
                sums[l] += times(row[k + l], conjugate(other[k + l]));
        for (; k < count; ++k)
            sums[0] += times(row[k], conjugate(other[k]));
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    };
    for (std::size_t j = 0; j < m; ++j) {
        const auto diagonal = std::real(a[j * m + j]);
        for (std::size_t k = 0; k < j; ++k)
            a[j * m + j] -= std::norm(a[j * m + k]);
        if (!(std::real(a[j * m + j]) > 1e-9 * diagonal))
            return false;
        const auto pivot = std::sqrt(std::real(a[j * m + j]));
        a[j * m + j] = pivot;
        for (std::size_t i = j + 1; i < m; ++i) {
            a[i * m + j] -= product(&a[i * m], &a[j * m], j);
            a[i * m + j] /= pivot;
        }
    }
    return true;
}

//! Solves L y = b or, `above`, Lᴴ y = b in place. \param b m × n, one column per right-hand side
template <typename T>
void substitute(const std::vector<T>& factor,
                std::size_t m,
                std::vector<T>& b,
                std::size_t n,
                bool above)
{
    const auto subtract = [&](std::size_t row, T factor_of, std::size_t other) {
        for (std::size_t c = 0; c < n; ++c)
            b[row * n + c] -= times(factor_of, b[other * n + c]);
    };
    const auto divide = [&](std::size_t row) {
        for (std::size_t c = 0; c < n; ++c)
            b[row * n + c] /= std::real(factor[row * m + row]);
    };
    if (above)
        for (std::size_t i = m; i-- > 0;) {
            for (std::size_t k = i + 1; k < m; ++k)
                subtract(i, conjugate(factor[k * m + i]), k);
            divide(i);
        }
    else
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t k = 0; k < i; ++k)
                subtract(i, factor[i * m + k], k);
            divide(i);
        }
}

/*! Solves A x = b by Cholesky's factorisation, in place.
 *
 * \param a m × m, row by row; only its lower half is read. Afterwards its factor.
 * \param b m × n, one column per right-hand side; afterwards the solutions
 * \returns false if A is singular to working precision */
template <typename T>
bool solve(std::vector<T>& a, std::size_t m, std::vector<T>& b, std::size_t n)
{
    if (!factorize(a, m))
        return false;
    substitute(a, m, b, n, false);
    substitute(a, m, b, n, true);
    return true;
}

} // namespace gr::adann::core
