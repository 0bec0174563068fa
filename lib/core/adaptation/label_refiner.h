/* -*- c++ -*- */
/*
 * Labels that explain the samples better than those of a network.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/waveform_judge.h"
#include "core/signal/constellation.h"

#include <array>
#include <complex>
#include <vector>

namespace gr::adann::core {

/*! Refines the labels of a waveform_judge's batch: each symbol tries the points nearest to
 * its own, its surroundings kept, and takes the one that lowers the squared difference to
 * the expected waveform most. Two rounds, for what one change makes worth another.
 *
 * The waveform is the judge's, sent through its filter. The difference is whitened by a
 * linear prediction over three symbols, estimated from what the waveform leaves of some
 * 8192 latest symbols, so that for Gaussian noise it is a likelihood. Whether a change is
 * worth a try is estimated by the waveform's affine part, with a matched filter; the whole
 * waveform decides. Nothing is allocated after construction.
 *
 * Source: a descent over single symbols of maximum-likelihood sequence estimation (Forney
 * 1972), as in likelihood ascent search (Vardhan et al. 2008), from the network's
 * decisions. */
class label_refiner
{
public:
    /*! \param symbols what the waveform was made for
     * \param trained,batch as the judge has them */
    label_refiner(const constellation& symbols,
                  const expected_waveform& trained,
                  std::size_t batch);

    /*! \param judge that has looked at the batch
     * \param labels of the batch, refined afterwards: all but some at its ends
     * \return how many changed, a symbol twice if it did */
    std::size_t refine(const waveform_judge& judge, std::uint8_t* labels);

    //! Forgets the signal's noise.
    void reset();
    void state(archive& members);

private:
    template <typename sample>
    void whiten(const waveform_judge& judge, const std::uint8_t* labels);
    template <typename sample>
    void find_responses(const waveform_judge& judge);
    template <typename sample>
    void find_change(std::uint8_t* labels, std::size_t symbol, std::uint8_t other);
    bool refine_symbol(std::uint8_t* labels, std::size_t symbol);
    bool worth_a_try(std::uint8_t now, std::uint8_t other, const float* match) const;

    const constellation d_symbols;
    const expected_waveform d_waveform;
    const std::size_t d_batch, d_dimensions, d_planes; // of points, of samples
    const std::size_t d_first; // symbol whose samples' rest is known
    // Samples: of the prediction, the judge's filter, a symbol's response.
    const std::size_t d_lags, d_taps, d_length;
    std::vector<float> d_points; // (M, dimensions), of unit power
    std::vector<std::complex<double>> d_correlation, d_work, d_prediction;
    std::vector<float> d_whitening, d_combined;   // filters: its own, with the judge's
    std::vector<float> d_response;                // (dimensions, length) of a unit
    std::array<float, 4> d_energy;                // products of two responses
    std::vector<float> d_rest, d_turned, d_white; // of the batch; turned by -90 degrees
    std::vector<float> d_before, d_after;         // expected samples around a symbol
    std::vector<float> d_change, d_best;          // (length) of a label's change
};

} // namespace gr::adann::core
