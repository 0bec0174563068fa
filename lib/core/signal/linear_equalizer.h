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

/*! What brings a window to its symbol: (constellation.dimensions(), view.dimension) reals,
 * row by row, I before Q. Of complex points and samples it is one complex tap for each
 * sample; of real points one real tap for each of a sample's parts. Where Q comes half a symbol later
 * (constellation::is_offset()), I and Q have taps of their own. */
struct linear_equalizer {
    std::vector<double> taps;
    double error; //!< mean squared, of its decisions; the points have unit power
};

//! No linear equalizer finds the constellation.
class eye_closed : public std::runtime_error
{
    using std::runtime_error::runtime_error;
};

/*! An equalizer for unknown symbols, which are uniform and independent; their
 * carrier is recovered, but for a constant phase, or is to be found.
 *
 * Super-exponential iterations bring the output's kurtosis to its extreme, the
 * constellation's; a blind phase search rotates it, and 20 rounds of decisions and least
 * squares follow. What cannot be known is not: a symmetry of the constellation, and a
 * whole delay. At most 16384 of the windows are used. An offset constellation is two real ones: the
 * taps of one part are those of the other, rotated by 90° and half a symbol later, before
 * decisions follow; which of the two is I cannot be known either.
 * \param window of the view's: which samples are the symbol's own
 * \param carrier of complex points, if given: what the power of the most extreme output
 * has (track_power()), of view.count symbols. The equalizer is then one of windows that
 * are rotated back by it.
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
