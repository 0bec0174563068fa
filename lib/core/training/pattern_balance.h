/* -*- c++ -*- */
/*
 * Pattern balance: what random data says about decisions without knowing a single label.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/constellation.h"
#include "core/simd/kernels.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Regulariser that corrects symbol patterns which are misclassified with high
 * confidence; it is added to any loss.
 *
 * Scrambled data is uniform and independent from symbol to symbol. So whatever the
 * decisions around a symbol are (its context), the mean posterior of that symbol over all
 * occurrences of the context must be uniform. A network that takes one pattern for
 * another breaks this; neither its confidence nor noise on its input shows that.
 *
 * The contexts of symbol t are the decisions at t - 2, t - 1, t + 1 and at t - 1, t + 1,
 * t + 2: with the nearest two only, a network can satisfy the term and stay wrong. Up to
 * 8 points the label itself is balanced. Of larger PAM and QAM the levels of I and Q
 * are, each on its own, for contexts of whole symbols would hold too few of them, with
 * two contexts more, which tie one to the other: its own level at t - 1 or t + 1 and the
 * other's at t. Constellations without label_parts have no such term.
 *
 * The term is the KL divergence of the contexts' means to uniform, weighted by how often
 * each occurs: Σ_c (N_c/N) Σ_k m_ck ln(m_ck K), m_c the mean posterior in context c, K
 * the number of levels. Its gradient by the posterior of a symbol in context c is
 * ln(m_ck K) / N. Here m is the mean over the steps before, which fade within some 8
 * symbols a context: a symbol does not influence the mean that its gradient is taken
 * from, and one pass over the batch is enough.
 *
 * Framing, idle patterns and unscrambled data break the assumption: the weight can be
 * zero.
 */
class pattern_balance
{
public:
    pattern_balance(const label_parts& parts, const simd::kernels& kernels);

    //! Updates the means of the contexts, from which the gradients of the next
    //! step, of so many symbols, follow.
    void begin_step(std::size_t symbols);

    /*! Takes a tile; its first and last two symbols lack neighbours.
     * \param decided n classes
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

    void state(archive& members) { members("sums", d_sums, 0.0f, 1e9f); }

private:
    template <std::size_t K>
    struct tile_levels;
    template <std::size_t K>
    void begin_step_of(std::size_t symbols);
    template <std::size_t K, std::size_t tables>
    void judge(tile_levels<K>&, const std::uint16_t*, std::size_t, std::size_t);
    template <std::size_t K>
    void add_pam(const std::uint8_t*, std::size_t, const float*, float, float*);
    template <std::size_t K>
    void add_qam(const std::uint8_t*, std::size_t, const float*, float, float*);

    const simd::kernels& d_kernels;
    const label_parts d_parts;
    const std::size_t d_classes; // labels
    // For each part its tables, for each table its contexts, K numbers each.
    std::vector<float> d_sums;   // of posteriors
    std::vector<float> d_means;  // m K, m the mean posterior
    std::vector<float> d_slopes; // ln(m K)
};

} // namespace gr::adann::core
