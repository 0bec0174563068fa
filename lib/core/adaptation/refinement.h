/* -*- c++ -*- */
/*
 * What is known of a signal whose labels are refined.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/change_trials.h"
#include "core/adaptation/filtered_waveform.h"
#include "core/adaptation/residual_phase.h"
#include "core/signal/constellation.h"
#include "core/signal/expected_waveform.h"

#include <algorithm>
#include <complex>
#include <limits>
#include <vector>

namespace gr::adann::core {

//! What refining labels needs to know of the present signal; a label_refiner finds it.
struct refinement {
    refinement() = default;
    explicit refinement(const expected_waveform& waveform) //!< with room for the filters
        : taps(2 * filter_reach * waveform.sps() + 2),
          whitening(predicted_from * waveform.sps() + 1),
          table(waveform.table()),
          polynomial(waveform.polynomial().coefficients()),
          energies(waveform.classes() * waveform.classes(), 1.0f),
          trials(contexts(waveform.classes()) * waveform.classes() * most_others)
    {
    }
    //! Labels before a symbol that trials distinguish: a sender's memory may make a change small
    //! after one of them only. With many labels each would be seen too seldom.
    static std::size_t contexts(std::size_t classes)
    {
        return classes <= 8 ? classes : 1;
    }
    static constexpr std::size_t most_others = constellation::most_neighbours;
    //! Copies it; the table only where waveform_number differs, and so allocates nothing.
    void assign(const refinement& other);
    //! Symbols before each one from which whitening predicts.
    static constexpr std::size_t predicted_from = 3;

    bool known = false;       //!< else labels stay as they are
    std::uint64_t number = 0; //!< another one when the filters are
    //! (2 filter_reach sps + 1) of the filter after the waveform; then its offset, in units of the samples.
    std::vector<std::complex<float>> taps;
    //! (predicted_from sps + 1): factors of a sample of the residual, of the one before, and so on; the
    //! first is 1.
    std::vector<std::complex<float>> whitening;
    float power =
        0; //!< mean square of the whitened residual of refined labels, per float
    //! Mean square along a symbol's response, which is all that noise can change a decision by.
    float power_along = 0;
    //! Weights of the estimate of a carrier's residual phase, -1 to 1 (residual_phase_filter).
    residual_phases::weights phase_weights{};
    //! Of the waveform, as expected_waveform has them (following_waveform).
    std::vector<float> table, polynomial;
    std::uint64_t waveform_number = 0; //!< another one when table or polynomial are
    /*! (M, M): energy that the change of one label to another has had, over what the affine
     * part says; 1 where none was tried. */
    std::vector<float> energies;
    //! (contexts, M, most_others): of the label before, a label, and each of its neighbours.
    std::vector<change_trials> trials;
};

//! Of the noise, for likelihoods.
inline float power_of(const refinement& signal)
{
    return std::max(signal.power_along, std::numeric_limits<float>::min());
}

} // namespace gr::adann::core
