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
    std::vector<float> phase; //!< radians at each symbol; none: it stands still

    bool stands() const { return phase.empty(); }
    //! Whether it goes around within the stretch, or nearly so: not a phase that wanders.
    bool turns() const
    {
        return std::abs(frequency) * static_cast<double>(phase.size()) > 0.75;
    }
    //! The phase is counted from that of this symbol on.
    void count_from(std::size_t symbol);
    //! Of sample i of those that the symbols own, in radians.
    double at(std::size_t i, std::size_t sps) const
    {
        const auto from = static_cast<double>(i % sps) - static_cast<double>(sps / 2);
        return phase[i / sps] + 2 * M_PI * frequency * from / static_cast<double>(sps);
    }
};

/*! From unknown symbols, which are equalized: a phase up to a symmetry of the
 * constellation, whose order M is 2 to 8; of others the carrier counts as standing still.
 *
 * Their M-th power takes the modulation off. Its line is looked for in stretches of 1024 symbols,
 * in all frequencies that can be distinguished, up to half of 1/M cycles per symbol; one counts that
 * noise alone would show once in a million searches. The phase is then that of the power's mean over
 * 128 symbols.
 *
 * Source: Viterbi, Viterbi, "Nonlinear estimation of PSK-modulated carrier phase", IEEE Trans.
 * Inf. Theory 29, 1983. */
carrier_track track_power(const std::vector<std::complex<double>>& symbols,
                          const constellation& alphabet);

/*! Whether one phase holds for all of some equalized symbols.
 *
 * The mean of their M-th power exceeds that of random phases, in each eighth of them once in
 * a million, and all eighths together have at least 0.9 of what each has at a phase of its own: a
 * sixteenth of a turn of QPSK's carrier. Of other orders than 2 to 8 it counts as one phase.
 * \param is_tracked whether they were rotated back by a track_power() of them, which aligns what is random, too:
 * the mean then has to be 2.5 times as large as that */
bool phase_stands(const std::vector<std::complex<double>>& symbols,
                  const constellation& alphabet,
                  bool is_tracked = false);

/*! From known symbols.
 *
 * What windows have in common with them, in groups of 4 and stretches of 1024 symbols, rotates with
 * the carrier, whatever the channel: up to 1/8 cycle per symbol either way. After the least squares
 * equalizer at the frequency found, the phase is that of the mean over 64 symbols.
 *
 * \param view complex samples, interleaved
 * \param sent of each window the point in its middle; 0: it is not known
 *
 * Source: Morelli, Mengali, "Carrier-frequency estimation for transmissions over selective
 * channels", IEEE Trans. Commun. 48, 2000: the periodogram of white known symbols. */
carrier_track track_known(const feature_view& view,
                          const std::vector<std::complex<float>>& sent);

} // namespace gr::adann::core
