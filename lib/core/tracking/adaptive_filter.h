/* -*- c++ -*- */
/*
 * The taps of a stream, which follow what is expected of its labels.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/acquisition.h"
#include "core/tracking/carrier_follower.h"
#include "core/tracking/learning_target.h"
#include "core/tracking/tap_bank.h"

#include <algorithm>

namespace gr::adann::core {

/*! A filter over the samples of a history, whose taps are least squares (tap_bank.h) towards the
 * waveform that is expected of the labels.
 *
 * The target is that waveform with the noise of the samples that the model was trained on
 * (normal_equations::add_noise_target()): on such a link the taps are the identity, where plain least
 * squares would attenuate and smooth. For complex samples the target has the carrier's phase.
 *
 * Nothing is allocated after construction. */
class adaptive_filter
{
public:
    /*! \param taps,short_taps of long and of short time constants, odd
     * \param block symbols that are learnt from at once
     * \param most_apart blocks from one that is learnt from to the next, at most
     * \param most_known symbols of a sequence that start() is given, at most */
    adaptive_filter(const learning_target& target,
                    const sample_history& history,
                    std::size_t taps,
                    std::size_t short_taps,
                    std::size_t block,
                    const std::vector<std::size_t>& memories,
                    std::size_t most_apart,
                    std::size_t most_known);

    std::size_t taps() const { return d_sums.taps(); }
    std::size_t reach() const { return taps() / 2; }
    const normal_equations& shape() const { return d_sums; }
    //! Taps that do nothing, a vector of normal_equations.
    const aligned_floats& identity() const { return d_identity; }
    tap_bank& bank() { return d_bank; }
    const tap_bank& bank() const { return d_bank; }
    //! Mean square residual of a filtered sample, relative to the power of the waveform.
    //! \param measured that of the samples: where these lack noise, that of the sums is none
    float residual(float measured) const
    {
        const float predicted = d_bank.residual();
        return (predicted > 0 || std::isnan(predicted) ? predicted : measured) / d_power;
    }
    //! The phase that the taps turn the trained noise by, radians.
    float phase() const { return d_bank.phase(d_wanted_noise.target.data()); }

    //! Filters from history.ready() up to `end`.
    void run(sample_history& history, const carrier_follower* carrier, std::size_t end);
    /*! Filters n samples by other taps.
     * \param to complex ones interleaved, with room for whole simd::lanes */
    void run(const sample_history& history,
             const carrier_follower* carrier,
             const float* taps,
             std::size_t first,
             std::size_t n,
             float* to);
    //! n samples by these taps, with their carrier; `to` has room for whole simd::lanes.
    void run(const float* taps, const signal_planes& from, std::size_t n, planes& to)
    {
        d_filter.run(taps, d_sums.pitch(), from, n, to.re.data(), to.im.data());
    }

    /*! Learns from the latest block of symbols whose neighbours are decided, if its samples are usable.
     * \param corrected learns from the residual while decisions are soft
     * \param hard whether decisions count as sure
     * \param blocks since it learnt last */
    void learn(sample_history& history,
               learning_target& target,
               carrier_follower* carrier,
               corrections& corrected,
               std::size_t blocks,
               bool hard);

    /*! Starts from the labels of n symbols before symbol `end`, those at the ends serve as neighbours
     * only; the history gets these labels, and is filtered again from there on.
     * \param finds_carrier whether the carrier is found with the taps; else it is the one that was
     * there when the stream was settled
     * \param most largest residual of the taps that is accepted
     * \return whether it is accepted; else nothing has changed */
    bool start(sample_history& history,
               learning_target& target,
               carrier_follower* carrier,
               const std::uint8_t* labels,
               std::size_t n,
               std::size_t end,
               bool finds_carrier,
               float most);

    /*! Goes on by earlier taps.
     * \param labels by them, of the latest n symbols
     * \param memory symbols that they were learnt from
     * \param from of the carrier */
    void resume(sample_history& history,
                learning_target& target,
                carrier_follower* carrier,
                const std::uint8_t* labels,
                std::size_t n,
                const float* taps,
                std::size_t memory,
                const carrier_follower::extrapolation& from);

private:
    std::size_t d_block;
    normal_equations d_sums;                // of a block
    normal_equations::noise d_wanted_noise; // of the model
    float d_power;                          // of the waveform
    float d_level;   // rms of the samples that the model was trained on
    float d_silence; // mean square of a sample: a hundredth of the learnt noise
    linear_filter d_filter;
    tap_bank d_bank;
    acquisition d_acquisition;
    planes d_wanted, d_output;
    aligned_floats d_identity;
};

} // namespace gr::adann::core
