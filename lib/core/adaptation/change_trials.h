/* -*- c++ -*- */
/*
 * Statistics of tried label changes: how well the affine part predicts their gain.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

/*! Moments of two figures of a change of a label: its match, a matched filter's output by the
 * affine part of the waveform, and its gain, found with the whole waveform. Both are relative to
 * the energy of the change by the affine part.
 *
 * Where the affine part is exact the gain is 2 match - 1. Where a nonlinearity
 * makes a change smaller, or gives it another shape, the match at a given gain
 * differs and scatters. The regression of match on gain gives both, whichever
 * label is right, as noise orthogonal to the change affects the match in either
 * case. Samples are tries of symbols drawn independently of their match. */
struct change_trials {
    //! Weight of the prior, tries: the affine part is exact.
    static constexpr float believed = 8;
    static constexpr float remembered = 64; //!< averaging time, tries
    //! Most negative gain of interest, relative to the mean gain.
    static constexpr float most_lost = 0.5f;
    static constexpr float deviations =
        2;                                //!< of the scatter: one in 40 changes is missed
    static constexpr float largest = 100; //!< limit of match and gain, for tiny energies

    float count = believed;
    float match = 0, gain = -1; //!< means
    float match_variance = 0.01f, covariance = 0.02f, gain_variance = 0.04f;

    bool known() const { return count >= remembered / 2; } //!< from enough tries

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

    /*! Least match of a change that is worth a try.
     * \param lost how negative a gain is still of interest, as it adds to the error probability;
     * relative to the affine energy */
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
