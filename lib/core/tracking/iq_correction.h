/* -*- c++ -*- */
/*
 * What a receiver's front end adds to complex samples: their image, and a constant.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/constellation.h"
#include "core/tracking/linear_filter.h"

#include <complex>
#include <cstddef>

namespace gr::adann::core {

/*! Removes the image ρx̄ that an imbalance of gain and phase between I and Q adds, and the constant c
 * of a leaking oscillator: x - ρx̄ - c.
 *
 * No taps can do so: they are linear in x alone. Both are regressions of the filter's residual
 * e = output - wanted: ρ = Σ e x / Σ |x|², c = mean e, over the middles of decided symbols. The image of a constellation of
 * three rotations and more is uncorrelated with its samples, E[x²] = 0; where fewer rotations do not
 * distinguish them, only the constant is removed.
 *
 * An estimate is taken over when it exceeds its own standard deviation, by the scatter of blocks, four
 * times: by chance with a probability of exp(-16). The sums start again then, so that the error of
 * a coefficient is at most four deviations: over the least number of symbols, 1/256 of the noise's power.
 * Two thirds of an image are: what is wanted follows the image where decisions are uncertain, and the
 * estimate is up to twice as large, by the difference of gain most (16QAM at 9 dB). A third is left either way.
 *
 * Source: widely linear estimation, Picinbono and Chevalier, IEEE Trans. Signal Processing 43, 1995;
 * for I/Q imbalance Anttila, Valkama and Renfors, IEEE Trans. Vehicular Technology 57, 2008. */
class iq_correction
{
public:
    explicit iq_correction(const constellation& alphabet)
        : d_is_proper(alphabet.is_complex() && alphabet.symmetries().size() > 2)
    {
    }

    std::complex<float> image() const { return d_image.taken; }       //!< ρ
    std::complex<float> constant() const { return d_constant.taken; } //!< c

    void reset()
    {
        d_image = d_constant = {};
        d_blocks = 0;
    }
    //! Corrects n samples in place.
    void apply(float* re, float* im, std::size_t n) const;
    /*! Learns from a block.
     * \param x its samples, corrected
     * \param residual of each: what was wanted less what came out of the filter
     * \param first,apart,n samples that count: symbols' middles */
    void learn(const signal_planes& x,
               const signal_planes& residual,
               std::size_t first,
               std::size_t apart,
               std::size_t n);

    void state(archive& members);

private:
    // A coefficient, and the sums of its regression since it changed.
    struct estimate {
        std::complex<float> taken = 0;
        std::complex<float> sum = 0; // of e times the conjugate regressor
        float scatter = 0;           // Σ |·|² of blocks' sums
        float power = 0;             // of the regressor

        void add(float keep, std::complex<float> more, float of_power);
        bool take(float part);
    };

    bool d_is_proper;
    estimate d_image, d_constant;
    std::size_t d_blocks = 0; // since one of them changed
};

} // namespace gr::adann::core
