/* -*- c++ -*- */
/*
 * Decisions that are refined as they come.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/label_descent.h"
#include "core/adaptation/label_posteriors.h"
#include "core/adaptation/residual_scatter.h"
#include "core/adaptation/sequence_search.h"
#include "core/signal/bit_priors.h"
#include "core/signal/windows.h"
#include "core/tracking/hindsight.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Refines a stream of labels by the expected waveform, symbol for symbol (label_descent), and
 * hands them out delay() symbols later.
 *
 * After every `block` symbols, counted from the first one, each symbol whose whole response
 * has come is visited, and once more a block later if a label has changed near it; then pairs
 * are, until none gains; then sequences, where that is worth it (sequence_search). In a block as many labels are
 * tried as symbols are visited, at most.
 * Symbols that have not been visited yet, and their labels, are replaced by those at the phase that the
 * front filter has measured (hindsight.h): all of them where its steps end with the blocks.
 * The gain of each block, amplitude and phase, is corrected, now that
 * it is decided (residual_gains). Labels stay as they were decided where there is no refinement,
 * and where most symbols around have more than twice the residual power that refinement has as
 * a rule: the signal is another one there. By choice it hands out the labels' posteriors, too
 * (label_posteriors); where labels stay as they were decided these do.
 *
 * Ratios of bits that are known a priori (bit_priors) weigh the posteriors of the labels decided: the
 * search starts from the most probable ones, and is for the largest a posteriori probability.
 *
 * The result is the same to
 * the bit, however the stream is cut. Nothing is allocated after construction. */
class refined_stream
{
public:
    static constexpr std::size_t block = simd::lanes;

    //! \param least_delay of delay()
    refined_stream(const constellation& symbols,
                   const expected_waveform& waveform,
                   std::size_t least_delay = 0);

    //! Symbols that must follow one before its label is final, or before it is handed out.
    std::size_t delay() const { return d_delay; }

    /*! Takes the next symbols of a stream.
     * \param windows the samples that they were decided from, each symbol's in the middle
     * \param decided windows.count labels
     * \param signal as it is now
     * \param labels room for windows.count, or `decided` itself
     * \param latest up to the last one of the windows
     * \param posteriors null, or windows.count × M of the labels decided; the same in each call of a
     * stream
     * \param refined_posteriors null as they are, or room for as many: of the labels written
     * \param a_priori null, or windows.count × log2(M) ratios, see bit_priors; needs posteriors
     * \return how many were written: from the first one of the stream on, delay() later */
    std::size_t take(const feature_view& windows,
                     const std::uint8_t* decided,
                     const refinement& signal,
                     std::uint8_t* labels,
                     const hindsight& latest = {},
                     const float* posteriors = nullptr,
                     float* refined_posteriors = nullptr,
                     const float* a_priori = nullptr);

    /*! Puts out the labels that are left, at the end of a stream; after the last one
     * another stream begins.
     * \param posteriors as refined_posteriors of take()
     * \return how many of `room` were written; 0: all have been */
    std::size_t
    flush(std::uint8_t* labels, std::size_t room, float* posteriors = nullptr);
    /*! The part of some 8192 latest symbols that is wrong where noise does not explain the residual
     * (residual_scatter); 0 while there is no refinement. */
    double unexplained_errors() const { return d_unexplained; }
    //! What comes next is another stream; labels that are not handed out are forgotten.
    void start();
    //! Symbols of the unfinished block.
    std::size_t block_position() const { return d_filled; }
    //! Before the first symbol: of a stream that goes on here, whose blocks end where they did.
    void continue_at(std::size_t position) { d_filled = position; }

private:
    void replace(const hindsight& latest);
    void weigh();
    const float* priors_from(std::size_t symbol) const
    {
        return d_has_priors
                   ? &d_priors[symbol * d_descent.responses().waveform().classes()]
                   : nullptr;
    }
    void refine(const refinement& signal);
    void visit(bool searches);
    void find_posteriors(bool searches);
    //! Of the symbol that is so far from the next one, 1 to delay().
    float* posteriors_of(std::size_t back)
    {
        const std::size_t place =
            d_next >= back ? d_next - back : d_next + delay() - back;
        return &d_posteriors[place * d_descent.responses().waveform().classes()];
    }
    bool explained(const refinement& signal, std::size_t first, std::size_t last);
    void watch(const float* residual);

    label_descent d_descent;
    sequence_search d_search;
    residual_gains d_gains;
    const simd::kernels* d_kernels;
    const std::size_t d_delay;
    const std::size_t d_past;              // symbols kept before a block
    std::vector<float> d_samples, d_white; // (past + block, stride)
    // Of the blocks that are visited, and of one before.
    std::vector<label_descent::match> d_matches;
    std::vector<float> d_powers;     // (past + block): left of symbols
    std::vector<std::uint8_t> d_due; // (past + block): whether to be visited
    // (past + block): as decided, then final; as they are refined
    std::vector<std::uint8_t> d_labels, d_refined;
    residual_scatter d_scatter;
    std::size_t d_watched = 0; // symbols since it was asked
    double d_unexplained = 0;
    label_posteriors d_soft;
    std::vector<float> d_posteriors; // (delay, M), symbol by symbol in turn
    std::size_t d_next = 0;          // the next one's place there
    bool d_is_soft = false;          // whether they are wanted
    const bit_priors d_bits;
    std::vector<float> d_priors;   // (past + block, M): ln of what is known a priori
    bool d_has_priors = false;     // whether that is given
    std::uint64_t d_soft_used = 0; // refinement
    std::size_t d_weighed = 0;     // symbols whose powers are as d_white has them
    std::size_t d_matched = 0;     // symbols of d_matches, the latest, that are as found
    std::size_t d_filled = 0;      // of the block
    std::size_t d_taken = 0;       // of the stream
    std::size_t d_flushed = 0;     // at its end
    std::size_t d_whitened = 0;    // symbols in a row
    std::uint64_t d_used = 0;      // refinement
};

} // namespace gr::adann::core
