/* -*- c++ -*- */
/*
 * A linear equalizer as long as a network's windows, fitted to known symbols or to none.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/carrier_track.h"
#include "core/signal/constellation.h"
#include "core/signal/windows.h"

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace gr::adann::core {

/*! Linear taps from a window to its symbol: (constellation.dimensions(), view.dimension) reals,
 * row by row, I before Q, and a constant for each row, which is added to its output. For complex points
 * and samples there is one complex tap for each sample; for real points one real tap for each part of a
 * sample. If Q comes half a symbol later (constellation::is_offset()), I and Q have taps of their own. */
struct linear_equalizer {
    std::vector<double> taps;
    std::vector<double> constants;
    double error; //!< mean square error of its decisions; points have unit power
};

//! No linear equalizer finds the constellation.
class eye_closed : public std::runtime_error
{
    using std::runtime_error::runtime_error;
};

/*! Finds an equalizer for unknown symbols, which are uniform and independent. Their carrier is
 * recovered up to a constant phase, or is found here.
 *
 * Super-exponential iterations bring the output's kurtosis to its extreme, that of the
 * constellation. A blind phase search rotates the output, and 20 rounds of decisions and least
 * squares follow. The result is open up to a symmetry of the constellation and a delay by whole
 * symbols. At most 16384 of the windows are used. An offset constellation is treated as two real
 * ones: before the decisions, the taps of one part are those of the other, rotated by 90° and half
 * a symbol later; which of the two is I is open, too.
 *
 * Two are searched for, one of them for samples less their mean, which has a constant then; the other one is
 * returned if it has less than half of its error, relative to the variance of the points decided.
 * \param window of the view: which samples are the symbol's own
 * \param carrier null, or for complex points: receives the carrier of the output with the most
 * extreme kurtosis (track_power()), of view.count symbols. The equalizer's output is then rotated back
 * by it.
 * \throws eye_closed if what it finds has less than half of the constellation's kurtosis
 * Source: Shalvi and Weinstein, "Super-exponential methods for blind deconvolution", IEEE
 * Trans. Inf. Theory, 1993; Pfau, Hoffmann and Noe, "Hardware-efficient coherent digital
 * receiver concept with feedforward carrier recovery for M-QAM constellations", J.
 * Lightwave Technol., 2009. */
linear_equalizer blind_equalizer(const feature_view& view,
                                 const constellation& symbols,
                                 const window_geometry& window,
                                 carrier_track* carrier = nullptr);

//! The least squares equalizer for view.count known labels.
linear_equalizer trained_equalizer(const feature_view& view,
                                   const constellation& symbols,
                                   const std::uint8_t* labels);

} // namespace gr::adann::core
