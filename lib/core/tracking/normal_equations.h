/* -*- c++ -*- */
/*
 * Sums of least squares: which filter brings samples nearest to those that are wanted.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/linear_filter.h"

#include <complex>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

//! Multiplies a complex vector of normal_equations with e^(i·by).
void turn_vector(float* vector, std::size_t pitch, float by);

/*! R = Σ x̄ xᵀ and p = Σ x̄ z over windows x of `taps` samples and the samples z that are
 * wanted from them: what the taps w with the least Σ |z - wᵀx|² depend on. One channel has
 * one more unknown, an offset. A window of several channels is the first channel's,
 * then the second one's, and so on.
 *
 * Vectors of unknowns are pitch() floats, twice that for complex ones: the real parts,
 * then the imaginary ones, channels() · taps() each; one channel's offset follows the taps.
 * The rest is zero.
 *
 * The covariance of two channels' windows is nearly Toeplitz: its first row takes a product
 * per sample and lag, each further one follows from the row before it and the ends of the
 * block. Source: the covariance method of linear prediction, e.g. Makhoul, Proc. IEEE 63,
 * 1975. */
class normal_equations
{
public:
    //! \param channels of complex samples 1 or more, of float ones 1
    normal_equations(std::size_t taps,
                     bool complex,
                     const simd::kernels& kernels = simd::active(),
                     std::size_t channels = 1);

    std::size_t taps() const { return d_taps; } //!< of a channel
    std::size_t channels() const { return d_channels; }
    std::size_t unknowns() const { return d_unknowns; }
    bool is_complex() const { return d_planes == 2; }
    const simd::kernels& kernels() const { return *d_kernels; }
    //! Floats of a vector's part: a multiple of simd::lanes.
    std::size_t pitch() const { return d_pitch; }
    //! Floats of a vector.
    std::size_t vector_floats() const { return d_planes * d_pitch; }

    void clear();

    /*! The sums of a block, in place of what there was.
     * \param x of each channel the samples of the first window; those of the last one end with
     * x[n + taps - 2], and simd::lanes + 16 more can be read
     * \param wanted n samples \param n at least 1 */
    void set(const signal_planes* x, const signal_planes& wanted, std::size_t n);
    //! The same of one channel.
    void set(const signal_planes& x, const signal_planes& wanted, std::size_t n)
    {
        set(&x, wanted, n);
    }

    //! A stationary noise v in the samples x of one channel.
    struct noise {
        aligned_floats
            target; //!< E[x̄ v] of a window's samples and the noise in its middle, a vector
        /*! E[v̄(i) v(i + l)] for lags l from 1 - taps to taps - 1: the real parts, then the imaginary ones.
         * Its spectrum is nowhere negative: white noise has been added where it was. */
        std::vector<float> covariance;
        float added = 0; //!< power of that white noise
    };
    /*! \param correlation E[x̄(i + d) v(i)], d from -r to r, as
     * expected_waveform::noise_correlation(): of lags beyond the taps nothing is used */
    noise noise_of(const std::vector<float>& correlation) const;
    /*! As if that noise had been in the samples z, and had come with the samples x at their
     * present level. What the sums leave stays as it was for taps that bring x back to the level it
     * was measured at.
     * \param level rms of the samples it was measured in
     * \param lacking part of the noise that the samples do not have, 0 to 1: they get as much noise with its
     * covariance. Else taps that look for it where there is neither signal nor noise grow without bound. A channel
     * that has moved may hide in z - wᵀx what is lacking, so both x and z get a quarter more, of white noise: the
     * identity stays the solution, and the gain there is at most 1 + 4 c, of noise whose spectrum is c times its mean */
    void add_noise_target(const noise& noise, float level = 1, float lacking = 0);
    //! As if one channel had no offset.
    void clear_offset();
    //! As if the complex samples z had been rotated by so many radians.
    void turn_wanted(float by);
    //! Weights these sums with `keep` and adds others.
    void add(float keep, const normal_equations& more);

    //! R v for `count` vectors, at most 4, or 2 complex ones.
    void
    product(const float* const* vectors, std::size_t count, float* const* results) const;
    //! p.
    const float* correlation() const { return d_sums.data() + d_planes * matrix(); }
    //! Row k of R: its real parts, and `imaginary` its imaginary ones.
    const float* row(std::size_t k, bool imaginary = false) const
    {
        return d_sums.data() + imaginary * matrix() + k * d_pitch;
    }
    //! A part of the mean power of a window's samples, to be added to R's diagonal.
    float ridge(float part) const;
    //! R by rows, (unknowns, unknowns), with ridge(part) added to its diagonal; what
    //! core/common/cholesky.h solves.
    void matrix(double part, std::vector<std::complex<double>>& found) const;
    float energy() const { return *(correlation() + vector_floats()); }    //!< Σ |z|²
    float count() const { return *(correlation() + vector_floats() + 1); } //!< Σ 1

    //! All of it, for checkpoints.
    aligned_floats& sums() { return d_sums; }

private:
    std::size_t matrix() const { return d_unknowns * d_pitch; }
    void set_real(const float* x, const float* wanted, std::size_t n);
    void set_complex(const signal_planes* x, const signal_planes& wanted, std::size_t n);
    void set_offset(const signal_planes& x, const signal_planes& wanted, std::size_t n);
    void first_rows(const signal_planes* x, const signal_planes& wanted, std::size_t n);

    const simd::kernels* d_kernels;
    std::size_t d_taps, d_channels, d_unknowns, d_planes, d_pitch;
    aligned_floats d_sums;            // R by planes, p, Σ |z|², Σ 1
    mutable aligned_floats d_scratch; // nothing outlives a call in it
};

} // namespace gr::adann::core
