/* -*- c++ -*- */
/*
 * Timing and phase of a stream whose channel is known, after samples were lost or its phase has jumped.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/judge.h"
#include "core/tracking/phase_search.h"
#include "core/tracking/tracked_stream.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Decides the latest symbols with given taps, at each sampling instant of a symbol and, of complex
 * samples, at each phase that decisions distinguish up to half a symmetry (phase_search::angles()).
 * At each phase they are decided once more, at the one that those decisions measure. Those nearest to
 * their expected waveform are taken: maximum likelihood under white noise. Where their phase changes
 * meanwhile it is the frequency that has jumped.
 *
 * A receiver that loses samples, as radios do when a computer is late, changes the timing by any
 * part of a symbol; an oscillator or a carrier loop before this one changes the phase in one step.
 * The channel is the same, and so are the taps. Without them each symbol would have to be learnt
 * anew, which dense constellations allow slowly.
 *
 * Nothing is allocated after construction. */
class timing_search
{
public:
    //! Decisions of the latest size() symbols.
    struct decisions {
        //! Valid until the next find(); null if samples are not usable.
        const std::uint8_t* labels;
        std::size_t earlier; //!< samples by which they are sampled earlier, less than sps
        //! Received ones of judge::symbols, so much earlier, without their carrier.
        signal_planes samples;
        bool rotates; //!< whether their phase surely changes meanwhile
    };

    timing_search(const tracked_stream& stream, const constellation& alphabet);

    std::size_t size() const { return d_labels.size(); }
    //! \param taps a vector of the stream's filter; the carrier is that when the stream was settled
    decisions
    find(tracked_stream& stream, const float* taps, const network_decider& decides);

private:
    signal_planes received(const tracked_stream& stream, std::size_t first);
    void turn(std::size_t from, std::size_t n, float angle);

    phase_search d_phases;
    planes d_received, d_filtered; // without their carrier
    aligned_floats d_windows;      // at one instant and phase
    std::vector<std::uint8_t> d_labels, d_best;
};

} // namespace gr::adann::core
