/* -*- c++ -*- */
/*
 * Removes the image that a receiver's front end adds to complex samples.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/constellation.h"
#include "core/tracking/linear_filter.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Removes the image ρx̄ that an imbalance of gain and phase between I and Q adds: x - ρx̄.
 *
 * Taps cannot remove it, as they are linear in x alone. It is a regression of the filter's residual
 * e = output - target: ρ = Σ e x / Σ |x|², over the middle samples of decided symbols. The image of
 * a constellation with three or more rotations is uncorrelated with its samples, E[x²] = 0; with
 * fewer rotations image and samples are not distinguished, and nothing is removed.
 *
 * Where decisions are uncertain the target follows the image, and the residual shows a part of it; of
 * a lost stream it shows nothing. There the image is measured without it: E[x²] = 2ρ E[|x|²] of
 * random data, for small ρ, whatever the channel and the carrier. That holds if E[x²] is 0 without an
 * image. It is not for OQPSK, and not for a model that was trained with an image, which its network
 * removes. Blocks whose labels P have a sum of P² beyond four standard deviations of random data's do
 * not count: idle words, and headers of another constellation. An image above -10 dB is refused.
 *
 * An estimate is applied once it exceeds four times its standard deviation, which is measured by
 * the scatter of blocks: a probability of exp(-16) by chance. The sums start again then. So the
 * error of ρ is at most four deviations. By the residual that is 1/256 of the noise's power at the
 * least number of symbols, by E[x²] 1/500 of all power. Two thirds of an estimate are applied: one by
 * uncertain decisions, with a model trained with an image, is up to twice too large (16QAM at 9 dB).
 *
 * Source: widely linear estimation, Picinbono and Chevalier, IEEE Trans. Signal Processing 43,
 * 1995; for I/Q imbalance, and estimates by E[x²], Anttila, Valkama and Renfors, IEEE Trans. Vehicular
 * Technology 57, 2008. */
class iq_correction
{
public:
    //! \param expected expected_waveform::drawn() of the model
    iq_correction(const constellation& alphabet, const std::vector<float>& expected);

    std::complex<float> image() const { return d_image; } //!< ρ
    //! Whether it is measured without the residual where decisions are uncertain.
    bool needs_no_residual() const { return d_is_proper; }

    void reset()
    {
        d_image = 0;
        begin();
    }
    //! Corrects n samples in place.
    void apply(float* re, float* im, std::size_t n) const;
    /*! Learns from a block.
     * \param x its samples, corrected
     * \param labels decided, of n symbols
     * \param residual of each sample: target less output of the filter; null where decisions are
     * uncertain and needs_no_residual(), and where the stream is lost
     * \param first,apart,n the samples used, `apart` from each other: symbols' middles */
    void learn(const signal_planes& x,
               const std::uint8_t* labels,
               const signal_planes* residual,
               std::size_t first,
               std::size_t apart,
               std::size_t n);

    void state(archive& members);

private:
    bool are_random(const std::uint8_t* labels, std::size_t n) const;
    void begin()
    {
        d_sum = 0;
        d_scatter = d_power = 0;
        d_blocks = 0;
    }

    bool d_has_image;                           // whether samples and their image differ
    bool d_is_proper;                           // whether E[x²] is 0 without an image
    std::vector<std::complex<float>> d_squares; // of the points, by label
    float d_variance = 0;                       // mean |P|⁴ of the points
    std::complex<float> d_image = 0;            // ρ that is applied
    // The regression since ρ changed:
    std::complex<float> d_sum = 0; // Σ e x, or Σ x²
    float d_scatter = 0;           // Σ |·|² of blocks' sums
    float d_power = 0;             // Σ |x|², or twice that
    std::size_t d_blocks = 0;
};

} // namespace gr::adann::core
