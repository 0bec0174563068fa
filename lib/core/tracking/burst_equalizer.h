/* -*- c++ -*- */
/*
 * Equalizes a burst as a whole, outwards from the symbols of it that are known.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"
#include "core/tracking/burst_fit.h"
#include "core/tracking/burst_symbols.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

struct burst_settings {
    unsigned length = 6;        //!< symbols that the taps span, 1 to 32
    float carrier = 1.0f / 32;  //!< its largest offset, cycles a symbol, 0 to 0.25
    std::size_t most = 100'000; //!< symbols of a burst, 16 to 10^6

    //! \throws std::invalid_argument naming the setting that is out of range
    void check() const;
};

/*! A linear equalizer for bursts whose known symbols lie anywhere: at the start, in the middle,
 * spread, ten of them at least.
 *
 * 1. Seed: over the longest run of known symbols taps and carrier are fitted jointly
 *    (burst_fit.h). Short runs leave several frequencies possible; the best few are hypotheses.
 *    Where no run has ten, several are fitted together, the closest ones that have; a link that
 *    moves in between, or more than 500 symbols, cost bursts.
 * 2. Growth: from there the burst is equalized in both directions, a twelfth of what is known at a
 *    time, and fitted again to posterior means of what was decided: all symbols at first, the
 *    nearest 96 or 384 once there are as many. Known symbols on the way are the truth. After 32
 *    and 128 more symbols hypotheses with 1.5 times the least noise are dropped; two are left.
 * 3. Smoothing, three times: taps of each stretch are least squares over the whole burst, which
 *    weigh a symbol at distance d with exp(-d/memory), but for the stretch itself: what is decided
 *    does not confirm itself. The memory is the one which explains stretches best that were not
 *    fitted; a phase is smoothed likewise.
 *
 * The filter is linear and decides from points: a transmitter's nonlinearity is not corrected.
 *
 * A burst of n symbols takes time in proportion to n, and memory beyond what is kept for `most`
 * symbols, for its sums. Windows, steps and memories were chosen on frames as TETRA, VDL2, HFDL and
 * DVB-S2 have them (`adann reproduce known`).
 *
 * Source of the growth: iterative semi-blind estimation by expectation and maximisation, Dempster,
 * Laird, Rubin, J. R. Stat. Soc. B 39, 1977; of the smoothing: forward and backward least squares
 * with exponential windows. */
class burst_equalizer
{
public:
    /*! \param sps samples of a symbol, 1 to 16
     * \param complex whether samples are: real ones have no carrier, but an offset. The points
     * are real then
     * \throws std::invalid_argument naming what is out of range */
    burst_equalizer(const constellation& symbols,
                    std::size_t sps,
                    bool complex = true,
                    const burst_settings& settings = {});

    std::size_t classes() const { return d_symbols.classes(); } //!< M
    //! Samples that are looked at on each side of a symbol's.
    std::size_t reach() const { return d_middle; }
    //! Samples of a burst of n symbols: its first is reach() before the first symbol's.
    std::size_t samples(std::size_t n) const { return (n - 1) * d_sps + 1 + 2 * reach(); }

    /*! The next burst.
     * \param samples samples(n) of them, real ones with a zero imaginary part; one that is NaN
     * or beyond ±1e8 counts as zero, and symbols near it are not learnt from
     * \param known label of each of n symbols, not_known where it is not
     * \throws std::invalid_argument unless n is 10 to `most`, and burst_symbols::seed()
     * finds enough known ones */
    void equalize(const std::complex<float>* samples,
                  const std::uint8_t* known,
                  std::size_t n);

    // Of the latest burst:
    const std::uint8_t* labels() const { return d_labels.data(); } //!< decided, or known
    const std::complex<float>* soft() const { return d_soft.data(); } //!< of unit power
    const float* posteriors() const { return d_posteriors.data(); }   //!< (n, M)
    double noise() const { return d_noise; }         //!< mean square of soft()'s errors
    double frequency() const { return d_frequency; } //!< of the carrier, cycles a symbol
    //! Symbols over which its taps are averaged; infinite for a link that stands still.
    double memory() const { return d_memory; }

private:
    using number = burst_sums::number;
    //! How far a burst was equalized, and with which taps.
    struct front {
        stretch grown;
        std::vector<number> taps;
    };
    struct hypothesis {
        double error;
        double frequency;
        std::vector<number> taps;
    };

    void
    load(const std::complex<float>* samples, const std::uint8_t* known, std::size_t n);
    std::vector<hypothesis> hypotheses(stretch run);
    static std::vector<hypothesis> minima(const std::vector<hypothesis>& all);
    hypothesis fit(stretch over,
                   double around,
                   double spacing,
                   std::size_t count,
                   burst_fit::ridge_search ridges = burst_fit::ridge_search::all);
    void drop_hypotheses(std::vector<hypothesis>& tried, stretch run, std::size_t more);
    void equalize_from(const hypothesis& seed, std::size_t local, stretch run);
    front start(const hypothesis& seed, stretch run);
    void grow(front from, std::size_t until, std::size_t local);
    void fit_again(stretch over, std::vector<number>& taps, int direction);
    void decide(stretch over, const std::vector<number>& taps);
    void turn(stretch over, double frequency, double centre);
    void smooth();
    void keep_decisions();
    void straighten();
    std::vector<double> line_through(const std::vector<double>& phase) const;
    double slip_of_known();
    void follow(const std::vector<double>& phase);
    double choose_memory();
    std::size_t stretch_length() const;
    std::vector<burst_sums> sums_of_stretches();
    std::vector<burst_sums> sums_of_others(const std::vector<burst_sums>& own,
                                           double memory) const;
    double decide_by_others(const std::vector<burst_sums>& others, double ridge);
    void smooth_phase();

    const number* window(std::size_t symbol) const { return &d_samples[symbol * d_sps]; }
    number rotated(std::size_t symbol) const;
    void copy_window(std::size_t symbol);

    std::size_t d_sps, d_middle, d_taps, d_unknowns, d_count = 0;
    bool d_complex;
    burst_settings d_settings;
    std::vector<number> d_samples, d_window;
    burst_fit d_fit;
    burst_sums d_sums;
    std::vector<number> d_parts, d_wanted; // of the fit

    burst_symbols d_symbols;
    double d_rotation;           // that takes the constellation to itself
    std::vector<char> d_usable;  // of each symbol
    std::vector<double> d_phase; // … of the carrier
    std::vector<number> d_stretch_taps;
    double d_fading = 0, d_ridge = 0; // the memory and λ that are in use

    // The best of what was decided.
    std::vector<std::uint8_t> d_labels;
    std::vector<std::complex<float>> d_soft;
    std::vector<float> d_posteriors;
    double d_noise = 0, d_frequency = 0, d_memory = 0;
};

} // namespace gr::adann::core
