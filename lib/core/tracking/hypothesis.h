/* -*- c++ -*- */
/*
 * Labels that may be those of a stream's latest symbols.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/sample_history.h"

#include <cstddef>
#include <cstdint>

namespace gr::adann::core {

//! What a recovery tests, and starts taps and carrier from.
struct hypothesis {
    enum class source {
        present, //!< the stream's own, which may be late or rotated
        level,   //!< decided at the constellation's power: level_search
        timing,  //!< decided at another sampling instant and phase: timing_search
        blind    //!< by an equalizer that needs no decision: blind_search
    };
    source from;
    const std::uint8_t* labels; //!< of the latest n symbols
    std::size_t n;
    signal_planes
        samples;          //!< of judge::symbols, without their carrier; of `present` none
    bool rotates = false; //!< whether the carrier is found from them, with the taps

    //! Whether the carrier's phase is the one extrapolated from the latest confirmed test.
    bool has_settled_phase() const
    {
        return from == source::timing || from == source::blind;
    }
};

} // namespace gr::adann::core
