/* -*- c++ -*- */
/*
 * Signals in planes, and a linear filter.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"
#include "core/simd/kernels.h"

#include <algorithm>
#include <cstddef>

namespace gr::adann::core {

/*! A signal in planes: its floats, or the real and the imaginary parts of its complex
 * samples. Float samples have no imaginary plane: null. */
struct signal_planes {
    const float* re;
    const float* im;

    signal_planes operator+(std::ptrdiff_t samples) const
    {
        return { re + samples, im ? im + samples : nullptr };
    }
    //! Copies n samples, complex ones interleaved.
    void interleave(std::size_t n, float* to) const
    {
        if (!im) {
            std::copy_n(re, n, to);
            return;
        }
        for (std::size_t i = 0; i < n; ++i) {
            to[2 * i] = re[i];
            to[2 * i + 1] = im[i];
        }
    }
};

//! Owns the planes of a signal.
struct planes {
    aligned_floats re, im;

    planes(std::size_t samples, bool complex) : re(samples), im(complex ? samples : 0) {}
    //! \param samples n, complex ones interleaved
    void assign(const float* samples, std::size_t n)
    {
        for (std::size_t i = 0; i < n; ++i)
            if (im.empty()) {
                re[i] = samples[i];
            } else {
                re[i] = samples[2 * i];
                im[i] = samples[2 * i + 1];
            }
    }
    void interleave(std::size_t n, float* to) const
    {
        static_cast<signal_planes>(*this).interleave(n, to);
    }
    operator signal_planes() const
    {
        return { re.data(), im.empty() ? nullptr : im.data() };
    }
    signal_planes operator+(std::ptrdiff_t samples) const
    {
        return static_cast<signal_planes>(*this) + samples;
    }
};

//! Filters signals with given taps.
class linear_filter
{
public:
    linear_filter(std::size_t taps, bool complex, const simd::kernels& kernels);

    /*! y[i] = Σ_k taps[k] x[i + k] + taps[taps] for i < n: the last one is the offset. A sample is
     * the same to the bit whatever n is.
     * \param taps the vector of normal_equations, of one channel
     * \param pitch of the vector
     * \param re,im y, with room for whole simd::lanes */
    void run(const float* taps,
             std::size_t pitch,
             const signal_planes& x,
             std::size_t n,
             float* re,
             float* im);
    //! The same of one of several complex channels, without an offset. \param adds whether to add to y
    void run_channel(const float* taps,
                     std::size_t pitch,
                     const signal_planes& x,
                     std::size_t n,
                     float* re,
                     float* im,
                     bool adds);

private:
    const simd::kernels* d_kernels;
    std::size_t d_taps;
    aligned_floats d_negative; // imaginary parts
};

} // namespace gr::adann::core
