/* -*- c++ -*- */
/*
 * Pattern balance: what random data says about decisions without knowing a single label.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/aligned.h"
#include "core/archive.h"
#include "core/simd/kernels.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Frees patterns which are decided wrongly, confidently, for ever: a term beside any
 * loss, and a doubt about the pseudo-labels.
 *
 * Scrambled data is uniform and independent from symbol to symbol. So whatever the
 * decisions around a symbol are, the mean posterior of that symbol over all places where
 * they occur must be uniform. A network that has learnt to take one pattern for another
 * breaks this; neither its confidence nor noise on its input shows that.
 *
 * The contexts of symbol t are the decisions at t - 2, t - 1, t + 1 and at t - 1, t + 1,
 * t + 2: with the nearest two only, a network can satisfy the term and stay wrong. Up to
 * 8 classes are levels themselves. Larger ones are square QAM, whose label is the level
 * of I and then that of Q: each is balanced on its own, for contexts of whole symbols
 * would hold too few of them, and has two contexts more, which tie it to the other one:
 * its own level at t - 1 or t + 1 and the other's at t.
 *
 * The term is the KL divergence of the contexts' means to uniform, weighted by how often
 * each occurs: Σ_c (N_c/N) Σ_k m_ck ln(m_ck K), m_c the mean posterior in context c, K
 * the number of levels. Its gradient by the posterior of a symbol in context c is
 * ln(m_ck K) / N. Here m is the mean over the steps before, which fade within some 8
 * symbols a context: a symbol does not weigh on the mean that it is judged by, and one
 * pass over the batch is enough.
 *
 * The doubt: where a context's divergence D_c shows a pattern that random data does not
 * have, the decisions in it are bad teachers. A symbol's own loss is weighted with
 * 1 / (1 + D_c / 0.2), D_c the largest of its contexts.
 *
 * Framing, idle patterns and unscrambled data break the assumption: the weight can be
 * zero.
 */
class pattern_balance
{
public:
    pattern_balance(std::size_t classes, const simd::kernels& kernels);

    //! The steps so far become the means that the next one, of so many symbols, is judged
    //! by.
    void begin_step(std::size_t symbols);

    /*! Takes a tile; its first and last two symbols lack neighbours.
     * \param decided n labels
     * \param posteriors rows of simd::tile, a row per class
     * \param weight of the term
     * \param error rows, the loss's gradient by the logits: each symbol's is weighted by
     * its doubt, and the term's gradient, times N, is added */
    void add(const std::uint8_t* decided,
             std::size_t n,
             const float* posteriors,
             float weight,
             float* error);

    /*! A tile's pseudo-labels: for each symbol the class of the largest logit, after that
     * of a class which has gone missing is raised.
     * \param logits rows of simd::tile, a row per class
     * \param labels n of simd::tile */
    void label(const float* logits, std::size_t n, std::uint8_t* labels);

    //! Forgets all steps.
    void reset();

    void state(archive& members);

private:
    void raise_missing();

    template <std::size_t K>
    struct tile_levels;
    template <std::size_t K>
    void begin_step_of(std::size_t symbols);
    template <std::size_t K, std::size_t tables>
    void judge(tile_levels<K>&, const std::uint16_t*, std::size_t, std::size_t, float*);
    template <std::size_t K>
    void add_pam(const std::uint8_t*, std::size_t, const float*, float, float*);
    template <std::size_t K>
    void add_qam(const std::uint8_t*, std::size_t, const float*, float, float*);

    const simd::kernels& d_kernels;
    aligned_floats d_logits;
    const std::size_t d_levels;     // K
    const std::size_t d_dimensions; // 1, or I and Q
    // For each dimension its tables, for each table its contexts, K numbers each.
    std::vector<float> d_sums;       // of posteriors
    std::vector<float> d_means;      // m K, m the mean posterior
    std::vector<float> d_slopes;     // ln(m K)
    std::vector<float> d_divergence; // one number a context
    std::vector<float> d_raised;     // by class: what is added to its logits, in nats
    std::vector<float> d_labelled;   // by class: pseudo-labels since d_raised was set
    std::size_t d_labels = 0;        // all of them
    bool d_raises = false;           // some class
};

} // namespace gr::adann::core
