/* -*- c++ -*- */
/*
 * What symbols were, as far as the samples show: posterior means and variances of their points.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"
#include "core/signal/constellation.h"
#include "core/signal/expected_waveform.h"
#include "core/simd/kernels.h"

#include <complex>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

//! A symbol's point given the samples, in units of points with unit power.
struct soft_decision {
    std::complex<float> mean;     //!< posterior mean less the decided point
    std::complex<float> received; //!< unbiased linear estimate less the decided point
    std::complex<float> linear;   //!< that of least mean square error, likewise
    float variance = 0;           //!< posterior variance
    float turning =
        0; //!< radians by which the mean rotates with an estimate that rotates by one
};

/*! Posterior means of decided symbols by the expected waveform.
 *
 * A linear estimate z of a symbol, of minimum mean square error by the waveform's affine part and
 * the noise the model learnt, is g·P plus Gaussian noise of variance g(1 - g); so the posterior of
 * the point P, all equally likely a priori, goes as exp(-|z - gP|² / g(1 - g)). The affine part's
 * interference stays in z and counts as noise: what is subtracted by decisions, the waveform's
 * nonlinear part alone, would bring their errors along.
 *
 * Least squares aim at these means instead of decisions: E[x̄ E[s | x]] = E[x̄ s] at any error
 * rate, where hard decisions bias the taps. Where a decision is sure, beyond what a float holds of
 * its posterior, it stays as it is.
 *
 * Source: the expectation step of EM for a known alphabet (Dempster, Laird, Rubin 1977); linear
 * estimates with Gaussian interference as in Tüchler, Singer, Koetter, "Minimum mean squared error
 * equalization using a priori information", IEEE Trans. Signal Process. 50, 2002. */
class soft_decisions
{
public:
    soft_decisions(const expected_waveform& waveform, const constellation& alphabet);

    //! Symbols on each side that a pulse, the affine part of one symbol, spans.
    std::size_t reach() const { return d_reach; }
    //! Symbols on each side whose samples are looked at.
    std::size_t window() const { return d_window; }
    //! Variance of an unbiased linear estimate.
    float variance() const { return d_parts.front().variance; }

    /*! \param labels of the first of n symbols; window() + reach() more before it, reach() after
     * \param residual of the decisions: window() symbols before the first to the end of the last
     * \param excess variance of the estimates, relative to variance()
     * \param found n */
    void find(const std::uint8_t* labels,
              const float* residual,
              std::size_t n,
              float excess,
              soft_decision* found) const;

    /*! Makes of the waveform expected of decisions what least squares aim at.
     *
     * Means follow the linear estimates ẑ that they are made from by `slope`, so taps that aim at means
     * agree with themselves to that part, and little is left that corrects them where decisions are
     * uncertain. Aimed at is (mean - slope · ẑ) / (1 - slope), which does not follow ẑ on average: it
     * has what the samples say beyond the taps in use. By the principle of orthogonality
     * E[x̄ ẑ] = E[x̄ s], so that taps which are right stay so at any slope, through whatever channel
     * the samples x have come. (The divergence-free estimate of Ma and Ping, "Orthogonal AMP", IEEE
     * Access 5, 2017.)
     * \param decisions of the first of n symbols; reach() more before it, and after the last
     * \param expected of the decisions, n symbols; afterwards what is aimed at */
    void aim(const soft_decision* decisions,
             std::size_t n,
             float slope,
             float* expected) const;
    //! Mean slope of posterior means over linear estimates: variance of the former over that of the latter.
    float slope(const soft_decision* decisions, std::size_t n, float excess) const;
    //! Mean slope in a turn of complex estimates, by which a phase shows less in means: what aim() takes for a phase.
    float turning(const soft_decision* decisions, std::size_t n) const;
    //! Mean square by which unbiased linear estimates are nearer to the decisions than to what was sent.
    float hidden_noise(const soft_decision* decisions, std::size_t n) const;
    //! Mean square of unbiased linear estimates around what was sent, by the posteriors, over variance().
    float excess(const soft_decision* decisions, std::size_t n) const;

private:
    // A linear estimator, of which the last symbols are not received yet.
    struct part {
        aligned_floats filter; // (dimensions, floats)
        std::vector<float>
            by; // (symbols, dimensions, dimensions): estimates, by their points
        float variance = 0; // of an unbiased estimate
    };
    part estimator(const expected_waveform& waveform, std::size_t missing) const;
    soft_decision
    posterior(std::uint8_t label, std::complex<float> z, float variance) const;

    std::size_t d_reach, d_window, d_stride, d_planes, d_dimensions;
    const simd::kernels* d_kernels;
    std::vector<std::complex<float>> d_points; // of unit power
    float d_half_distance;
    std::size_t d_pitch;
    aligned_floats d_pulse;    // (dimensions, symbols of the pulse, stride), by symbol
    std::vector<part> d_parts; // by symbols that are missing, 0 to window
};

} // namespace gr::adann::core
