/* -*- c++ -*- */
/*
 * Where the taps and carriers of several channels start from.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/model.h"
#include "core/signal/blind_separation.h"
#include "core/tracking/normal_equations.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! What a stretch of several channels shows of its transmitters: labels, where they are not known,
 * carriers, and the taps that bring the channels nearest to the expected waveform of the labels.
 *
 * A stretch is, of each channel, the first sample that its first symbol owns. */
class mimo_start
{
public:
    /*! \param behind a model with an expected waveform
     * \param shape of the taps' sums: all channels */
    mimo_start(const model& behind, const normal_equations& shape);

    /*! Finds the labels of those transmitters that have none (blind_separation.h), from the symbol
     * half_window on, half_window before the end.
     * \throws eye_closed if one is not found */
    void find_labels(const std::vector<signal_planes>& x,
                     std::size_t symbols,
                     std::vector<separated>& transmitters) const;
    //! The carrier of labels that are known.
    carrier_track carrier_of(const std::vector<signal_planes>& x,
                             const std::vector<std::uint8_t>& labels) const;
    //! Taps by least squares, a vector of normal_equations, with the phase of the carrier.
    aligned_floats fit(const std::vector<signal_planes>& x, const separated& sent);
    //! Whether their phases go together, but for constant ones and the constellation's symmetries.
    bool have_one_carrier(const std::vector<separated>& transmitters) const;

private:
    std::size_t sample(std::size_t symbol) const { return symbol * d_window.sps(); }
    std::vector<float> together(const std::vector<signal_planes>& x,
                                std::size_t symbols) const;

    const expected_waveform d_waveform;
    const constellation d_symbols;
    const window_geometry d_window;
    const unsigned d_half_window;
    normal_equations d_sums;
};

} // namespace gr::adann::core
