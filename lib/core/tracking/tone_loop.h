/* -*- c++ -*- */
/*
 * Follows and subtracts one tone.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/tracking/linear_filter.h"

#include <complex>
#include <cstddef>

namespace gr::adann::core {

/*! Subtracts a tone, A·exp(jφ), or its real part from real samples.
 *
 * Amplitude and phase are averaged over some 4096 samples, and a third-order loop follows the
 * frequency and its rate of change. The tone is given up if subtracting it no longer lowers the
 * power, or if it has less than -27 dB of the samples' power, -24 dB of real samples'.
 *
 * Source: adaptive noise cancelling of a sinusoid, Widrow et al., Proc. IEEE 63, 1975; the loop is a
 * fading-memory polynomial filter: Brookner, Tracking and Kalman Filtering Made Easy, 1998, chapter 1. */
class tone_loop
{
public:
    static constexpr std::size_t block = 256; //!< samples from one correction to the next
    static constexpr std::size_t remembered =
        24; //!< blocks: averaging time of the power removed
    /*! Least power of a tone that is accepted, relative to that of complex samples; twice that of real
     * ones. The power removed is then five standard deviations of its mean, 2 |A| √(p / 2n) / √(2m - 1)
     * for an amplitude A in a power p of n complex samples and m blocks. */
    static constexpr double least = 25.0 * 2 / (block * (2 * remembered - 1)); // -24 dB

    explicit tone_loop(bool complex) : d_is_complex(complex) {}

    /*! Begins to follow a tone.
     * \param cycles a sample, at the next one \param rate of their growth, cycles a sample²
     * \param samples that they were found in */
    void begin(double cycles, double rate, std::size_t samples);
    void stop() { d_follows = false; }

    bool follows() const { return d_follows; }
    float frequency() const; //!< cycles per sample, -0.5 to 0.5; 0 if it follows none
    float amplitude() const; //!< 0 if it follows none

    //! Subtracts it from n samples, which follow those of the previous call.
    void subtract(planes& samples, std::size_t first, std::size_t n);
    //! Counts a sample without using it.
    void pass();

    void state(archive& members);

private:
    using number = std::complex<double>;
    void update();

    bool d_is_complex, d_follows = false;
    number d_amplitude = 0;  // of the tone where its phase is 0
    number d_turn = 1;       // exp(jφ), φ its phase at the next sample
    double d_growth = 0;     // radians a sample, in the block's middle
    number d_step = 1;       // exp(j d_growth)
    double d_sweep = 0;      // growth of d_growth, radians a sample²
    std::size_t d_count = 0, // samples in the block
        d_blocks = 0,        // since it began
        d_prior_blocks = 0;  // that frequency and rate were found in
    number d_sum = 0;        // Σ y exp(-jφ) of the corrected samples y of the block
    double d_before = 0,
           d_after = 0; // energy of its samples, before and after subtraction
    double d_gain = 0;  // power removed by the subtraction, averaged
};

} // namespace gr::adann::core
