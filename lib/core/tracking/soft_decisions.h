/* -*- c++ -*- */
/*
 * Posterior means and variances of symbols' points, given the samples.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/label_noise.h"
#include "core/tracking/linear_estimator.h"

#include <complex>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

//! A symbol's point given the samples; points have unit power.
struct soft_decision {
    std::complex<float> mean;     //!< posterior mean less the decided point
    std::complex<float> received; //!< unbiased linear estimate less the decided point
    std::complex<float> linear; //!< linear estimate of least mean square error, likewise
    float variance = 0;         //!< posterior variance
    float turning = 0; //!< rotation of the mean per rotation of the estimate, 0 to 1
};

/*! Posterior means of decided symbols by the expected waveform.
 *
 * Let z be the linear estimate of a symbol with minimum mean square error, by the waveform's affine
 * part and the learnt noise. It is g·P plus Gaussian noise of variance g(1 - g), so for equally
 * likely points the posterior of P is proportional to exp(-|z - gP|² / g(1 - g)). Where noise depends on the
 * symbol, each point has a variance of its own (label_noise.h). Interference of
 * the affine part stays in z and counts as noise, as cancelling it by decisions would propagate
 * their errors. Only the waveform's nonlinear part is subtracted by decisions, before find().
 *
 * The least squares use these means in place of decisions: E[x̄ E[s | x]] = E[x̄ s] at any error
 * rate, where hard decisions bias the taps. A decision whose posterior is 1 in single precision is
 * left as it is.
 *
 * Source: the expectation step of EM for a known alphabet (Dempster, Laird, Rubin 1977); linear
 * estimates with Gaussian interference as in Tüchler, Singer, Koetter, "Minimum mean squared error
 * equalization using a priori information", IEEE Trans. Signal Process. 50, 2002. */
class soft_decisions
{
public:
    soft_decisions(const expected_waveform& waveform, const constellation& alphabet);

    //! Symbols on each side whose samples an estimate uses.
    std::size_t window() const { return d_window; }
    //! Variance of an unbiased linear estimate.
    float variance() const { return d_parts.front().variance(); }
    /*! Whether decisions with this symbol error rate know more of symbols than the linear estimates: most of the
     * variance is interference, and the estimates would be wrong several times as often (union bound over
     * neighbours). The taps are better taught by such decisions. NaN: not known, false. */
    bool is_outdone_by(double symbol_error_rate) const;

    /*! Finds the posteriors of n symbols.
     * \param labels of them
     * \param linear samples less expected_waveform::expect_nonlinear() of the decisions, from window() symbols
     * before the first to the last
     * \param excess variance of the estimates, relative to variance()
     * \param noise its factors are those of the estimates' variance; learns from these symbols
     * \param found room for n */
    void find(const std::uint8_t* labels,
              const float* linear,
              std::size_t n,
              float excess,
              label_noise& noise,
              soft_decision* found) const;

    /*! Changes the expected waveform of decisions into the target of the least squares.
     *
     * Means follow the linear estimates ẑ, from which they are computed, with a mean slope. With
     * means as the target, that part of an error of the taps would confirm itself: where decisions
     * are uncertain, little would correct the taps. The target is (mean - slope · ẑ) / (1 - slope),
     * which on average does not depend on ẑ: it has the information that is extrinsic to the taps
     * in use. By the principle of orthogonality E[x̄ ẑ] = E[x̄ s], so right taps stay right at any
     * slope and for any channel. (The divergence-free estimate of Ma and Ping, "Orthogonal AMP",
     * IEEE Access 5, 2017.)
     * \param decisions of the first of n symbols; reach() more before it and after the last
     * \param expected waveform of the decisions, n symbols; on return the target */
    void aim(const soft_decision* decisions,
             std::size_t n,
             float slope,
             float* expected) const;
    //! Mean slope of posterior means over linear estimates: the ratio of their variances.
    float slope(const soft_decision* decisions, std::size_t n, float excess) const;
    //! Mean rotation of means per rotation of complex estimates: the slope for aim() where the
    //! target is the carrier's.
    float turning(const soft_decision* decisions, std::size_t n) const;
    //! Mean square error of unbiased linear estimates,
    //! by the posteriors, less that from the decisions.
    float hidden_noise(const soft_decision* decisions, std::size_t n) const;
    //! Mean square error of unbiased linear estimates, by the posteriors, over variance().
    float excess(const soft_decision* decisions, std::size_t n) const;

private:
    // Of an unbiased linear estimate.
    struct estimate_error {
        float precision;     // 1 / variance, of all dimensions
        float shrinkage;     // factor that makes its mean square error least
        float inverse_scale; // -ln of a point's likelihood, over |z - P|²
        float
            sure_square; // of the distance to a point up to which no other one is likely
    };
    estimate_error error_of(float variance, const label_noise& noise) const;
    soft_decision posterior(std::uint8_t label,
                            std::complex<float> z,
                            const estimate_error& error,
                            label_noise& noise) const;

    symbol_response d_response;
    std::size_t d_window;
    std::vector<linear_estimator> d_parts;     // for 0 to window() missing symbols
    std::vector<std::complex<float>> d_points; // of unit power
    float d_half_distance;
    float d_alone;           // variance without interference
    double d_neighbours = 0; // of a point, on average
};

} // namespace gr::adann::core
