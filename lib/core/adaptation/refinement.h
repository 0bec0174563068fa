/* -*- c++ -*- */
/*
 * The present signal, as far as refining labels needs it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/change_trials.h"
#include "core/adaptation/filtered_waveform.h"
#include "core/adaptation/residual_gain.h"
#include "core/signal/constellation.h"
#include "core/signal/expected_waveform.h"

#include <algorithm>
#include <complex>
#include <limits>
#include <vector>

namespace gr::adann::core {

//! The channel, noise and waveform of the present signal, which a label_refiner finds.
struct refinement {
    refinement() = default;
    explicit refinement(const expected_waveform& waveform) //!< with room for the filters
        : taps(2 * filter_reach * waveform.sps() + 2),
          whitening(predicted_from * waveform.sps() + 1),
          label_noise(waveform.classes(), 1.0f),
          table(waveform.table()),
          polynomial(waveform.polynomial().coefficients()),
          energies(waveform.classes() * waveform.classes(), 1.0f),
          trials(contexts(waveform.classes()) * waveform.classes() * most_others)
    {
    }
    //! Labels of the previous symbol that trials distinguish, as a transmitter's memory may make a
    //! change small after one of them only. With more labels each would be too rare.
    static std::size_t contexts(std::size_t classes)
    {
        return classes <= 8 ? classes : 1;
    }
    static constexpr std::size_t most_others = constellation::most_neighbours;
    //! Copies it; the table only where waveform_number differs, and so allocates nothing.
    void assign(const refinement& other);
    //! Symbols before each one from which whitening predicts.
    static constexpr std::size_t predicted_from = 3;
    bool known = false;    //!< false: labels stay as they are
    bool searches = false; //!< for label sequences (sequence_search): they are worth it
    std::uint64_t number = 0; //!< changes with the filters
    //! (2 filter_reach sps + 1) taps of the filter after the waveform; then its offset.
    std::vector<std::complex<float>> taps;
    //! (predicted_from sps + 1): factors of a sample of the residual, of the previous one, and so
    //! on; the first is 1.
    std::vector<std::complex<float>> whitening;
    //! Mean square of the whitened residual of refined labels, per float, over some 2048 symbols.
    float power = 0;
    //! The same along a symbol's response: the part of the noise that can change a decision.
    float power_along = 0;
    //! Mean square before whitening, per float: expected_waveform::noise(), squared, on the training's signal.
    float residual = 0;
    std::vector<float>
        label_noise; //!< (M): power of the noise of each label, over the mean
    //! Weights of the estimate of a block's gain, -1 to 1 (block_error_filter).
    residual_gains::weights gain_weights;
    //! Of the expected_waveform, as following_waveform has changed them.
    std::vector<float> table, polynomial;
    std::uint64_t waveform_number = 0; //!< changes with table or polynomial
    /*! (M, M): measured energy of the change of one label to another, over that by the affine part;
     * 1 where none was tried. */
    std::vector<float> energies;
    //! (contexts, M, most_others): by the label before, the label, and each of its neighbours.
    std::vector<change_trials> trials;
};

//! Power of the noise for likelihoods, per dimension of a symbol.
inline float power_of(const refinement& signal)
{
    return std::max(signal.power_along, std::numeric_limits<float>::min());
}

} // namespace gr::adann::core
