/* -*- c++ -*- */
/*
 * Least squares of many observations, and of a part of their unknowns.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <cstddef>
#include <vector>

namespace gr::adann::core {

//! Sums of observations of y = aᵀ c, for several outputs y of the same a.
class linear_regression
{
public:
    linear_regression(std::size_t unknowns, std::size_t outputs);

    std::size_t unknowns() const { return d_unknowns; }
    std::size_t observations() const { return d_observations; }
    double squares() const { return d_squares; } //!< Σ y², of all outputs
    //! \param a unknowns() of them \param y outputs
    void add(const double* a, const float* y);

    struct solution {
        std::vector<double> values; // (requested unknowns, outputs)
        double residual;            // Σ of squared residuals of the observations
    };
    /*! Least squares of some of the unknowns, with the others zero. One additional observation
     * of zero keeps unknowns small that were not observed.
     * \throws std::logic_error if the equations are singular to working precision */
    solution solve_for(const std::vector<std::size_t>& some) const;
    /*! Least squares of all unknowns. Allocates nothing.
     * \param work (unknowns, unknowns) \param values (unknowns, outputs)
     * \returns by how much that lowers squares(); NaN, and no values, if the
     * equations are singular */
    double solve_all(std::vector<double>& work, std::vector<double>& values) const;

    void reset();
    void state(archive& members);

private:
    std::size_t d_unknowns, d_outputs, d_observations = 0;
    std::vector<double> d_gram, d_moments; // of the gram its lower half
    double d_squares = 0;
};

} // namespace gr::adann::core
