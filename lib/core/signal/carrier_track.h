/* -*- c++ -*- */
/*
 * A carrier's phase at each symbol of a stretch, by the symbols' power or by known ones.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"
#include "core/signal/windows.h"

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

struct carrier_track {
    double frequency = 0;     //!< cycles per symbol
    std::vector<float> phase; //!< radians at each symbol; empty: a constant phase

    bool stands() const { return phase.empty(); }
    //! Whether the phase rotates by nearly a cycle or more over the symbols,
    //! more than a random walk.
    bool turns() const
    {
        return std::abs(frequency) * static_cast<double>(phase.size()) > 0.75;
    }
    //! Subtracts the phase of this symbol, so that it is zero there.
    void count_from(std::size_t symbol);
    //! The phase at sample i of the symbols' samples, radians.
    double at(std::size_t i, std::size_t sps) const
    {
        const auto from = static_cast<double>(i % sps) - static_cast<double>(sps / 2);
        return phase[i / sps] + 2 * M_PI * frequency * from / static_cast<double>(sps);
    }
};

/*! The carrier of equalized, unknown symbols: its phase up to a symmetry of the constellation,
 * whose order M is 2 to 8. For other constellations the phase is taken as constant.
 *
 * The M-th power removes the modulation. Its line is searched for in stretches
 * of 1024 symbols, at all frequencies that can be distinguished, up to 1/(2M)
 * cycles per symbol. It counts if noise alone would show it once in a million
 * searches. The phase is then that of the power's mean over 128
 * symbols, or over up to 1024 where noise would hide the line in so few.
 *
 * Source: Viterbi, Viterbi, "Nonlinear estimation of PSK-modulated carrier phase", IEEE Trans.
 * Inf. Theory 29, 1983. */
carrier_track track_power(const std::vector<std::complex<double>>& symbols,
                          const constellation& alphabet);

/*! Whether equalized symbols have one constant phase.
 *
 * In each eighth of the symbols the mean of their M-th power has to exceed what random phases have
 * once in a million tests. The magnitude of the sum of the eighths' means has to be at least 0.9 of
 * the sum of their magnitudes, which allows a sixteenth of a cycle for QPSK. Orders other than 2 to
 * 8 always pass.
 * \param is_tracked whether the symbols were rotated back by their own
 * track_power(), which aligns random phases as well: the mean then has to be
 * 2.5 times as large as such an alignment makes it */
bool phase_stands(const std::vector<std::complex<double>>& symbols,
                  const constellation& alphabet,
                  bool is_tracked = false);

/*! The carrier of known symbols.
 *
 * The correlation of windows with known symbols, in groups of 4 and stretches of 1024 symbols,
 * rotates with the carrier over any channel: up to ±1/8 cycle per symbol. After a least squares
 * equalizer at the frequency found, the phase is that of the mean over 64 symbols, or
 * over up to 1024 in the same way.
 *
 * \param view complex samples, interleaved
 * \param sent the point in the middle of each window; 0: not known
 *
 * Source: Morelli, Mengali, "Carrier-frequency estimation for transmissions over selective
 * channels", IEEE Trans. Commun. 48, 2000: the periodogram of white known symbols. */
carrier_track track_known(const feature_view& view,
                          const std::vector<std::complex<float>>& sent);

} // namespace gr::adann::core
