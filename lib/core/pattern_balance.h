/* -*- c++ -*- */
/*
 * Pattern balance: what random data says about decisions without knowing a single label.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! A term beside any loss that frees patterns which are decided wrongly, confidently, for
 * ever.
 *
 * Scrambled data is uniform and independent from symbol to symbol. So whatever the
 * decisions before and after a symbol are, the mean posterior of that symbol over all
 * places where they occur must be uniform. A network that has learnt to take one
 * three-symbol pattern for another breaks this; neither its confidence nor noise on its
 * input shows that.
 *
 * The term is the KL divergence of those means to uniform, weighted by how often the pair
 * c of neighbouring decisions occurs: Σ_c (N_c/N) Σ_j m_cj ln(m_cj K), m_c the mean
 * posterior in the context c, K the number of levels. Its gradient by the posterior of a
 * symbol in context c is ln(m_cj K) / N. Here m is the mean over the steps before, which
 * fade within some 1024 symbols: a symbol does not weigh on the mean that it is judged
 * by, and one pass over the batch is enough.
 *
 * Up to 8 classes are levels themselves (M² contexts). Larger ones are square QAM, whose
 * label is the level of I and then that of Q: each is balanced on its own, given the
 * neighbours' levels in the same dimension, for M² contexts would hold too few symbols.
 *
 * Framing, idle patterns and unscrambled data break the assumption: the weight can be
 * zero.
 */
class pattern_balance
{
public:
    explicit pattern_balance(std::size_t classes);

    //! The steps so far become the means that the next one, of so many symbols, is judged
    //! by.
    void begin_step(std::size_t symbols);

    /*! Takes the neighbouring symbols of a tile; the first and the last lack a neighbour.
     * \param decided n labels
     * \param posteriors rows of simd::tile, a row per class
     * \param weight of the term
     * \param error rows: the term's gradient by the logits, times N, is added */
    void add(const std::uint8_t* decided,
             std::size_t n,
             const float* posteriors,
             float weight,
             float* error);

    //! Forgets all steps.
    void reset();

private:
    const std::size_t d_levels;     // K
    const std::size_t d_dimensions; // 1, or I and Q
    std::vector<float>
        d_sums; // (dimensions, K, K, K) of posteriors: before, after, level
    std::vector<float> d_slopes; // the same: ln(m K)
};

} // namespace gr::adann::core
