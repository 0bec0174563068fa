/* -*- c++ -*- */
/*
 * Solves the normal equations of taps by conjugate gradients.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/normal_equations.h"

namespace gr::adann::core {

//! Solves normal equations of one shape; keeps the buffers.
class least_squares
{
public:
    explicit least_squares(const normal_equations& shape);

    //! The identity as a vector of normal_equations: the first channel's middle tap is 1.
    static void set_identity(const normal_equations& shape, aligned_floats& taps);

    //! The prior mean of the taps: the identity, unless it is set.
    void set_prior(const aligned_floats& taps) { d_nothing = taps; }
    const aligned_floats& nothing() const { return d_nothing; }

    //! p - R w, half the negative gradient of Σ |z - wᵀx|²: zero at the least squares.
    void
    find_gradient(const normal_equations& sums, const float* w, float* gradient) const;

    /*! Conjugate gradients for (R + load) (w - nothing) = p - R nothing, starting at the present
     * taps: least squares regularised towards the prior mean.
     * \param first,last range of each channel's taps that change; so does the offset
     * \param steps at most; as many as there are unknowns are enough
     * \param taps w
     * \param gradient find_gradient() of w, on entry and on return; zero for taps out of range
     * \param enough the last step is the first one that lowers Σ |z - wᵀx|² by less */
    void approach(const normal_equations& sums,
                  float load,
                  std::size_t first,
                  std::size_t last,
                  int steps,
                  float* taps,
                  float* gradient,
                  float enough = 0);

private:
    const simd::kernels* d_kernels;
    aligned_floats d_nothing, d_product, d_direction;
};

} // namespace gr::adann::core
