/* -*- c++ -*- */
/*
 * The trellis of a linear channel: its states, and tables from which branch metrics
 * follow.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"
#include "core/mlse/channel_response.h"
#include "core/simd/trellis_kernels.h"

namespace gr::adann::core {

/*! States and branch metrics of the Viterbi algorithm for a channel_model.
 *
 * The state after step i holds the labels of the latest memory - 1 symbols as digits,
 * symbol i + ahead() - k as digit k, the newest the lowest. (A memory of 1 is treated as
 * 2 with a last tap of 0.) Step i takes the samples x(i); the branch into new state s
 * from the state whose oldest symbol is b has the metric |x - y(s) - g·a_b|², where y(s)
 * is what the symbols of s make of the samples and g the last tap of each phase. Up to
 * |x|² it splits into
 *
 *     |y(s)|² - 2 x·y(s)  +  2 Re[conj(a_b) conj(g)·(y(s) - x)]  +  |g|² |a_b|²
 *
 * so that a branch costs one multiplication (two for complex alphabets), whatever sps is,
 * and only tables over the states are needed, not over the M times as many branches. The
 * last term is added where the symbol is still in the state: a path metric here contains
 * pending(state), to be subtracted when states are compared.
 */
class trellis
{
public:
    explicit trellis(const channel_model& channel);

    const channel_model& channel() const { return d_channel; }
    std::size_t states() const { return d_states; }
    //! states(), or as many as fill whole vectors; what a row of tables or survivors has.
    std::size_t padded_states() const { return d_padded; }

    //! Label of symbol i in the state after step i.
    std::uint8_t label(std::size_t state) const
    {
        return digit(state, d_channel.ahead());
    }
    std::uint8_t digit(std::size_t state, std::size_t k) const
    {
        return (state >> (k * d_bits)) & (d_channel.alphabet.size() - 1);
    }
    //! The state before, given the oldest symbol's label that the survivor keeps.
    std::size_t predecessor(std::size_t state, std::uint8_t survivor) const
    {
        return survivor * d_oldest_stride + (state >> d_bits);
    }

    //! Rebuilds the tables.
    //! \param taps checked ones
    void set_response(const response_taps& taps);

    //! |g|² |a_b|² of the state's oldest symbol b.
    const float* pending() const { return d_pending.data(); }

    //! What the kernel needs; of a step whose samples are not usable: all branches equal.
    //! Such a step takes path metrics without pending(), and samples of 0.
    simd::trellis_tables tables() const;
    simd::trellis_tables erased_tables() const;

    //! Bytes of the tables for so many states.
    static std::size_t bytes(const channel_model& channel, std::size_t states);

private:
    using row = aligned_floats;

    const channel_model d_channel;
    const unsigned d_bits;
    const std::size_t d_digits;
    const std::size_t d_states;
    const std::size_t d_padded;
    const std::size_t d_oldest_stride;
    const std::size_t d_axes; // of the points that the kernel takes
    row d_correlator;         // (floats(), padded): -2 y(s)
    row d_energy;             // |y(s)|² + pending
    row d_slope;              // (axes, padded): 2 Re[conj(g)·y(s)], and Im
    row d_pending;
    row d_zero;                    // as many as either of the two takes
    std::vector<float> d_last_tap; // (axes, floats()): 2g, and 2ig
    std::vector<float> d_points;   // (axes, M)
};

} // namespace gr::adann::core
