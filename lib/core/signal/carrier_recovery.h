/* -*- c++ -*- */
/*
 * A carrier's frequency offset and phase, found and removed without a decision.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"
#include "core/signal/rotation_power.h"

#include <array>
#include <atomic>
#include <complex>
#include <functional>
#include <optional>
#include <vector>

namespace gr::adann::core {

/*! Rotates samples back by the line of their symbols' M-th power and by the phase of its
 * average, as gr::adann::carrier_recovery says, with the sources. Allocates nothing after
 * construction. */
class carrier_recovery
{
public:
    static constexpr std::size_t symbols = 4096; //!< of the periodogram
    static constexpr std::size_t bins = 2 * symbols;
    /*! The discrete Fourier transform of `bins` numbers, forwards: from its first argument to
     * its second one. */
    using transform =
        std::function<void(const std::complex<float>*, std::complex<float>*)>;

    /*! \param alphabet of 2, 4 or 8 rotations
     * \param sps samples a symbol, 1 to 64; of an offset constellation from 4 on
     * \param bandwidth of the phase, relative to the symbol rate, above 0, below 0.5
     * \throws std::invalid_argument naming the parameter that is out of range */
    carrier_recovery(const constellation& alphabet,
                     std::size_t sps,
                     float bandwidth,
                     transform periodogram);

    //! For any thread. \throws std::invalid_argument if it is out of range
    void set_bandwidth(float bandwidth);
    //! The offset that is removed, in cycles per symbol; 0 before a line was found. For any thread.
    float frequency() const { return d_frequency; }
    void
    process(const std::complex<float>* in, std::complex<float>* out, std::size_t samples);

private:
    static constexpr std::size_t apart = 1024; // symbols from one search to the next

    void take(std::complex<float> middle);
    void take_lines();
    void turn_to(std::complex<double> power);
    void look();
    std::optional<double> find_line();
    std::optional<double> find_lines();
    void find_spectrum(const std::vector<std::complex<float>>& powers,
                       std::vector<float>& periodogram);
    static double offset_of_peak(const std::vector<float>& periodogram, std::size_t peak);

    const bool d_is_offset;
    const std::size_t d_order, d_sps;
    const std::size_t d_line_order; // order of the power that has the line
    const transform d_transform;
    const rotation_power d_power;     // for constellations without offset
    const double d_scatter;           // deviation of symbols over the points' distance
    double d_level = 0;               // mean square of symbols
    std::atomic<float> d_fading{ 0 }; // factor of the average, per symbol
    std::vector<std::complex<float>> d_powers; // of the latest symbols, cyclic
    std::size_t d_taken = 0;
    std::vector<std::complex<float>> d_ordered, d_spectrum; // of the line's search
    std::vector<float> d_periodogram, d_sorted;
    std::atomic<float> d_frequency{ 0 };
    double d_offset = 0;     // frequency() in double precision, cycles per symbol
    double d_turned = 0;     // phase of the offset so far, cycles
    double d_phase = 0;      // phase in addition to that, cycles
    bool d_has_line = false; // in the latest periodogram
    // Averages of powers after removal of the offset; the second one is four times as long.
    struct average {
        double length;
        std::complex<double> value = 0;
        double predicted = 0; // mean part of the next power in the average's direction
    };
    std::array<average, 2> d_averages{ { { 1 }, { 4 } } };
    std::complex<double> d_average = 0; // of an offset constellation's line above
    // Of an offset constellation: the lines of the square above and below twice the carrier.
    std::vector<std::complex<float>> d_clock; // e^(-2πi k / sps)
    std::complex<float> d_above = 0, d_below = 0;
    std::vector<std::complex<float>> d_powers_below;
    std::vector<float> d_periodogram_below;
    std::complex<double> d_average_below = 0;
    double d_clock_off = 0, d_late = 0; // clock error, cycles per symbol; its sum so far
    std::size_t d_sample = 0;           // index of the next sample in its symbol
    std::complex<float> d_turn = 1, d_step = 1; // rotation of the next sample; per sample
};

} // namespace gr::adann::core
