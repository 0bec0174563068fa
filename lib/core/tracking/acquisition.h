/* -*- c++ -*- */
/*
 * Joint estimation of taps and carrier from samples whose symbols are known.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/normal_equations.h"

#include <complex>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! Finds the filter and the carrier that bring samples x nearest to target samples z: the
 * minimum of Σ |z e^(j(φ + ωt)) - wᵀx|² over taps w and frequencies ω. Time t is counted from
 * the middle sample, and φ makes w's middle tap positive. For each ω the taps are least
 * squares, regularised by a hundredth of the taps' mean diagonal in R; one factorisation serves all. The
 * search takes 17 frequencies up to ±1/32 cycle per symbol, then 17 around the best one, then
 * the parabola through the best three.
 *
 * Float samples have no carrier. An offset is one more unknown. Nothing is allocated after
 * construction.
 *
 * Source: joint least squares estimation from a known sequence, Morelli and Mengali,
 * "Carrier-frequency estimation for transmissions over selective channels", IEEE Trans.
 * Commun. 48, 2000; here for the channel's inverse. */
class acquisition
{
public:
    /*! \param shape of the sums to come
     * \param sps samples of a symbol */
    acquisition(const normal_equations& shape, std::size_t sps);

    /*! \param sums R of n samples, their noise target included; p is not used
     * \param x,wanted,n as normal_equations::set() takes them
     * \param turns whether there may be a carrier: else φ and ω are 0
     * \returns mean |z - wᵀx|² to be expected of other samples, by generalised
     * cross-validation; infinite if there are fewer samples than unknowns */
    float find(const normal_equations& sums,
               const signal_planes& x,
               const signal_planes& wanted,
               std::size_t n,
               bool turns = true);

    const float* taps() const { return d_taps.data(); } //!< a vector of normal_equations
    float phase() const { return d_phase; }             //!< φ
    float growth() const { return d_growth; }           //!< ω, radians a sample

private:
    using number = std::complex<double>;

    void solve_for(const signal_planes& x,
                   const signal_planes& wanted,
                   std::size_t n,
                   double growth,
                   double apart,
                   std::size_t count);
    number sample(const signal_planes& x, std::size_t i, std::size_t k) const;
    double best(double growth, double apart) const;

    std::size_t d_sps, d_unknowns, d_pitch;
    bool d_complex;
    std::vector<number> d_matrix, d_factor;
    std::vector<number> d_wanted, d_solved; // (unknowns, frequencies): p, taps
    std::vector<double> d_explained;        // Re pᴴw at each frequency
    aligned_floats d_taps;
    float d_phase = 0, d_growth = 0;
};

} // namespace gr::adann::core
