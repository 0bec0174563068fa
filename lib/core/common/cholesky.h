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

/*! Solves A x = b by Cholesky's factorisation, in place.
 *
 * \param a m × m, row by row; only its lower half is read. Afterwards its factor.
 * \param b m × n, one column per right-hand side; afterwards the solutions
 * \returns false if A is singular to working precision */
template <typename T>
bool solve(std::vector<T>& a, std::size_t m, std::vector<T>& b, std::size_t n)
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
    for (std::size_t c = 0; c < n; ++c) {
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t k = 0; k < i; ++k)
                b[i * n + c] -= times(a[i * m + k], b[k * n + c]);
            b[i * n + c] /= std::real(a[i * m + i]);
        }
        for (std::size_t i = m; i-- > 0;) {
            for (std::size_t k = i + 1; k < m; ++k)
                b[i * n + c] -= times(conjugate(a[k * m + i]), b[k * n + c]);
            b[i * n + c] /= std::real(a[i * m + i]);
        }
    }
    return true;
}

} // namespace gr::adann::core
