/* -*- c++ -*- */
/*
 * Where the feature vectors of a stream of samples lie: strided views, never a copy.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/checks.h"

#include <cstddef>

namespace gr::adann::core {

/*! `count` feature vectors of `dimension` floats; the next one starts `stride` floats
 * later.
 *
 * With stride < dimension they overlap: windows on a sample stream. With stride ==
 * dimension they are separate vectors. */
struct feature_view {
    const float* data;
    std::size_t stride;
    std::size_t dimension;
    std::size_t count;

    //! From the first vector's first to the last one's last.
    std::size_t floats() const { return (count - 1) * stride + dimension; }
    const float* operator[](std::size_t i) const { return data + i * stride; }
    feature_view from(std::size_t first, std::size_t n) const
    {
        return { data + first * stride, stride, dimension, n };
    }
};

//! Samples have about unit power: a larger one is no signal, and would upset an optimizer
//! for long.
constexpr float largest_sample = 1000;

//! Whether no sample is NaN, infinite or beyond ±`largest`.
inline bool
all_usable(const float* samples, std::size_t n, float largest = largest_sample)
{
    // Without an early end the loop becomes vectors.
    unsigned bad = 0;
    for (std::size_t i = 0; i < n; ++i)
        bad |= !(samples[i] <= largest && samples[i] >= -largest);
    return bad == 0;
}

/*! The window of 2·half_window + 1 symbols around a symbol whose middle is sample i·sps.
 *
 * Symbol i owns the samples i·sps - ⌊sps/2⌋ … i·sps - ⌊sps/2⌋ + sps - 1, so the window is
 * as symmetrical as a whole number of samples allows. Complex samples are interleaved I,
 * Q floats. Source: the paper's v(i), Section II-A.
 */
class window_geometry
{
public:
    static constexpr unsigned most_sps = 64;

    window_geometry(unsigned sps, unsigned half_window, bool complex)
        : d_sps(sps), d_half_window(half_window), d_floats(complex ? 2 : 1)
    {
        check_range("sps", sps, 1u, most_sps);
        check_range("half_window", half_window, 0u, 255u);
    }

    std::size_t sps() const { return d_sps; }
    std::size_t floats_per_sample() const { return d_floats; }
    //! Samples of one window: sps·(2·half_window + 1).
    std::size_t samples() const { return d_sps * (2 * d_half_window + 1); }
    //! Samples of the window that come before the symbol's middle.
    std::size_t samples_before() const { return d_sps * d_half_window + d_sps / 2; }
    //! Windows that are complete in so many samples.
    std::size_t windows_in(std::size_t available) const
    {
        return available < samples() ? 0 : (available - samples()) / d_sps + 1;
    }
    //! Floats from one feature vector to the next.
    std::size_t stride() const { return d_sps * d_floats; }
    //! Floats of one feature vector.
    std::size_t dimension() const { return samples() * d_floats; }
    //! n windows of consecutive samples, `data` the first of them.
    feature_view view(const float* data, std::size_t n) const
    {
        return { data, stride(), dimension(), n };
    }

private:
    std::size_t d_sps;
    std::size_t d_half_window;
    std::size_t d_floats;
};

} // namespace gr::adann::core
