/* -*- c++ -*- */
/*
 * Finds, tracks and subtracts interfering tones.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/fourier_transform.h"
#include "core/tracking/linear_filter.h"
#include "core/tracking/tone_loop.h"

#include <complex>
#include <cstddef>
#include <optional>
#include <vector>

namespace gr::adann::core {

/*! Subtracts up to four tones (tone_loop.h).
 *
 * No decision is needed: a tone's power lies in one bin of a periodogram, that of a signal in all.
 * Every 65,536 samples, or at once after one was found, the periodogram of 16,384 of them is
 * searched for the largest line. A line counts if Gaussian samples would exceed it with a
 * probability of exp(-16) only, relative to the median of the bins around it, and if it has -24 dB
 * of the samples' power (of real samples -21 dB). Excluded are frequencies near zero, and lines of
 * periodic data: at multiples of the symbol rate over a small whole number, or where more than four
 * lines have an eighth of the largest one's power.
 *
 * Swept tones have a line once the samples are multiplied by a chirp. Eleven rates of change are tried,
 * up to 3.7e-8 cycles a sample², and the largest line of all counts. If there is none, 19 rates up to
 * 1.1e-6 are tried with the latest 4096 samples, which show stronger tones only; what these find, all
 * samples refine. The probability holds for each rate.
 *
 * Source: T. Abatzoglou, "Fast maximum likelihood joint estimation of frequency and frequency rate",
 * IEEE Trans. Aerosp. Electron. Syst. 22, 1986. */
class interfering_tones
{
public:
    static constexpr std::size_t most_tones = 4;
    static constexpr std::size_t searched = 16'384; //!< samples, a power of two
    static constexpr std::size_t swept =
        4096; //!< samples searched for a swept tone, likewise

    //! \param sps samples a symbol
    interfering_tones(std::size_t sps, bool complex);

    /*! Whether to search for tones. Not while decisions explain the samples with the noise that the
     * model learnt: a line is the signal's then. Tones that were found are followed in any case. */
    void search_if(bool searches);

    //! The tone of the largest amplitude; it follows none if there is none.
    const tone_loop& strongest() const;
    void reset();

    //! Subtracts them from n samples, which follow those of the previous call.
    void apply(planes& samples, std::size_t first, std::size_t n);
    //! Counts a sample without using it.
    void pass();

    void state(archive& members);

private:
    struct chirp {
        double cycles; // per sample, at the end of the samples
        double rate;   // cycles a sample²
        std::size_t samples;
    };
    tone_loop* unused();
    void search();
    std::optional<chirp>
    find(const fourier_transform& by, std::size_t most, double around);
    bool is_of_data(const chirp& found) const;
    bool is_followed(const chirp& found) const;
    float transform(const fourier_transform& by,
                    const std::complex<float>* samples,
                    double rate);
    std::optional<double> line(std::size_t size) const;

    std::vector<tone_loop> d_tones;
    std::vector<std::complex<float>> d_seen; // samples
    fourier_transform d_transform{ searched }, d_short_transform{ swept };
    std::vector<std::complex<float>> d_bins; // scratch of search()
    std::vector<float> d_power;              // of bins, likewise: the latest periodogram
    std::vector<float> d_window;             // Hann's
    std::size_t d_passed = 0;                // samples since the latest search began
    double d_sps;
    bool d_is_complex, d_searches = false;
};

} // namespace gr::adann::core
