/* -*- c++ -*- */
/*
 * The taps and the carrier that explained a stream last, which it goes on from after a pause.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/label_power.h"
#include "core/tracking/phase_search.h"
#include "core/tracking/remembered_carrier.h"
#include "core/tracking/tracked_stream.h"

#include <complex>
#include <limits>
#include <string>
#include <vector>

namespace gr::adann::core {

/*! Between the packets of a radio there is noise, from which taps and carrier learn as if it were a signal. The
 * next packet comes through the channel of the last one.
 *
 * The latest block of a stream that is not followed is decided by the taps and the carrier of the latest block that
 * was explained, the carrier extrapolated. If labels explain the block, the stream goes on from there: by the taps,
 * which weigh as many symbols as they had been learnt from. Where the carrier rotates, phases up to half a symmetry
 * are tried; the phase that is found corrects the frequency that was extrapolated by.
 *
 * Nothing is allocated after construction. */
class resumption
{
public:
    static constexpr std::size_t block = tracked_stream::block;

    resumption(const tracked_stream& stream,
               const constellation& alphabet,
               const std::vector<float>& probabilities);

    //! A test has confirmed the stream: its residual is the usual one. Not before the carrier is confirmed.
    void remember(const tracked_stream& stream);
    //! Whether any test has confirmed it.
    bool remembers() const { return d_memory > 0; }
    const float* taps() const { return d_taps.data(); }
    //! Symbols that they were learnt from.
    std::size_t memory() const { return d_memory; }
    //! After a block of a stream that is followed: keeps taps and carrier if it is explained.
    void follow(const tracked_stream& stream);

    /*! Windows of n symbols by these taps and the extrapolated carrier.
     * \param position symbols that are decided since the latest update
     * \param memory they are valid as long as it is */
    feature_view windows(tracked_stream& stream,
                         std::size_t symbol,
                         std::size_t n,
                         std::size_t position,
                         aligned_floats& memory);

    //! The latest block as these taps decide it.
    struct tried {
        //! Mean square of a sample; infinite where samples are not usable.
        float residual = std::numeric_limits<float>::infinity();
        //! Whether that is as usual, and labels may be random data.
        bool explains = false;
    };
    //! Of a stream that is not followed.
    tried decide(tracked_stream& stream, const network_decider& decides);
    /*! Whether the latest block, or the one before, has the power of the noise alone: a pause, in which taps that
     * explain their own decisions have learnt from noise. Never once labels were surely a signal's. */
    bool is_pause() const { return d_pause > 0; }
    /*! Whether a block since the stream was followed had three times the usual residual or more: the signal was
     * missing. Where a residual is about the limit all the time it was not, and its own taps go on. */
    bool has_gap() const { return d_has_gap; }
    //! tried::explains of the latest block
    bool explains() const { return d_explains; }
    //! Labels are surely a signal's, until forget_signal().
    void note_signal()
    {
        d_is_signal = true;
        d_pause = 0;
    }
    void forget_signal() { d_is_signal = false; }
    //! Whether a block's residual is that of when the stream settled.
    bool is_as_usual(float residual) const;
    //! The stream goes on from the block that was decided.
    void resume(tracked_stream& stream);

    //! Samples are multiplied by so much more from here on: the taps by as much less.
    void scale(const tracked_stream& stream, float by);
    void reset(const tracked_stream& stream);
    void state(archive& members);

private:
    void keep_taps(const tracked_stream& stream);
    //! Of the block, and its labels at a phase.
    struct fit {
        phase_search::correlation with_waveform;
        float power = 0;        // of the samples
        double distance() const // at the best phase
        {
            return with_waveform.power - 2 * std::abs(with_waveform.sum);
        }
    };
    fit decide_at(tracked_stream& stream, const network_decider& decides, float angle);
    static double now(const tracked_stream& stream);

    label_power d_power;
    phase_search d_phases;
    aligned_floats d_taps;
    std::size_t d_memory = 0; // symbols that they were learnt from; 0: never
    float d_residual = 0;     // of the stream then, mean square of a sample
    remembered_carrier d_carrier;
    double d_rotation = 0;     // without a carrier, radians
    std::uint64_t d_slips = 0; // carrier_follower::slips() then
    bool d_is_signal = false, d_explains = false, d_has_gap = false;
    std::size_t d_pause = 0; // blocks for which is_pause() stays

    // Nothing outlives a call in these, but of decide() until resume().
    float d_angle = 0; // of the block, beyond the extrapolated phase
    planes d_filtered; // by the taps
    aligned_floats d_windows, d_turned;
    std::vector<std::uint8_t> d_labels;
};

} // namespace gr::adann::core
