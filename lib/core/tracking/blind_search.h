/* -*- c++ -*- */
/*
 * A stream's latest symbols, from its samples alone.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/blind_decisions.h"
#include "core/tracking/tracked_stream.h"

#include <cstdint>
#include <memory>

namespace gr::adann::core {

//! What a linear equalizer that knows nothing but the constellation makes of the latest samples (blind_decisions.h).
class blind_search
{
public:
    static constexpr std::size_t symbols = 512; //!< that are decided

    //! Decisions of the latest symbols.
    struct decisions {
        //! Valid until the next find(); null if samples are not usable, or show no constellation.
        const std::uint8_t* labels = nullptr;
        //! Received ones of judge::symbols, without their mean and without the carrier.
        signal_planes samples{};
    };

    blind_search(const tracked_stream& stream, const constellation& alphabet);

    //! The carrier is that when the stream was settled.
    decisions find(tracked_stream& stream);

private:
    std::size_t d_taps;
    std::shared_ptr<blind_decisions> d_equalizer; // copies share it: it keeps nothing
    planes d_samples;                             // without their carrier
    aligned_floats d_windows;                     // of complex samples
};

} // namespace gr::adann::core
