/* -*- c++ -*- */
/*
 * Taps from their normal equations.
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

    //! The vector of normal_equations that does nothing: the first channel's middle tap is 1.
    static void set_identity(const normal_equations& shape, aligned_floats& taps);

    //! The prior mean of the taps: the identity, unless it is set.
    void set_prior(const aligned_floats& taps) { d_nothing = taps; }
    const aligned_floats& nothing() const { return d_nothing; }

    //! p - R w, half of what Σ |z - wᵀx|² falls with: zero for the least squares.
    void
    find_gradient(const normal_equations& sums, const float* w, float* gradient) const;

    /*! Conjugate gradients towards (R + load) (w - nothing) = p - R nothing, from the
     * taps that there are: least squares that are drawn towards doing nothing.
     * \param first,last of each channel: taps outside stay as they are
     * \param steps at most; more than there are unknowns gain nothing
     * \param taps w
     * \param gradient find_gradient() of them, before and afterwards; of the taps outside zero
     * \param enough a step that lowers Σ |z - wᵀx|² by less is the last one */
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
