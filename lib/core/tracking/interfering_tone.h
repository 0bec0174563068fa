/* -*- c++ -*- */
/*
 * A carrier without modulation that interferes.
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
 * It needs no decision: a tone's power lies in one bin of a periodogram, that of a signal in all.
 * Each 65,536 samples the periodogram of 16,384 of them is searched for a line. There is one if
 * Gaussian samples would have it with a probability of exp(-16) only, by the median of the bins
 * around, and no second line of half its power. A constant is none, and neither is what periodic data
 * make: a multiple of the symbol rate over a small whole number.
 *
 * Its amplitude and phase are then averaged over some 4096 samples, its frequency by a loop of second
 * order. It is given up where subtracting it takes no power off any more, or where it has less than -27 dB
 * of the samples' power; less than -24 dB is not taken for one. Of real samples both are 3 dB more.
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

    /*! Whether to search for one: while decisions explain the samples, a line is theirs. One that was found
     * is followed in any case. */
    void search_if(bool searches);

    bool is_found() const { return d_found; }
    float frequency() const; //!< cycles per sample, -0.5 to 0.5; 0 if none is found
    float amplitude() const; //!< 0 if none is found
    void reset();

    //! Subtracts it from n samples, those that follow the samples of the call before.
    void apply(planes& samples, std::size_t first, std::size_t n);
    //! One sample passes by.
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
    std::vector<float> d_power; // of bins; nothing outlives a search
    std::size_t d_passed = 0;   // samples since the latest search began
    double d_sps;
    bool d_is_complex, d_searches = false;

    bool d_found = false;
    number d_amplitude = 0; // of the tone where its phase is 0
    number d_turn = 1;      // exp(jφ), φ its phase at the next sample
    double d_growth = 0;    // radians a sample
    // Of the block that has begun, and blocks since it was found.
    std::size_t d_count = 0, d_blocks = 0;
    number d_sum = 0; // Σ y exp(-jφ) of the samples y that are left
    double d_before = 0,
           d_after = 0; // Σ |·|² of the samples, without and with subtracting
    double d_gain = 0;  // power that subtracting took off, averaged over some 24 blocks
};

} // namespace gr::adann::core
