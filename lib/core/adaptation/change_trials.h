/* -*- c++ -*- */
/*
 * What trials of a change of a label have shown: how well the affine part predicts its gain.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

/*! Moments of the match of a change by the affine part of a waveform, and of the gain that the
 * whole waveform found, both over the energy that the affine part says the change has.
 *
 * Where that part is right the gain is 2 match - 1. Where a nonlinearity makes a change smaller, or
 * gives it another shape, the match at a given gain is another one, and it scatters. The regression
 * of match on gain gives both, and does so whichever label is right: noise across the change moves
 * the match alike. Samples are tries of symbols drawn without regard to their match. */
struct change_trials {
    //! As if so many tries had found the affine part to be right.
    static constexpr float believed = 8;
    static constexpr float remembered = 64; //!< tries
    //! Of the energy of a change: how much less than nothing the gain of one worth a try may be.
    static constexpr float most_lost = 0.5f;
    static constexpr float deviations =
        2;                                //!< of the scatter: one in 40 changes is missed
    static constexpr float largest = 100; //!< match or gain: of no energy all is far off

    float count = believed;
    float match = 0, gain = -1; //!< means
    float match_variance = 0.01f, covariance = 0.02f, gain_variance = 0.04f;

    bool known() const { return count >= remembered / 2; } //!< from tries

    void add(float matched, float gained)
    {
        count = std::clamp(count + 1, believed, remembered);
        const float part = 1 / count, kept = 1 - part;
        const float by_match = std::clamp(matched, -largest, largest) - match;
        const float by_gain = std::clamp(gained, -largest, largest) - gain;
        match += part * by_match;
        gain += part * by_gain;
        match_variance = kept * (match_variance + part * by_match * by_match);
        covariance = kept * (covariance + part * by_match * by_gain);
        gain_variance = kept * (gain_variance + part * by_gain * by_gain);
    }

    /*! The match from which on the change may gain.
     * \param lost how negative a gain is of interest, since it adds to the error probability; relative to
     * the affine energy */
    float least_match(float lost) const
    {
        if (!(gain_variance > 0))
            return -std::numeric_limits<float>::infinity();
        const float slope = covariance / gain_variance;
        const float scatter = std::max(0.0f, match_variance - slope * covariance);
        const float most = most_lost * std::abs(gain);
        const float least_gain = -std::min(lost, most);
        return match + (least_gain - gain) * slope - deviations * std::sqrt(scatter);
    }
};

} // namespace gr::adann::core
