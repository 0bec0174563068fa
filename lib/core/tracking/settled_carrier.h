/* -*- c++ -*- */
/*
 * A carrier as a test has confirmed it last, extrapolated.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/tracking/carrier_line.h"
#include "core/tracking/sample_history.h"

#include <algorithm>
#include <cstdint>

namespace gr::adann::core {

//! The carrier's phase and frequency when the labels of a stream were confirmed last.
class settled_carrier
{
public:
    //! Symbols: a line's frequency, estimated from half as many, is extrapolated over these.
    static constexpr std::uint64_t extrapolated_for = 2 * carrier_line::symbols;

    //! A phase, and when it was.
    struct moment {
        double phase = 0;
        std::uint64_t at = 0; //!< symbols that had passed; 0: not confirmed by a line
        bool is_by_line() const { return at > 0; }
    };

    //! Counts symbols.
    void pass(std::size_t symbols) { d_now += symbols; }
    std::uint64_t passed() const { return d_now; }

    moment latest() const { return d_latest; }
    void set(const moment& latest) { d_latest = latest; }
    void set_phase(double radians) { d_latest.phase = radians; }
    //! That phase is the present symbol's, and is confirmed by a line, or is known.
    void confirm() { d_latest.at = std::max<std::uint64_t>(d_now, 1); }
    double frequency() const { return d_frequency; } //!< cycles per symbol
    void set_frequency(double cycles) { d_frequency = cycles; }
    void forget()
    {
        d_latest = {};
        d_frequency = 0;
    }

    bool has_carrier() const { return d_latest.phase != 0 || d_frequency != 0; }
    bool is_by_line() const { return d_latest.is_by_line(); }
    //! Whether a line has confirmed the phase, or could have: until then a carrier may rotate that
    //! was not found yet.
    bool is_confirmed() const { return is_by_line() || d_now > extrapolated_for; }
    //! The phase that a line starts from, radians: 0 unless a line confirmed one.
    double phase_before() const { return is_by_line() ? d_latest.phase : 0; }
    double since() const { return static_cast<double>(d_now - d_latest.at); } //!< symbols
    bool is_recent() const { return d_now - d_latest.at <= extrapolated_for; }
    //! Of the next symbol, radians.
    double phase() const;
    /*! Rotates samples by the extrapolated phase (way 1), or back (-1).
     * \param first number of the first of the n samples in the history */
    void rotate(const sample_history& history,
                planes& samples,
                std::size_t first,
                std::size_t n,
                double way) const;

    void state(archive& members);

private:
    std::uint64_t d_now = 0; // symbols that have passed
    moment d_latest;
    double d_frequency = 0; // cycles per symbol
};

} // namespace gr::adann::core
