/* -*- c++ -*- */
/*
 * The first layer on the windows of a stream, two neighbouring symbols at a time: what
 * their windows share is multiplied once.
 *
 * Let E_n and O_n be the samples of symbols 2n and 2n + 1, and W_0 … W_T-1 the weights of
 * a window's T symbols. The fast FIR algorithm with two outputs a time,
 *     y_2n   = Σ_j (W_2j + W_2j+1) O_n+j + Σ_j W_2j   (E_n+j   - O_n+j)
 *     y_2n+1 = Σ_j (W_2j + W_2j+1) O_n+j + Σ_j W_2j+1 (E_n+j+1 - O_n+j),  j < ⌊T/2⌋,
 * and W_T-1 E_n+⌊T/2⌋ or W_T-1 O_n+⌊T/2⌋ in addition if T is odd, has a first sum that
 * both have in common: 17 products for 22 at T = 11. No symbol uses samples beyond its own
 * window.
 *
 * Source: Mou and Duhamel, "Short-length FIR filters and their use in fast nonrecursive
 * filtering", IEEE Trans. Signal Processing 39 (6), 1991.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"
#include "core/network/polyphase_tile.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

//! Whether windows of `dimension` floats overlap by whole symbols of `stride` floats.
bool windows_pair(std::size_t dimension, std::size_t stride);

//! The weights of the three sums; each (inputs, outputs), as simd::kernels::affine has
//! them.
class pair_weights
{
public:
    /*! \param inputs, outputs of the first layer
     * \param stride floats of a symbol; windows_pair(inputs, stride) holds */
    pair_weights(std::size_t inputs, std::size_t outputs, std::size_t stride);

    //! \param transposed Wᵀ of the first layer
    void assign(const float* transposed);

    std::size_t stride() const { return d_stride; }
    std::size_t common_inputs() const { return d_symbols / 2 * d_stride; }
    std::size_t own_inputs() const { return (d_symbols + 1) / 2 * d_stride; }
    const float* common() const { return d_common.data(); }
    const float* own(bool odd) const { return d_own[odd].data(); }

private:
    std::size_t d_stride;
    std::size_t d_symbol;  // weights that belong to one
    std::size_t d_symbols; // T
    aligned_floats d_common;
    aligned_floats d_own[2]; // of the even and of the odd symbols
};

/*! Up to 2·tile windows of a stream: one tile of even symbols and one of odd ones. The
 * even ones' column t and the odd ones' make a pair. */
class pair_features
{
public:
    pair_features(const simd::kernels& kernels, std::size_t dimension);

    /*! Allocates if the view's stride is another one than the last view's, and only then.
     * \param view windows of the dimension given at construction: 1 to 2·tile, or one
     * less if starts_odd
     * \param starts_odd whether the first of them is the odd one of its pair. What the
     * even ones' column 0 holds is then of no use. */
    void load(const feature_view& view, bool starts_odd);

    //! The sum of both tiles, without biases, and what each of them adds to it.
    simd::weighted_rows common(const pair_weights& weights) const
    {
        return { weights.common(),
                 weights.common_inputs(),
                 d_samples.data(),
                 d_common_row.data() };
    }
    simd::weighted_rows own(const pair_weights& weights, bool odd) const
    {
        return { weights.own(odd),
                 weights.own_inputs(),
                 d_samples.data(),
                 d_own_row[odd].data() };
    }

private:
    void arrange(std::size_t stride, bool starts_odd);

    const simd::kernels& d_kernels;
    const std::size_t d_dimension;
    std::size_t d_stride = 0;
    bool d_starts_odd = false;
    std::size_t d_pairs = 0; // ⌊T/2⌋
    std::size_t d_pitch = 0;
    std::size_t d_even = 0; // where E and O start
    std::size_t d_odd = 0;
    // Four blocks of d_stride rows: the view's symbols in turn, and the differences of
    // the even and of the odd symbols' sums.
    aligned_floats d_samples;
    std::vector<std::uint32_t> d_common_row, d_own_row[2];
};

} // namespace gr::adann::core
