/* -*- c++ -*- */
/*
 * Symbols as they were received: with their noise, without the others' interference.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"
#include "core/signal/expected_waveform.h"
#include "core/signal/windows.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! The point of each decided symbol, plus the residual of the samples relative to the
 * expected waveform of the decisions, projected on the symbol's own pulse.
 *
 * The pulse is the waveform's affine part: what the symbol's point is multiplied with in the
 * samples of the symbols within reach. Least squares find the point, real or complex as the
 * samples are, with the smallest remaining error: interference is cancelled, nonlinear too, and
 * noise is matched filtered. So the cloud around a point has the modulation error ratio and
 * the EVM that a receiver without interference would have. A decision that is wrong lies at
 * the wrong point, and far off.
 *
 * Source: interference cancellation with matched filtering, e.g. Proakis, Digital
 * Communications, section 9.5. */
class soft_symbols
{
public:
    /*! \param alphabet points of the output: neighbouring levels of named ones differ by 2
     * \param window of the views to come; their dimension may be longer, by as much on
     * both sides
     * \param least_lag of lag() */
    soft_symbols(const expected_waveform& waveform,
                 const constellation& alphabet,
                 const window_geometry& window,
                 std::size_t least_lag = 0);

    //! Symbols that must follow one before it is known, or before it is handed out.
    std::size_t lag() const { return d_lag; }

    /*! Takes the next symbols of a stream.
     * \param windows the samples that they were decided from
     * \param labels windows.count decisions
     * \param points room for windows.count, interleaved where samples are complex
     * \return how many were written: from the first one of the stream on, lag() symbols
     * later. Where samples are not usable (all_usable()) it is the point alone. */
    std::size_t
    take(const feature_view& windows, const std::uint8_t* labels, float* points);

    /*! Puts out the points alone of the symbols that are left, after which another stream
     * begins. \return how many of `room` were written; 0: all have been */
    std::size_t flush(float* points, std::size_t room);
    //! What comes next is another stream.
    void start();

private:
    static constexpr std::size_t most = 64; // symbols that are taken at once

    void load(const feature_view& windows, const std::uint8_t* labels);
    void project(std::size_t symbol, float* point) const;

    expected_waveform d_waveform;
    window_geometry d_window;
    std::size_t d_planes, d_lag, d_past; // symbols
    std::vector<std::complex<float>> d_points;
    float d_scale;              // from the waveform's points, of unit power, to these
    std::vector<float> d_pulse; // (planes, 2 reach + 1, stride), by the samples' symbol
    float d_inverse[2][2] = {}; // of the pulse's products
    std::vector<std::uint8_t> d_labels;
    std::vector<float> d_rest,
        d_expected;            // (past + most, stride); samples after those known
    std::size_t d_taken = 0;   // of the stream
    std::size_t d_flushed = 0; // at its end
};

} // namespace gr::adann::core
