/* -*- c++ -*- */
/*
 * Finds labels that explain the samples of a batch better than a network's decisions.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/label_descent.h"
#include "core/adaptation/noise_prediction.h"
#include "core/adaptation/pattern_bias.h"
#include "core/adaptation/residual_drift.h"
#include "core/adaptation/residual_scatter.h"
#include "core/adaptation/sequence_search.h"
#include "core/adaptation/waveform_judge.h"
#include "core/signal/label_noise.h"

#include <limits>

namespace gr::adann::core {

/*! Refines the labels of a waveform_judge's batch: for each symbol the nearest other points are
 * tried (label_descent), in two rounds, as one change may make others worth a try. Then pairs of
 * symbols that an echo couples are tried, in up to four rounds, as long as one gains. Last,
 * sequence_search looks at windows: at all while it corrects an eighth as many labels as are wrong, else at one
 * in 64, or one of a batch.
 *
 * The waveform is the judge's, passed through its filter, which is then fitted again to the
 * changed labels. The gain of each block of 16 symbols, amplitude and phase, is corrected
 * (residual_gains). The residual is whitened by a linear prediction over three symbols
 * (noise_prediction), estimated from the refined labels. Nothing is allocated after construction. */
class label_refiner
{
public:
    /*! \param symbols the constellation of the waveform
     * \param trained,batch as the judge has them */
    label_refiner(const constellation& symbols,
                  const expected_waveform& trained,
                  std::size_t batch);

    /*! \param judge after look() at the batch, whose samples are rotated back
     * \param labels of the batch, refined on return, except for some at its ends
     * \param apart batches of the stream since the previous one, this one included
     * \return number of changes */
    std::size_t
    refine(waveform_judge& judge, std::uint8_t* labels, std::size_t apart = 1);
    //! The signal that the latest batch was refined by, for refining the symbols that follow.
    const refinement& found() const { return d_found; }
    //! Error probability of each label of the latest batch, by the likelihoods of the labels
    //! that were tried; NaN where none was.
    const std::vector<float>& error_probabilities() const
    {
        return d_error_probabilities;
    }

    /*! Natural logarithm of the factor by which errors may exceed the error probabilities, as these
     * take model mismatch for noise. Two parts of the residual count:
     *
     * - its correlation with the labels around (pattern_bias): in units of the noise, a bias b
     *   makes an error towards a label at distance d exp(b d / 2) times as likely, and Gaussian
     *   biases of variance v exp(v d² / 8) times;
     * - a drifting mean (residual_drift), which shifted runs of labels follow: 1 + r times as many,
     *   for r wrong labels in runs for each single one.
     *
     * Infinite until the first round of pattern_bias is over. */
    double model_mismatch() const
    {
        return d_bias.known() ? d_bias.part() * d_distance / 8 + std::log1p(d_runs)
                              : std::numeric_limits<double>::infinity();
    }

    //! That of the labels, over power_along.
    const label_noise& noise() const { return d_noise; }
    //! Scatter of the residual power of symbols; fade_scatter() sets its time constant.
    const residual_scatter& scatter() const { return d_scatter; }
    //! Before refine(): multiplies the counts of the scatter and the drift.
    void fade_scatter(double keep)
    {
        d_scatter.fade(keep);
        d_drift.fade(keep);
    }

    //! Forgets the signal's noise; statistics of label
    //! changes stay, as the transmitter is the same.
    void reset();
    void forget(); //!< Forgets these as well.
    void state(archive& members);

private:
    static constexpr std::size_t margin = 2; // symbols that hold most of a response

    bool many_wrong() const;
    void draw_labels(const std::uint8_t* labels);
    void correct_gain(waveform_judge& judge, std::size_t floats, std::size_t apart);
    std::size_t descend(std::uint8_t* labels);
    template <typename Changed>
    void search_sequences(const label_descent::stretch& all,
                          std::size_t first,
                          std::size_t end,
                          Changed changed);
    void find_matches(std::size_t first, std::size_t end);
    float find_power_along(const std::uint8_t* labels);
    void learn_noise(std::size_t symbol, std::uint8_t label, const float* along);
    double find_runs() const;
    //! Whitened residual of the known part of the batch, with zeros around it.
    float* known_white()
    {
        return &d_white[d_first * d_descent.responses().waveform().stride()];
    }

    label_descent d_descent;
    sequence_search d_search;
    // Parts of the labels: that sequences correct, that are wrong; sums with worth_remembered.
    double d_corrected = 0, d_wrong = 0;
    const simd::kernels* d_kernels;
    const std::size_t d_batch, d_planes;
    const std::size_t d_first; // first symbol whose residual is known
    noise_prediction d_prediction;
    std::vector<float> d_rest, d_turned,
        d_white; // residual; it times i, or whitened samples; whitened
    std::vector<label_descent::match> d_matches;
    std::vector<std::uint8_t> d_due; // whether a symbol is to be visited
    block_error_filter d_phases, d_amplitudes;
    label_noise d_noise;
    pattern_bias d_bias;
    residual_scatter d_scatter;
    residual_drift d_drift;
    double d_distance =
        0;             // squared distance of the nearest labels over the noise's power
    double d_runs = 0; // find_runs()
    const double d_shiftable; // part of the labels with a neighbour in a given direction
    const refinement d_nothing;
    refinement d_found;
    std::vector<label_descent::odds> d_odds;
    std::vector<std::uint8_t> d_drawn; // labels for the spectrum of the noise
    std::vector<float> d_error_probabilities;
};

} // namespace gr::adann::core
