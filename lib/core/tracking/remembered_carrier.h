/* -*- c++ -*- */
/*
 * A carrier as it was when its stream was followed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <cstddef>

namespace gr::adann::core {

/*! Remembers a carrier's phase and frequency, and extrapolates them.
 *
 * The frequency is averaged over the latest 8 steps of 1024 symbols, by the advance of the phase: phase noise with a
 * linewidth of 1e-6 symbol rates changes a single step's by 1e-5 cycles per symbol. A step whose advance is four
 * times the usual deviation off starts the average over: the frequency has changed. Of seven deviations that
 * are measured, an eighth one is as large by chance in one step of 200. */
class remembered_carrier
{
public:
    static constexpr double step = 1024; //!< symbols
    static constexpr std::size_t most_steps = 8;
    //! Symbols; at that linewidth an average is 4e-6 cycles per symbol off: a sixteenth of a cycle by then.
    static constexpr double extrapolated_for = 16 * step;

    /*! The stream is followed.
     * \param at the present symbol, counted from anywhere
     * \param phase its phase, radians
     * \param frequency an estimate, cycles per symbol: it counts where there is no average yet */
    void follow(double at, double phase, double frequency);
    /*! The frequency if the stream that was interrupted has this phase: the difference from the
     * extrapolated one is that of the interruption and of the steps before it. */
    double frequency_by(double at, double phase) const;
    //! The stream was interrupted, and goes on with this phase and frequency.
    void resume(double at, double phase, double frequency);
    //! There is no carrier.
    void reset() { *this = {}; }

    bool has_carrier() const { return d_has_carrier; }
    double frequency() const { return d_frequency; } //!< cycles per symbol
    //! Symbols since it was followed last.
    double since(double at) const { return at - d_latest.at; }
    //! Radians.
    double phase_at(double at) const;

    void state(archive& members);

private:
    struct moment {
        double at = 0, phase = 0;
    };
    moment d_latest, d_begin; // of the present step
    bool d_has_carrier = false;
    double d_frequency = 0;
    double d_squared_error = 0; // mean square of the advance's, radians²
    std::size_t d_steps = 0;    // that the frequency is averaged over
};

} // namespace gr::adann::core
