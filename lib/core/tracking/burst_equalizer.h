/* -*- c++ -*- */
/*
 * Equalizes a burst as a whole, outwards from its known symbols.
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
    float carrier = 1.0f / 32;  //!< largest carrier offset, cycles per symbol, 0 to 0.25
    std::size_t most = 100'000; //!< longest burst, symbols, 16 to 10^6

    //! \throws std::invalid_argument naming the setting that is out of range
    void check() const;
};

/*! A linear equalizer for bursts with at least ten known symbols, which may lie anywhere: at the
 * start, in the middle, or spread.
 *
 * 1. Seed: taps and carrier are fitted jointly to the longest run of known symbols (burst_fit.h).
 *    After a short run several frequencies are possible; the best few are kept as hypotheses. Where
 *    no run has ten symbols, the shortest stretch of several runs that has ten is fitted. This
 *    fails for some bursts if the channel changes within the stretch, or if it exceeds 500 symbols.
 * 2. Growth: from there the burst is equalized in both directions, by a twelfth of the equalized
 *    symbols at a time. After each step taps and carrier are fitted again, to posterior means of
 *    the decisions: of all symbols at first, then of the nearest 96 or 384. Known symbols on the
 *    way replace decisions. After 32 and after 128 more symbols, hypotheses with more than 1.5
 *    times the least noise are dropped; at most two remain.
 * 3. Smoothing, three times: each stretch of some 8 symbols gets taps by least squares over all
 *    other stretches, so that a decision does not confirm itself. A symbol at distance d has the
 *    weight exp(-d/memory). The memory is chosen by cross-validation: by the error in stretches
 *    that were not fitted. The phase is smoothed likewise.
 *
 * The filter is linear and decides the nearest point:
 * a transmitter's nonlinearity is not corrected.
 *
 * A burst of n symbols takes time in proportion to n. Its sums need memory in addition to what is
 * allocated for `most` symbols. Windows, steps and time constants were chosen on the frames of
 * TETRA, VDL2, HFDL and DVB-S2 (`adann reproduce known`).
 *
 * Source of the growth: iterative semi-blind estimation by expectation and maximisation, Dempster,
 * Laird, Rubin, J. R. Stat. Soc. B 39, 1977; of the smoothing: forward and backward least squares
 * with exponential windows. */
class burst_equalizer
{
public:
    /*! \param sps samples of a symbol, 1 to 16
     * \param complex whether samples are complex. Real
     * samples and points have no carrier, but an offset
     * \throws std::invalid_argument naming what is out of range */
    burst_equalizer(const constellation& symbols,
                    std::size_t sps,
                    bool complex = true,
                    const burst_settings& settings = {});

    std::size_t classes() const { return d_symbols.classes(); } //!< M
    //! Samples of the window on each side of a symbol's middle.
    std::size_t reach() const { return d_middle; }
    //! Samples of a burst of n symbols, reach() of them before the first symbol's middle.
    std::size_t samples(std::size_t n) const { return (n - 1) * d_sps + 1 + 2 * reach(); }

    /*! Equalizes the next burst.
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
    //! Time constant of its taps, symbols; infinite for a static link.
    double memory() const { return d_memory; }

private:
    using number = burst_sums::number;
    //! The stretch that is equalized so far, and the latest taps.
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
    std::vector<number> d_parts, d_wanted; // scratch of fit()

    burst_symbols d_symbols;
    double d_rotation;           // smallest rotation of the constellation onto itself
    std::vector<char> d_usable;  // whether each symbol's window is
    std::vector<double> d_phase; // of the carrier, at each symbol
    std::vector<number> d_stretch_taps;
    double d_fading = 0, d_ridge = 0; // the memory and λ in use

    // Result of the best hypothesis.
    std::vector<std::uint8_t> d_labels;
    std::vector<std::complex<float>> d_soft;
    std::vector<float> d_posteriors;
    double d_noise = 0, d_frequency = 0, d_memory = 0;
};

} // namespace gr::adann::core
