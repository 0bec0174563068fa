/* -*- c++ -*- */
/*
 * LQ factorisation of a matrix: W = L Q with orthonormal rows in Q.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"

#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! A factorization W = L Q of a matrix W (R, D), with Q (C, D) and C = min(R, D).
 *
 * R < D: the rows of Q are those of W made orthonormal by Gram and Schmidt, L is lower
 * triangular. A row of W that is linearly dependent on those before it (a dead or a
 * duplicate neuron) has a zero residual: its row in Q and its column in L are zero.
 *
 * R >= D: the row space may be all of the input space; L is W, and Q the identity.
 */
class row_space
{
public:
    row_space(std::size_t rows, std::size_t columns);

    //! Factors a matrix of the shape given at construction; allocates nothing.
    void assign(const float* matrix);

    std::size_t rank_bound() const { return d_rank_bound; } //!< C
    const float* factor() const { return d_factor.data(); } //!< L (R, C)
    const float* transposed_factor() const { return d_transposed_factor.data(); }
    const float* basis() const { return d_basis.data(); } //!< Q (C, D)
    const float* transposed_basis() const { return d_transposed_basis.data(); }
    //! Whether there is a null space: inputs x other than 0 with Q x = 0.
    bool has_null_space() const { return d_rank_bound < d_columns; }

private:
    const std::size_t d_rows, d_columns, d_rank_bound;
    aligned_floats d_factor, d_transposed_factor;
    aligned_floats d_basis, d_transposed_basis;
    std::vector<double> d_rest; // of W's rows: what no row of Q accounts for yet
};

} // namespace gr::adann::core
