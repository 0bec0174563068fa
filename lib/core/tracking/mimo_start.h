/* -*- c++ -*- */
/*
 * Initial taps and carriers of a filter for several channels.
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

/*! Finds the labels (where they are not known) and carriers of the
 * transmitters in a stretch of several channels, and the taps that
 * bring the channels nearest to the expected waveform of the labels.
 *
 * A stretch is given by each channel's first sample: the first of the sps samples of symbol 0. */
class mimo_start
{
public:
    /*! \param behind a model with an expected waveform
     * \param shape of the taps' sums: all channels */
    mimo_start(const model& behind, const normal_equations& shape);

    /*! Finds the labels of transmitters that have none (blind_separation.h). Labels begin
     * half_window symbols after the first and end half_window before the last.
     * \throws eye_closed if a transmitter is not found */
    void find_labels(const std::vector<signal_planes>& x,
                     std::size_t symbols,
                     std::vector<separated>& transmitters) const;
    //! The carrier of a transmitter with known labels.
    carrier_track carrier_of(const std::vector<signal_planes>& x,
                             const std::vector<std::uint8_t>& labels) const;
    //! Taps by least squares, a vector of normal_equations, with the phase of the carrier.
    aligned_floats fit(const std::vector<signal_planes>& x, const separated& sent);
    //! Whether their phases are equal, up to a constant and the constellation's symmetries.
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
