/* -*- c++ -*- */
/*
 * The symbols of a signal that became fainter.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/label_power.h"
#include "core/tracking/tracked_stream.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! A signal that became fainter is decided as inner points: the labels' power is not the constellation's, and they
 * explain little. Decides the latest symbols, filtered by given taps, at the constellation's power. */
class level_search
{
public:
    level_search(const tracked_stream& stream,
                 const constellation& alphabet,
                 const std::vector<float>& probabilities);

    //! Symbols that are decided: judge::symbols and the waveform's reach on each side.
    std::size_t size() const { return d_labels.size(); }
    //! Whether the latest labels surely do not have the constellation's power.
    bool has_unusual_power(const tracked_stream& stream) const;
    //! Whether find() may be called.
    bool is_usable(const tracked_stream& stream) const;
    //! Labels of the latest size() symbols, valid until the next call. \param taps a vector of the stream's filter
    const std::uint8_t*
    find(tracked_stream& stream, const float* taps, const network_decider& decides);

private:
    std::size_t first(const sample_history& history) const;

    label_power d_power;
    std::vector<std::uint8_t> d_labels;
    aligned_floats d_windows; // scratch
};

} // namespace gr::adann::core
