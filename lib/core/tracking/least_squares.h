/* -*- c++ -*- */
/*
 * Taps from their normal equations.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/normal_equations.h"

namespace gr::adann::core {

//! aᵀb of n floats, a multiple of simd::lanes.
float dot(const float* a, const float* b, std::size_t n);

//! Solves normal equations of one shape; keeps the buffers.
class least_squares
{
public:
    explicit least_squares(const normal_equations& shape);

    //! The vector of normal_equations that does nothing: the first channel's middle tap is 1.
    static void do_nothing(const normal_equations& shape, aligned_floats& taps);

    //! What the taps are drawn towards: doing nothing, unless told otherwise.
    void draw_towards(const aligned_floats& taps) { d_nothing = taps; }
    const aligned_floats& nothing() const { return d_nothing; }

    /*! Conjugate gradients towards (R + load) (w - nothing) = p - R nothing, from the
     * taps that there are: least squares that are drawn towards doing nothing.
     * \param first,last of each channel: taps outside stay as they are
     * \param steps at most; more than there are unknowns gain nothing
     * \param taps w
     * \param enough a step that lowers Σ |z - wᵀx|² by less is the last one */
    void approach(const normal_equations& sums,
                  float load,
                  std::size_t first,
                  std::size_t last,
                  int steps,
                  float* taps,
                  float enough = 0);

private:
    aligned_floats d_nothing, d_product, d_rest, d_direction;
};

} // namespace gr::adann::core
