/* -*- c++ -*- */
/*
 * Finds the labels of several transmitters that several channels receive mixed.
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
    const float* samples; //!< the first of symbol 0's samples
    std::size_t symbols, sps, channels;

    std::size_t stride() const { return 2 * sps * channels; } //!< floats of a symbol
};

//! A transmitter's labels in a stretch, and its carrier.
struct separated {
    std::vector<std::uint8_t> labels;
    carrier_track carrier = {}; //!< of the same symbols
};

/*! Finds the labels of transmitters whose uniform, independent symbols are all of one
 * constellation and come at one rate, and the carrier of each.
 *
 * All channels together are treated as one with `channels` times as many samples per symbol.
 * blind_equalizer() finds one transmitter in it. Its expected waveform in the channels
 * (fit_waveform()), rotated by its carrier, is then subtracted, and the next one is sought in the
 * residual, so that none is found twice. The order of the transmitters is arbitrary, and so are a
 * symmetry of the constellation and a delay by whole symbols.
 *
 * \param half_window symbols on each side that the equalizers span
 * \param transmitters the labels of each, signal.symbols - 2·half_window from symbol
 * `half_window` on; empty: they are sought. Known transmitters are subtracted first. On
 * return all have their carriers.
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
