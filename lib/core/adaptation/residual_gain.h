/* -*- c++ -*- */
/*
 * Amplitude and phase of decided symbols, relative to what is expected, that change from block to block.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/simd/kernels.h"

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

//! Errors of one quantity in the latest blocks.
class block_errors
{
public:
    static constexpr std::size_t blocks = 3;
    using weights = std::array<float, blocks>; //!< of the latest block first

    void add(float error);
    void start(); //!< the next block does not follow earlier ones
    std::size_t count() const { return d_count; } //!< known errors, up to `blocks`
    float operator[](std::size_t back) const { return d_errors[back]; }
    //! The weighted sum of what they differ from their mean by.
    float sum(const weights& parts, float mean = 0) const;

private:
    std::array<float, blocks> d_errors{};
    std::size_t d_count = 0;
};

/*! Gain of consecutive blocks: that of the received samples relative to the expected ones. Its phase, radians, is what a
 * carrier's loop has not predicted; its amplitude, as a natural logarithm, what is faster than a filter that is learnt:
 * an automatic gain control, a ripple of the supply. */
class residual_gains
{
public:
    static constexpr std::size_t block = simd::lanes; //!< symbols of a measurement
    struct weights {
        block_errors::weights phase{}, amplitude{};
        float mean_amplitude =
            0; //!< is left: it is the channel's, or that of wrong labels
    };
    /*! Measures the gain of the next block: Σ x z̄ / Σ |z|², z expected, x received.
     * \param expected,received n samples of so many floats, 1 or 2
     * \return the inverse of the gain that is estimated from the latest blocks */
    std::complex<float> take(const float* expected,
                             const float* received,
                             std::size_t n,
                             std::size_t floats,
                             const weights& parts);
    void start(); //!< the next block does not follow earlier ones
    const block_errors& phases() const { return d_phases; }
    const block_errors& amplitudes() const { return d_amplitudes; }
    //! Σ |z|² of the latest block.
    double energy() const { return d_energy; }

private:
    block_errors d_phases, d_amplitudes;
    double d_energy = 0;
};

//! Multiplies n samples of so many floats, 1 or 2; real ones with the real part.
void multiply(float* samples,
              std::size_t n,
              std::size_t floats,
              std::complex<float> factor);

/*! Wiener filter for the latest of block_errors, from their mean products and the variance of
 * their noise. Where there is only noise its weights are nearly zero. Nothing is allocated after
 * construction. */
class block_error_filter
{
public:
    /*! Adds the latest error.
     * \param noise its variance */
    void add(const block_errors& errors, double noise);
    void fade(double keep); //!< multiplies all sums
    //! Of errors without a mean.
    block_errors::weights solve();
    /*! Of what errors differ from their mean by, as far as neighbouring blocks have it in common: the rest is noise, or
     * depends on the blocks' labels. Zeros if these do not correlate significantly. */
    block_errors::weights solve_common();
    double mean() const;
    void reset();
    void state(archive& members);

private:
    using covariances =
        std::array<double, block_errors::blocks>; // by the distance of the blocks
    block_errors::weights solve(const covariances& measured, double wanted);

    covariances d_products{}, d_counts{};
    double d_noise = 0, d_sum = 0;
    std::vector<double> d_matrix = std::vector<double>(d_counts.size() * d_counts.size());
    std::vector<double> d_solution = std::vector<double>(d_counts.size());
};

} // namespace gr::adann::core
