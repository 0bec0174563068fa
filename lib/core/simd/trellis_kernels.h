/* -*- c++ -*- */
/*
 * The inner loop of the Viterbi algorithm: what it works on.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace gr::adann::core::simd {

//! Floats that a row of states is filled up to: the longest vector.
constexpr std::size_t trellis_lanes = 16;

//! See class trellis.
struct trellis_tables {
    unsigned label_bits;       //!< M = 2^label_bits branches lead into a state: 1 to 6
    std::size_t states;        //!< padded to a multiple of trellis_lanes
    std::size_t oldest_stride; //!< between states that differ by 1 in their oldest symbol
    std::size_t floats;        //!< of a symbol's samples
    std::size_t axes;          //!< 1 for up to 8 real points, 2 for any
    const float* correlator;   //!< (floats, states)
    const float* energy;       //!< (states)
    const float* slope;        //!< (axes, states)
    const float* last_tap;     //!< (axes, floats)
    const float* points;       //!< (axes, M)
};

/*! Takes `steps` steps of the trellis: for each new state s, with w = slope - last_tap·x,
 *
 *     next[s] = min over b of (now[b·oldest_stride + ⌊s/M⌋] + points[b]·w[s])
 *               + energy[s] + Σ x·correlator[s]
 *
 * \param samples (steps, floats)
 * \param metrics [0] holds now; the two are exchanged with every step, so that [0] holds
 * the last; states + trellis_lanes floats each
 * \param survivors (steps, states): the b of each minimum, the lowest of equals */
using trellis_kernel = void(const trellis_tables& tables,
                            const float* samples,
                            std::size_t steps,
                            float* metrics[2],
                            std::uint8_t* survivors);

//! The plain loops that the others are compared with.
trellis_kernel plain_add_compare_select;

} // namespace gr::adann::core::simd
