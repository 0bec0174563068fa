/* -*- c++ -*- */
/*
 * Least squares of a polynomial with memory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/linear_regression.h"
#include "core/signal/memory_polynomial.h"

#include <cstddef>
#include <vector>

namespace gr::adann::core {

//! Sums of the samples' residual, and of the monomials of the expected samples that are fitted to it.
class polynomial_regression
{
public:
    //! \param sps,complex,memory as memory_polynomial's, memory above 0
    polynomial_regression(unsigned sps, bool complex, unsigned memory);

    /*! Adds a symbol's samples. Allocates nothing.
     * \param affine what the affine part expects of them; those of reach() symbols lie before
     * and after
     * \param rest their residual */
    void add(const float* affine, const float* rest);

    unsigned memory() const { return d_shape.memory(); }
    std::size_t reach() const { return d_shape.reach(); } //!< symbols
    //! Its unknowns are a row of memory_polynomial::coefficients().
    const linear_regression& sums() const { return d_sums; }
    linear_regression& sums() { return d_sums; }

private:
    const memory_polynomial d_shape;
    const std::size_t d_sps, d_step, d_planes, d_monomials;
    linear_regression d_sums;
    std::vector<double> d_row;
    std::vector<float> d_parts, d_values; // values: one monomial after another
};

} // namespace gr::adann::core
