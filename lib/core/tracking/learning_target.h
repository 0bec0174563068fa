/* -*- c++ -*- */
/*
 * The target of the taps and the carrier of a stream.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/model.h"
#include "core/signal/running_mean.h"
#include "core/tracking/label_variety.h"
#include "core/tracking/sample_history.h"
#include "core/tracking/soft_decisions.h"
#include "core/tracking/tap_bank.h"

#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace gr::adann::core {

//! Symbols between two updates of taps.
constexpr std::size_t block_symbols = 64;

//! \throws std::invalid_argument if the model has no expected waveform
const expected_waveform& waveform_of(const model& behind);

/*! The expected waveform of a stream's labels, by posterior means where they are uncertain
 * (soft_decisions.h).
 *
 * Two figures are averaged over some 16 blocks: the slope of posterior
 * means over the linear estimates they are computed from, and the variance
 * of these estimates over that by the learnt noise. Where decisions count
 * as sure the averages stay, and the target is the decisions' waveform. */
class learning_target
{
public:
    static constexpr float most_slope =
        0.8f; //!< a larger one would amplify the noise too much
    //! d_turning above which posterior means measure a
    //! phase better than decisions at several phases.
    static constexpr float soft_turning = 0.5f;
    static constexpr float most_turning =
        14.0f / 15; //!< d_turning above which no phase is measured

    //! \param symbols of a stretch at most
    learning_target(std::shared_ptr<const expected_waveform> waveform,
                    const constellation& alphabet,
                    std::size_t symbols);

    const expected_waveform& waveform() const { return *d_waveform; }
    std::size_t reach() const { return d_waveform->reach(); } //!< symbols on each side
    //! Whether the labels of a block determine a channel: label_variety.
    bool have_variety(const std::uint8_t* labels) const
    {
        return d_variety.is_enough(labels);
    }
    float power() const { return d_power; } //!< the waveform's: mean square of a sample
    //! Variance of an unbiased linear estimate of a symbol, by the learnt noise.
    float variance() const { return d_soft.variance(); }
    //! Whether decisions are a better target than posterior means: soft_decisions.
    bool is_outdone_by(double symbol_error_rate) const
    {
        return d_soft.is_outdone_by(symbol_error_rate);
    }

    //! Whether decisions have been uncertain, so that posterior means are the target.
    bool is_uncertain() const { return d_slope > 0; }
    //! Whether posterior means rotate with a phase error
    //! by half of it or more: they show half at most.
    bool blurs_phase() const { return d_turning > soft_turning; }
    //! Whether posterior means show less than a fifteenth of a phase error.
    bool hides_phase() const { return d_turning > most_turning; }
    //! Mean square of a sample's noise: as the model learnt it, or more, if tests show so (noise_level.h).
    float noise_power() const { return d_noise_power; }
    //! More noise is in the estimates, too, from here on.
    void set_noise_power(float power)
    {
        if (power > d_noise_power)
            d_excess = std::max(d_excess, power / d_learnt_noise);
        d_noise_power = std::max(power, d_learnt_noise);
    }
    //! Variance of a phase measured over n symbols, radians², by noise_power() and d_turning.
    float phase_variance(std::size_t n) const
    {
        return variance() /
               (2 * static_cast<float>(n) * (1 - std::min(d_turning, most_turning)));
    }
    /*! Part of the learnt noise power that the samples lack, 0 to 1: by the latest block or by
     * the average, whichever has less noise; 1 until a block was measured. */
    float lacking_noise() const
    {
        return std::max(0.0f,
                        1 - std::min(d_noise.mean, d_latest_noise) / d_learnt_noise);
    }
    //! Mean square of a sample's residual over some 16 blocks; NaN until a block was measured.
    float noise() const
    {
        return d_noise.mean > 0 ? d_noise.mean : std::numeric_limits<float>::quiet_NaN();
    }
    //! Finds the posterior means of n symbols whose neighbours are decided.
    void soften(sample_history& history, std::size_t symbol, std::size_t n);

    //! Expected waveform of n labels, interleaved; valid until the next call.
    float* expect(const std::uint8_t* labels, std::size_t n)
    {
        d_waveform->expect(labels, n, d_expected.data());
        return d_expected.data();
    }
    //! The carrier's target over n symbols, interleaved; valid until the next call.
    float*
    aim(const sample_history& history, std::size_t symbol, std::size_t n, bool hard);

    //! The same of known symbols alone, zero elsewhere; null if there are none.
    float* aim_known(const sample_history& history, std::size_t symbol, std::size_t n);

    //! The taps' target over a block.
    struct block {
        float* expected; //!< interleaved; valid until the next call
        std::optional<tap_bank::measured> measured; //!< none where decisions are sure
    };
    block aim_block(const sample_history& history,
                    std::size_t symbol,
                    std::size_t n,
                    bool hard);

    //! Forgets all averages: the taps start over, and these were measured with the earlier ones.
    void reset()
    {
        d_slope = d_turning = d_turns = 0;
        d_excess = more_noise();
        d_noise = {};
        d_latest_noise = 0;
        d_label_noise.reset();
    }
    void state(archive& members)
    {
        members("slope", d_slope, 0.0f, most_slope);
        members("turning", d_turning, 0.0f, 1.0f);
        members("turns", d_turns, 0.0f, 1e3f);
        members("excess", d_excess, 1e-3f, 1e12f);
        members("noise_power", d_noise_power, d_learnt_noise, 1e12f);
        members("noise", d_noise.mean, 0.0f, 1e12f);
        members("latest_noise", d_latest_noise, 0.0f, 1e12f);
        members("noise_blocks", d_noise.count, 0.0f, 1e3f);
        members("label_noise", d_label_noise);
    }

private:
    // Over what the model learnt.
    float more_noise() const
    {
        return d_noise_power > d_learnt_noise ? d_noise_power / d_learnt_noise : 1;
    }
    void take_known(sample_history& history, std::size_t symbol, std::size_t n);

    std::shared_ptr<const expected_waveform> d_waveform;
    soft_decisions d_soft;
    label_noise d_label_noise;
    std::vector<std::complex<float>> d_points; // of labels, of unit power
    label_variety d_variety;                   // of a block
    aligned_floats d_expected, d_linear;
    // Averages of soft_decisions::slope(), which is 0
    // where decisions are sure, turning() and excess().
    float d_slope = 0, d_turning = 0, d_excess = 1;
    float d_turns = 0; // blocks in the means d_slope and d_turning
    float d_power;     // of a sample of the waveform
    // Mean squares of a sample: learnt noise; the residual, on average and in the latest block.
    float d_learnt_noise, d_noise_power;
    running_mean<float> d_noise; // of blocks
    float d_latest_noise = 0;
};

} // namespace gr::adann::core
