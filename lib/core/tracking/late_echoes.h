/* -*- c++ -*- */
/*
 * Cancels echoes that are later than the reach of the taps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/tracking/linear_filter.h"

#include <array>
#include <complex>
#include <cstddef>

namespace gr::adann::core {

/*! Cancels echoes up to `latest` symbols late: y(n) = x(n) - Σ h(d) y(n - d), of few lags d.
 *
 * In this recursive form one echo needs one lag, whatever its strength. Σ|h| stays below 0.9, so
 * that the recursion is stable.
 *
 * The error of h(d) is the regression of the filter's residual e = output - target on a lag, Σ
 * e(n) ȳ(n - d) / Σ |y|², over one sample of each decided symbol. The lag whose sum is largest
 * relative to its standard deviation is corrected, if any lag would exceed it by chance with a
 * probability of exp(-16) only; then the sums start again (matching pursuit: Cotter and Rao,
 * IEEE Trans. Communications 50, 2002). Where the median lag exceeds its chance value, as under
 * a tone, the threshold is raised in proportion.
 *
 * Each 16th block is learnt from, and each second one where there is an echo, as it may rotate: with right decisions
 * 4e-5 cycles a symbol are followed. An echo that is seen to be too fast is forgotten. */
class late_echoes
{
public:
    static constexpr std::size_t latest = 128; //!< symbols
    static constexpr std::size_t most_lags = 16;

    /*! \param reach samples on each side that the taps equalize themselves
     * \param sps samples a symbol */
    late_echoes(std::size_t reach, std::size_t sps, bool complex);

    struct echo {
        std::size_t lag = 0; //!< samples
        std::complex<float> strength = 0;
    };
    echo strongest() const; //!< of those found; lag 0 if there is none
    void reset();

    /*! Corrects n samples in place from `first` on.
     * \param samples corrected up to there, `latest` symbols of them or more */
    void apply(planes& samples, std::size_t first, std::size_t n) const;
    /*! Learns from a block of n symbols; most blocks are only counted.
     * \param y its corrected samples, and `latest` symbols before them
     * \param residual of each sample: target less output of the filter */
    void learn(const signal_planes& y, const signal_planes& residual, std::size_t n);

    void state(archive& members);

private:
    const echo* begin() const { return d_echoes.data(); }
    const echo* end() const { return begin() + d_found; }
    void take_in(const signal_planes& y, std::complex<float> e);
    void take();
    void start_again();

    std::size_t d_sps, d_first, d_lags; // lags are d_first … d_first + d_lags - 1
    std::array<echo, most_lags> d_echoes;
    std::size_t d_found = 0;
    // Sums of each lag, the largest lag first: over `few` symbols, and over all since a change.
    planes d_few, d_sums;
    aligned_floats d_scatter;              // Σ |·|² of d_few
    aligned_floats d_sure;                 // scratch of take()
    float d_power = 0;                     // Σ |y|²
    std::size_t d_blocks = 0;              // since a change
    std::size_t d_pause = 0, d_next_pause; // blocks
};

} // namespace gr::adann::core
