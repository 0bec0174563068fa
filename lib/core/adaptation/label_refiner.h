/* -*- c++ -*- */
/*
 * Labels that explain the samples better than those of a network.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/label_descent.h"
#include "core/adaptation/pattern_bias.h"
#include "core/adaptation/residual_drift.h"
#include "core/adaptation/residual_scatter.h"
#include "core/adaptation/waveform_judge.h"

#include <limits>

namespace gr::adann::core {

/*! Refines the labels of a waveform_judge's batch: each symbol tries the points nearest to
 * its own (label_descent). Two rounds, for what one change makes worth another; then pairs of
 * symbols that an echo couples, as long as one gains, at most in four rounds.
 *
 * The waveform is the judge's, sent through its filter, which then relearns the labels that have
 * changed. Complex samples are turned by what is
 * left of a carrier's phase in them (residual_phases). The difference is whitened by a
 * linear prediction over three symbols, estimated from what the waveform leaves of some
 * 8192 latest symbols. Nothing is allocated after construction. */
class label_refiner
{
public:
    /*! \param symbols what the waveform was made for
     * \param trained,batch as the judge has them */
    label_refiner(const constellation& symbols,
                  const expected_waveform& trained,
                  std::size_t batch);

    /*! \param judge that has looked at the batch, whose samples are turned
     * \param labels of the batch, refined afterwards: all but some at its ends
     * \return how many changed, a symbol twice if it did */
    std::size_t refine(waveform_judge& judge, std::uint8_t* labels);

    //! What the latest batch was refined by: for whoever decides what comes next.
    const refinement& found() const { return d_found; }

    //! How probably each label of the latest batch is wrong, by the likelihoods of those
    //! tried; NaN where none was.
    const std::vector<float>& error_probabilities() const
    {
        return d_error_probabilities;
    }

    /*! The natural logarithm of how many times as many labels may be wrong as their error
     * probabilities say, since what is correlated with the labels around (pattern_bias) is taken for noise:
     * a bias b moves a label to another one at the distance d, both in units of the noise,
     * exp(b d / 2) times as often, and normal ones of variance v exp(v d² / 8). And where
     * the mean moves (residual_drift), 1 + r times as many, since labels that are shifted alike follow it:
     * r wrong ones in runs of those for each other one. Infinite for the first 16,384 symbols. */
    double model_mismatch() const
    {
        return d_bias.known() ? d_bias.part() * d_distance / 8 + std::log1p(d_runs)
                              : std::numeric_limits<double>::infinity();
    }

    //! How the residual power of symbols scatters. Its memory: see fade_scatter().
    const residual_scatter& scatter() const { return d_scatter; }
    //! Before refine(): what is kept of the scatter.
    void fade_scatter(double keep)
    {
        d_scatter.fade(keep);
        d_drift.fade(keep);
    }

    //! Forgets the signal's noise; what changes of labels have shown stays, as of the same sender.
    void reset();
    void forget(); //!< Forgets that, too.
    void state(archive& members);

private:
    static constexpr std::size_t margin =
        2; // symbols, so that most of a response is seen

    void find_whitening(std::size_t samples);
    void turn_samples(waveform_judge& judge, std::size_t floats);
    double fading() const;
    std::size_t descend(std::uint8_t* labels);
    void find_matches(std::size_t first, std::size_t end);
    float find_power_along(const std::uint8_t* labels);
    double find_runs() const;
    //! What is known of the batch: zeros lie around it.
    float* known_white()
    {
        return &d_white[d_first * d_descent.responses().waveform().stride()];
    }

    label_descent d_descent;
    const simd::kernels* d_kernels;
    const std::size_t d_batch, d_planes;
    const std::size_t d_first; // symbol whose samples' rest is known
    std::vector<std::complex<double>> d_correlation, d_work, d_prediction;
    std::vector<float> d_rest, d_turned, d_white; // of the batch; the same times i
    std::vector<label_descent::match> d_matches;
    std::vector<std::uint8_t> d_due; // whether to be visited
    residual_phase_filter d_phases;
    pattern_bias d_bias;
    residual_scatter d_scatter;
    residual_drift d_drift;
    double d_distance = 0; // of the nearest labels, squared, over the noise's square
    double d_runs = 0;     // by a mean that moves: labels wrong in runs, over those alone
    const double d_shiftable; // part of the labels that have a neighbour one way
    const refinement d_nothing;
    refinement d_found;
    std::vector<label_descent::odds> d_odds;
    std::vector<float> d_error_probabilities;
};

} // namespace gr::adann::core
