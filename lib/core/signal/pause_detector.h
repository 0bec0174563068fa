/* -*- c++ -*- */
/*
 * Pauses of a transmitter.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/expected_waveform.h"
#include "core/signal/windows.h"

#include <cstddef>
#include <limits>

namespace gr::adann::core {

/*! Finds pauses between packets from the power of groups of eight symbols, relative to the level of the signal: the power
 * that a fifth of the latest groups exceeds (stochastic approximation of the quantile, Robbins and Monro, Ann. Math. Stat.
 * 22, 1951).
 *
 * Noise alone has the model's noise power. Of data, the expected waveform of drawn labels shows the least power of a group.
 * A group is quiet below the geometric mean of the two. By chance data has a quiet group, but hardly two in a row: these
 * are a pause. Where the two are too near to one another, or the limit to the level, none is found. What lasts more than
 * `longest` symbols is no pause: the level may have dropped. Groups with more than four times the level, and the level of
 * drawn labels, are interference: the signal after it would be a pause if they changed the level. They do once there are
 * `loudest` symbols more of them than an eighth of the others. */
class pause_detector
{
public:
    static constexpr std::size_t group = 8;           //!< symbols
    static constexpr std::size_t longest = 4096;      //!< symbols
    static constexpr std::size_t loudest = 16'384;    //!< symbols
    static constexpr std::size_t remembered = 16'384; //!< symbols of part()

    //! What it has found up to now: with the same, another one goes on.
    struct found {
        static constexpr std::size_t never = std::numeric_limits<std::size_t>::max() / 2;

        float level = 0; //!< power of a group; 0: not known
        float sum = 0;   //!< of a group's first symbols
        std::size_t count = 0;
        std::size_t quiet = 0; //!< symbols of quiet groups in a row
        std::size_t loud = 0;  //!< symbols of interference, less an eighth of the others
        std::size_t since_quiet = never, since_pause = never; //!< symbols
        double part = 0;                                      //!< of symbols in pauses

        void state(archive& members);
    };

    pause_detector(const expected_waveform& waveform, const window_geometry& window);

    //! Takes the next symbols. \param windows of the network, as they came in
    void add(const feature_view& windows);
    //! Symbols since the latest quiet group. That after it may have begun within a pause.
    std::size_t since_quiet() const { return d_now.since_quiet; }
    //! Whether one of the latest n symbols was probably in a pause.
    bool is_within(std::size_t n) const { return d_now.since_pause < n + group; }
    //! Part of the latest symbols that were in pauses.
    double part() const { return d_now.part; }

    const found& now() const { return d_now; }
    void go_on(const found& from) { d_now = from; }

private:
    // Power of a group: level of drawn labels, and largest power of a quiet one over the level.
    struct powers {
        float drawn, quiet;
    };
    static powers powers_of(const expected_waveform& waveform);
    void take(float power);

    const std::size_t d_own; // floats of a window before its symbol's
    const powers d_powers;
    found d_now;
};

} // namespace gr::adann::core
