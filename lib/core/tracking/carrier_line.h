/* -*- c++ -*- */
/*
 * A carrier's frequency and phase, found without a decision.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/constellation.h"
#include "core/signal/expected_waveform.h"
#include "core/signal/rotation_power.h"

#include <complex>
#include <optional>
#include <vector>

namespace gr::adann::core {

/*! The line that the M-th power of a carrier has, M the order of the constellation's rotations.
 *
 * It takes the samples in the middles of the latest `symbols` symbols. Their powers are weighted by the
 * information of their amplitudes about the phase, through the waveform's channel and in its noise
 * (rotation_power.h). Summed over groups in which the fastest line rotates by 0.4 cycles, they are
 * searched for a line at steps of half of the resolution. A line counts that noise alone would show once in a million searches. Its phase,
 * less that of the waveform's own power, is the carrier's up to a multiple of 1/M cycle.
 *
 * Sources: Viterbi, Viterbi, "Nonlinear estimation of PSK-modulated carrier phase", IEEE
 * Trans. Inf. Theory 29, 1983; for rings rotation_power.h. */
class carrier_line
{
public:
    static constexpr std::size_t symbols = 1024;
    static constexpr double fastest = 0.0125; //!< cycles of the carrier per symbol
    static constexpr std::size_t highest = 8; //!< power whose line noise does not bury

    //! What is found: at the middle of the latest symbol that was taken.
    struct line {
        double frequency; //!< cycles per symbol
        double phase;     //!< radians, up to 2π/M
        //! The line over what its eighths have, each at a phase of its own, without the noise of both: near 1
        //! of a steady carrier, less under phase noise.
        double coherence;
    };

    carrier_line(const expected_waveform& waveform, const constellation& alphabet);

    //! M, of the rotations of the constellation.
    std::size_t order() const { return d_order; }

    //! Takes the sample in the middle of the next symbol.
    void take(std::complex<float> middle)
    {
        d_middles[d_taken++ % d_middles.size()] = middle;
    }
    //! Whether the constellation has as many rotations as a line needs, 2 to 8.
    bool is_usable() const;
    //! … and there are enough symbols.
    bool is_ready() const { return is_usable() && d_taken / d_group >= d_sums.size(); }
    //! Forgets all.
    void reset() { d_taken = 0; }
    /*! None if there is no line, or one beyond what is searched, or a sideband, or it is not ready.
     * \param around,width where it is searched for, cycles of the carrier per symbol */
    std::optional<line> find(double around = 0, double width = fastest);

    void state(archive& members);

private:
    void sum_groups();
    std::complex<double> sum(double frequency) const;
    std::complex<double> sum(double frequency, std::size_t first, std::size_t end) const;
    double coherence(double frequency, double energy) const;
    bool is_sideband(double at, double first, double last) const;

    std::size_t d_order, d_group;
    rotation_power d_power;
    std::vector<std::complex<float>>
        d_sums; // of the latest whole groups; scratch of find()
    std::vector<std::complex<float>> d_middles; // ring buffer of one group more
    std::size_t d_taken = 0;                    // since the reset
};

} // namespace gr::adann::core
