/* -*- c++ -*- */
/*
 * The labels of several transmitters that several channels receive mixed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"
#include "core/signal/linear_equalizer.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

//! A stretch of complex samples of all channels: (symbols, sps, channels) of I and Q.
struct mixed_signal {
    const float* samples; //!< from the first one that symbol 0 owns
    std::size_t symbols, sps, channels;

    std::size_t stride() const { return 2 * sps * channels; } //!< floats of a symbol
};

//! What a transmitter sent in a stretch, and its carrier.
struct separated {
    std::vector<std::uint8_t> labels;
    carrier_track carrier = {}; //!< of the same symbols
};

/*! Finds the labels of transmitters whose uniform, independent symbols are all of one
 * constellation and come at one rate, and the carrier of each.
 *
 * All channels together are treated as one with `channels` times as many samples a symbol.
 * blind_equalizer() finds one transmitter in it. Its expected waveform in the channels
 * (fit_waveform()), rotated by its carrier, is then subtracted, and the next one is sought in
 * the residual: so no transmitter is found twice. Open are which transmitter is found first, a symmetry of the constellation, a whole delay.
 *
 * \param half_window symbols on each side that the equalizers span
 * \param transmitters of each the labels, signal.symbols - 2·half_window, those of the
 * symbols from `half_window` on; or none, and then they are sought. Known ones are taken
 * out first. All have their carriers afterwards.
 * \throws eye_closed if one is not found
 * Source: Delfosse and Loubaton, "Adaptive blind separation of independent sources: a
 * deflation approach", Signal Processing 45, 1995. */
void separate_blindly(const mixed_signal& signal,
                      const constellation& symbols,
                      unsigned half_window,
                      std::vector<separated>& transmitters);

//! The points of known labels.
std::vector<std::complex<float>> points_of(const std::vector<std::uint8_t>& labels,
                                           const constellation& symbols);

} // namespace gr::adann::core
