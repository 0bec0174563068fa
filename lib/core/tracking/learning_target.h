/* -*- c++ -*- */
/*
 * What the taps and the carrier of a stream aim at.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/model.h"
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
 * How far means follow the estimates that they are made from, and by how much more these vary than
 * the learnt noise makes them, is averaged over some 16 blocks. Where decisions count as sure the
 * averages stay, and the decisions' waveform is aimed at. */
class learning_target
{
public:
    static constexpr float most_slope = 0.8f; //!< more would make too much of the noise
    //! From it on posterior means have more information about a phase than decisions at several phases do.
    static constexpr float soft_turning = 0.5f;
    static constexpr float most_turning = 14.0f / 15; //!< beyond it no phase is measured

    //! \param symbols of a stretch at most
    learning_target(std::shared_ptr<const expected_waveform> waveform,
                    const constellation& alphabet,
                    std::size_t symbols);

    const expected_waveform& waveform() const { return *d_waveform; }
    std::size_t reach() const { return d_waveform->reach(); } //!< symbols on each side
    //! Variance of an unbiased linear estimate of a symbol, by the learnt noise.
    float variance() const { return d_soft.variance(); }

    //! Whether decisions have been uncertain, so that means in their place are aimed at.
    bool is_uncertain() const { return d_slope > 0; }
    //! Whether posterior means turn with the estimates by half and more, so that a phase shows by half at most.
    bool blurs_phase() const { return d_turning > soft_turning; }
    //! Whether posterior means turn with the estimates so far that a phase shows at less than a fifteenth.
    bool hides_phase() const { return d_turning > most_turning; }
    //! Variance of a phase that n symbols measure, radians², by the noise as learnt and the slope of means.
    float phase_variance(std::size_t n) const
    {
        return variance() /
               (2 * static_cast<float>(n) * (1 - std::min(d_turning, most_turning)));
    }
    /*! Part of the learnt noise that the samples do not have, 0 to 1: by the latest block or by the average,
     * whichever has less noise; 1 until a block was measured. */
    float lacking_noise() const
    {
        return std::max(0.0f, 1 - std::min(d_noise, d_latest_noise) / d_learnt_noise);
    }
    //! Mean square of a sample's residual over some 16 blocks; NaN until a block was measured.
    float noise() const
    {
        return d_noise > 0 ? d_noise : std::numeric_limits<float>::quiet_NaN();
    }
    //! The taps start over: their residual so far is no measure of the noise.
    void forget_noise() { d_noise = d_latest_noise = d_noise_blocks = 0; }
    //! Finds the posterior means of n symbols whose neighbours are decided.
    void soften(sample_history& history, std::size_t symbol, std::size_t n);

    //! What labels make expect, interleaved; valid until the next call.
    float* expect(const std::uint8_t* labels, std::size_t n)
    {
        d_waveform->expect(labels, n, d_expected.data());
        return d_expected.data();
    }
    //! The same of symbols as the carrier aims at them.
    float*
    aim(const sample_history& history, std::size_t symbol, std::size_t n, bool hard);

    //! The same of known symbols alone, zero elsewhere; null if there are none.
    float* aim_known(const sample_history& history, std::size_t symbol, std::size_t n);

    //! What the taps aim at in a block.
    struct block {
        float* expected; //!< interleaved; valid until the next call
        std::optional<tap_bank::measured> measured; //!< none of sure decisions
    };
    block aim_block(const sample_history& history,
                    std::size_t symbol,
                    std::size_t n,
                    bool hard);

    //! Forgets what decisions have shown.
    void reset()
    {
        d_slope = d_turning = d_turns = 0;
        d_excess = 1;
        forget_noise();
    }
    void state(archive& members)
    {
        members("slope", d_slope, 0.0f, most_slope);
        members("turning", d_turning, 0.0f, 1.0f);
        members("turns", d_turns, 0.0f, 1e3f);
        members("excess", d_excess, 1e-3f, 1e12f);
        members("noise", d_noise, 0.0f, 1e12f);
        members("latest_noise", d_latest_noise, 0.0f, 1e12f);
        members("noise_blocks", d_noise_blocks, 0.0f, 1e3f);
    }

private:
    void take_known(sample_history& history, std::size_t symbol, std::size_t n);
    void measure_noise(float mean_square);

    std::shared_ptr<const expected_waveform> d_waveform;
    soft_decisions d_soft;
    std::vector<std::complex<float>> d_points; // of labels, of unit power
    aligned_floats d_expected, d_rest;
    // Averages, of soft_decisions: the slope, 0 where decisions are sure, that of a turn, and the excess.
    float d_slope = 0, d_turning = 0, d_excess = 1;
    float d_turns = 0; // blocks that d_turning is the mean of
    float d_power;     // of a sample of the waveform
    // Mean squares of a sample: as learnt; by the residual, on average and of the latest block.
    float d_learnt_noise, d_noise = 0, d_latest_noise = 0;
    float d_noise_blocks = 0; // that d_noise is the mean of
};

} // namespace gr::adann::core
