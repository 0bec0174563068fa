/* -*- c++ -*- */
/*
 * A step towards the labels that explain the samples best.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/filtered_waveform.h"
#include "core/signal/constellation.h"

#include <array>
#include <complex>
#include <vector>

namespace gr::adann::core {

//! What refining labels needs to know of the present signal; a label_refiner finds it.
struct refinement {
    refinement() = default;
    explicit refinement(const expected_waveform& waveform) //!< with room for the filters
        : taps(2 * filter_reach * waveform.sps() + 2),
          whitening(predicted_from * waveform.sps() + 1)
    {
    }
    //! Symbols that whitening looks back.
    static constexpr std::size_t predicted_from = 3;

    bool known = false;       //!< else labels stay as they are
    std::uint64_t number = 0; //!< another one when the filters are
    //! Of the filter behind the waveform; then its offset.
    std::vector<std::complex<float>> taps;
    //! What a sample of the rest, the one before, … are multiplied with; the first is 1.
    std::vector<std::complex<float>> whitening;
    float power = 0; //!< mean square of the whitened floats that refined labels leave
};

/*! Tries other labels for a symbol, its surroundings kept: the points nearest to its own, and
 * takes the one that lowers the squared difference to the expected waveform most.
 *
 * The waveform goes through a filter; the difference is whitened by a linear prediction, so
 * that for Gaussian noise it is a likelihood. Whether a change is worth a try is estimated by
 * the waveform's affine part, with a matched filter; the whole waveform decides. Nothing is
 * allocated after construction.
 *
 * Source: a descent over single symbols of maximum-likelihood sequence estimation (Forney
 * 1972), as in likelihood ascent search (Vardhan et al. 2008). */
class label_descent
{
public:
    label_descent(const constellation& symbols, const expected_waveform& waveform);

    const expected_waveform& waveform() const { return d_waveform; }
    std::size_t lags() const { return d_lags; } //!< samples that whitening looks back
    std::size_t taps() const { return d_taps; } //!< of the filter
    //! Whitened symbols before a symbol, and behind it, that its label changes.
    std::size_t before() const { return d_waveform.reach() + filter_reach; }
    std::size_t behind() const { return before() + refinement::predicted_from; }

    //! The signal to refine from now on.
    void use(const refinement& signal);
    /*! The rest, whitened.
     * \param rest,white n samples, the first lags() of which become zero */
    void whiten(const float* rest, std::size_t n, float* white) const;

    /*! Refines the label of one symbol.
     * \param labels of `count` symbols
     * \param white whitened rest of symbols first to last - 1 of them, changed with the label
     * \return whether it changed */
    bool visit(std::uint8_t* labels,
               std::size_t count,
               std::size_t symbol,
               float* white,
               std::size_t first,
               std::size_t last);
    //! Labels that were tried so far: what costs.
    std::size_t tries() const { return d_tries; }

private:
    template <typename sample>
    void find_responses(const refinement& signal);
    template <typename sample>
    void find_change(std::uint8_t* labels,
                     std::size_t count,
                     std::size_t symbol,
                     std::uint8_t other);
    bool worth_a_try(std::uint8_t now, std::uint8_t other, const float* match) const;

    const constellation d_symbols;
    const expected_waveform d_waveform;
    const std::size_t d_dimensions, d_planes; // of points, of samples
    // Samples: of the prediction, the filter, a symbol's response.
    const std::size_t d_lags, d_taps, d_length;
    std::vector<float> d_points;                // (M, dimensions), of unit power
    std::vector<float> d_whitening, d_combined; // filters: its own, with the other one
    std::vector<float> d_response;              // (dimensions, length) of a unit
    std::array<float, 4> d_energy{};            // products of two responses
    std::vector<float> d_before, d_after;       // expected samples around a symbol
    std::vector<float> d_change, d_best;        // (length) of a label's change
    std::size_t d_tries = 0;
};

} // namespace gr::adann::core
