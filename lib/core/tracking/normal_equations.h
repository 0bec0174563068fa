/* -*- c++ -*- */
/*
 * Sums of least squares: which filter brings samples nearest to those that are wanted.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/linear_filter.h"

#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! R = Σ x̄ xᵀ and p = Σ x̄ z over windows x of `taps` samples and the samples z that are
 * wanted from them: what the taps w with the least Σ |z - wᵀx|² depend on. Float samples
 * have one more unknown, an offset. A window of several channels is the first channel's,
 * then the second one's, and so on.
 *
 * Vectors of unknowns are pitch() floats, twice that for complex ones: the real parts,
 * then the imaginary ones, channels() · taps() each; a real one's offset is behind the
 * taps. What is behind them is zero.
 *
 * The covariance of two channels' windows is nearly Toeplitz: its first row takes a product
 * per sample and lag, each further one follows from the row before it and the ends of the block. Source:
 * the covariance method of linear prediction, e.g. Makhoul, Proc. IEEE 63, 1975. */
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

    /*! What n samples x need beside them, of which a noise v is wanted as it is: p =
     * n E[x̄ v], so that what the sums leave is as much as without for doing nothing. In
     * place of what there was; it counts as no sample. Of one channel.
     * \param correlation E[x̄(i + d) v(i)], d from -r to r, as
     * expected_waveform::noise_correlation(): of lags beyond the taps nothing is used */
    void set_noise(const std::vector<float>& correlation, std::size_t n);

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
    float energy() const { return *(correlation() + vector_floats()); }    //!< Σ |z|²
    float count() const { return *(correlation() + vector_floats() + 1); } //!< Σ 1

    //! All of it, for checkpoints.
    aligned_floats& sums() { return d_sums; }

private:
    std::size_t matrix() const { return d_unknowns * d_pitch; }
    void set_real(const float* x, const float* wanted, std::size_t n);
    void set_complex(const signal_planes* x, const signal_planes& wanted, std::size_t n);
    void first_rows(const signal_planes* x, const signal_planes& wanted, std::size_t n);

    const simd::kernels* d_kernels;
    std::size_t d_taps, d_channels, d_unknowns, d_planes, d_pitch;
    aligned_floats d_sums;            // R by planes, p, Σ |z|², Σ 1
    mutable aligned_floats d_scratch; // nothing outlives a call in it
};

} // namespace gr::adann::core
