/* -*- c++ -*- */
/*
 * The inner loops of quantised networks, on tiles of whole numbers.
 *
 * A word holds two neighbouring values of 16 bits, the first one in its lower half: two
 * products and their sum are one instruction. No sum of a valid layer overflows, so that
 * all instruction sets give the same.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace gr::adann::core::simd {

//! A layer; inputs and outputs in pairs, an odd one's partner is zero.
struct integer_layer {
    const std::int32_t* weights; //!< words (pairs, outputs)
    const std::int32_t* biases;  //!< (outputs)
    const std::uint8_t* shifts;  //!< (outputs), 0 to 30; see hidden
    std::size_t pairs;           //!< of inputs
    std::size_t outputs;
    std::int32_t largest; //!< that comes out; see hidden
};

struct integer_kernels {
    /*! y = min(max(x · scale, -largest), largest), rounded to the nearest whole number,
     * halves away from zero; a NaN becomes 0.
     * \param n a multiple of `lanes`
     * \param scale a power of two */
    void (*quantise)(const float* x,
                     std::size_t n,
                     float scale,
                     std::int32_t largest,
                     std::int32_t* y);

    /*! y = min((max(W x + b, 0) + h) >> shift, largest), h half of what is shifted out.
     * \param x words: row i of the pairs starts at x[row[i]]
     * \param y words, a row for each two outputs */
    void (*hidden)(const integer_layer& layer,
                   const std::int32_t* x,
                   const std::uint32_t* row,
                   std::int32_t* y);

    //! y = W x + b: a row for each output.
    void (*sums)(const integer_layer& layer,
                 const std::int32_t* x,
                 const std::uint32_t* row,
                 std::int32_t* y);

    //! The row of the largest of `classes` values, the first of equals.
    void (*argmax)(const std::int32_t* logits, std::size_t classes, std::uint8_t* labels);
};

//! The plain loops that the others are compared with.
extern const integer_kernels plain_integers;

} // namespace gr::adann::core::simd
