/* -*- c++ -*- */
/*
 * The inner loops of quantised networks, on tiles of whole numbers.
 *
 * A word holds two neighbouring values of 16 bits or four of 8, the first one lowest, so
 * that several products and their sum are one instruction. No sum of a valid layer
 * overflows, so that all instruction sets give the same.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace gr::adann::core::simd {

//! A layer; inputs and outputs grouped to words, what a word lacks is zero.
struct integer_layer {
    const std::int32_t* weights; //!< words (groups, outputs)
    const std::int32_t* biases;  //!< (outputs), with half of what is shifted out
    const std::int32_t* shifts;  //!< (outputs), 0 to 30; see hidden
    std::size_t groups;          //!< of inputs
    std::size_t outputs;
    std::int32_t largest; //!< that comes out; see hidden
};

/*! Layers on words of so many values: two with a sign, or four of which the inputs have
 * none and the weights one. */
struct word_kernels {
    unsigned values;

    /*! y = min(max(x · scale, -largest), largest), rounded to the nearest whole number,
     * halves away from zero; a NaN becomes 0. In words of four `offset` is added to it.
     * \param n any; up to `lanes` - 1 values after y[n - 1] are written too
     * \param scale a power of two
     * \param y int16_t, or uint8_t in words of four */
    void (*quantise)(
        const float* x, std::size_t n, float scale, std::int32_t largest, void* y);

    /*! y = min(max(W x + b, 0) >> shift, largest).
     * \param x words: row i of the groups starts at x[row[i]]
     * \param y words, a row for each `values` outputs */
    void (*hidden)(const integer_layer& layer,
                   const std::int32_t* x,
                   const std::uint32_t* row,
                   std::int32_t* y);

    //! y = W x + b: a row for each output.
    void (*sums)(const integer_layer& layer,
                 const std::int32_t* x,
                 const std::uint32_t* row,
                 std::int32_t* y);

    //! By which samples in words of four are raised.
    static constexpr std::int32_t offset = 128;
};

struct integer_kernels {
    word_kernels pairs;
    word_kernels quads; //!< no functions where pairs are as quick

    //! The row of the largest of `classes` values, the first of equals.
    void (*argmax)(const std::int32_t* logits, std::size_t classes, std::uint8_t* labels);
};

//! The plain loops that the others are compared with.
extern const integer_kernels plain_integers;

} // namespace gr::adann::core::simd
