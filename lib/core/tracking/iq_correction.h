/* -*- c++ -*- */
/*
 * Removes the image and the constant that a receiver's front end adds to complex samples.
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

/*! Removes the image ρx̄ that an imbalance of gain and phase between I and Q adds, and the constant
 * c of a leaking oscillator: x - ρx̄ - c.
 *
 * Taps cannot remove them, as they are linear in x alone. Both are regressions of the filter's
 * residual e = output - target: ρ = Σ e x / Σ |x|², c = mean e, over the middle samples of decided
 * symbols. The image of a constellation with three or more rotations is uncorrelated with its
 * samples, E[x²] = 0; with fewer rotations image and samples are not distinguished, and only the
 * constant is removed.
 *
 * An estimate is applied once it exceeds four times its standard deviation, which is measured by
 * the scatter of blocks: a probability of exp(-16) by chance. The sums start again then. So the
 * error of a coefficient is at most four deviations: 1/256 of the noise's power at the least number
 * of symbols. Of an image estimate two thirds are applied. Where decisions are uncertain the target
 * follows the image, which makes the estimate up to twice too large (16QAM at 9 dB, for the
 * difference of gain); at most a third of the image remains in either case.
 *
 * Source: widely linear estimation, Picinbono and Chevalier, IEEE Trans. Signal Processing 43,
 * 1995; for I/Q imbalance Anttila, Valkama and Renfors, IEEE Trans. Vehicular Technology 57,
 * 2008. */
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
     * \param residual of each sample: target less output of the filter
     * \param first,apart,n the samples used, `apart` from each other: symbols' middles */
    void learn(const signal_planes& x,
               const signal_planes& residual,
               std::size_t first,
               std::size_t apart,
               std::size_t n);

    void state(archive& members);

private:
    // A coefficient, and the sums of its regression since it changed.
    struct estimate {
        std::complex<float> taken = 0; // the coefficient that is applied
        std::complex<float> sum = 0;   // of e times the conjugate regressor
        float scatter = 0;             // Σ |·|² of blocks' sums
        float power = 0;               // of the regressor

        void add(float keep, std::complex<float> more, float of_power);
        bool take(float part);
    };

    bool d_is_proper;
    estimate d_image, d_constant;
    std::size_t d_blocks = 0; // since one of them changed
};

} // namespace gr::adann::core
