/* -*- c++ -*- */
/*
 * Finds, tracks and subtracts an interfering tone.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/fourier_transform.h"
#include "core/tracking/linear_filter.h"

#include <complex>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! Subtracts a tone, A·exp(jφ), or its real part from real samples.
 *
 * No decision is needed: a tone's power lies in one bin of a periodogram, that of a signal in all.
 * Every 65,536 samples the periodogram of 16,384 of them is searched for a line. A line counts if
 * Gaussian samples would exceed it with a probability of exp(-16) only, relative to the median of
 * the bins around it, and if there is no second line of half its power. Excluded are frequencies
 * near zero, and those of periodic data: multiples of the symbol rate over a small whole number.
 *
 * Amplitude and phase are then averaged over some 4096 samples, and a second-order loop follows the
 * frequency. The tone is given up if subtracting it no longer lowers the power, or if it has less
 * than -27 dB of the samples' power. A tone is accepted from -24 dB on. Of real samples both limits
 * are 3 dB higher.
 *
 * Source: adaptive noise cancelling of a sinusoid, Widrow et al., Proc. IEEE 63, 1975; the loop:
 * Gardner, Phaselock Techniques, chapter 2. */
class interfering_tone
{
public:
    static constexpr std::size_t block = 256; //!< samples from one correction to the next
    static constexpr std::size_t searched = 16'384; //!< samples, a power of two

    //! \param sps samples a symbol
    interfering_tone(std::size_t sps, bool complex);

    /*! Whether to search for a tone. Not while decisions explain the samples: a line is the
     * signal's then. A tone that was found is followed in any case. */
    void search_if(bool searches);

    bool is_found() const { return d_found; }
    float frequency() const; //!< cycles per sample, -0.5 to 0.5; 0 if none is found
    float amplitude() const; //!< 0 if none is found
    void reset();

    //! Subtracts it from n samples, which follow those of the previous call.
    void apply(planes& samples, std::size_t first, std::size_t n);
    //! Counts a sample without using it.
    void pass();

    void state(archive& members);

private:
    using number = std::complex<double>;
    void subtract(planes& samples, std::size_t first, std::size_t n);
    void follow();
    void search();
    bool is_of_data(double cycles) const;

    std::vector<std::complex<float>> d_seen; // samples
    fourier_transform d_transform{ searched };
    std::vector<float> d_power; // of bins; scratch of search()
    std::size_t d_passed = 0;   // samples since the latest search began
    double d_sps;
    bool d_is_complex, d_searches = false;

    bool d_found = false;
    number d_amplitude = 0; // of the tone where its phase is 0
    number d_turn = 1;      // exp(jφ), φ its phase at the next sample
    double d_growth = 0;    // radians a sample
    std::size_t d_count = 0,
                d_blocks = 0; // samples in the block; blocks since it was found
    number d_sum = 0;         // Σ y exp(-jφ) of the corrected samples y of the block
    double d_before = 0,
           d_after = 0; // energy of its samples, before and after subtraction
    double d_gain = 0;  // power removed by the subtraction, averaged over some 24 blocks
};

} // namespace gr::adann::core
