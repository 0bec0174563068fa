/* -*- c++ -*- */
/*
 * Adaptive filters of several memories side by side, and which of them is in use.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/tracking/least_squares.h"

#include <array>
#include <vector>

namespace gr::adann::core {

//! Taps, an odd number, that span so many symbols.
inline std::size_t odd_taps(std::size_t symbols, std::size_t sps)
{
    return 2 * (symbols * sps / 2) + 1;
}

//! Symbols that hold so many samples.
inline std::size_t whole_symbols(std::size_t samples, std::size_t sps)
{
    return (samples + sps - 1) / sps;
}

//! Forgetting time constants of the least squares, symbols, by default.
inline const std::vector<std::size_t> usual_memories{ 128, 256, 512, 2048, 8192, 65536 };

/*! Taps by exponentially windowed least squares, for several memories at once.
 *
 * Each memory of m symbols weights what lies k symbols back with e^(-k / m). Its taps are
 * drawn towards doing nothing as if some symbols had been received undistorted: what is
 * hardly seen in the signal stays as it is. Short memories have taps of a second, shorter
 * length too, which follow with less noise. Two neighbouring memories lag
 *differently; the straight line through their taps, followed to the present, is a
 * candidate as well. Candidates compete by how well they would have predicted each block
 * before they learnt from it, averaged over about five blocks. Doing nothing is given up only
 * for taps that are surely better.
 *
 * The least squares are solved by conjugate gradients from the taps before, until a step
 * gains less than noise makes of an unknown; long memories, which change slowly, take in
 * several blocks at once.
 *
 * While nothing moves, not every block is wanted: see apart(). The memory in use shows
 * how fast the link is, so it sees 16 blocks or more at least, as do the longer ones;
 * memories of less than four blocks are not updated. When a block's residual exceeds those before, by
 * two standard deviations of such residuals, every block is wanted at once, and all
 * memories go on from the taps in use. A block with more than twice the residual of those before it
 * weighs by the inverse of that, as for least squares of samples with unequal noise: it may be a burst.
 *
 * Source: exponentially windowed least squares, Haykin, Adaptive Filter Theory, chapter
 * 10; the choice among windows as in Kozat, Singer, "Universal switching linear least
 * squares prediction", IEEE Trans. Signal Process. 56, 2008. */
class tap_bank
{
public:
    /*! \param taps,short_taps odd
     * \param block symbols of a block
     * \param memories in symbols, increasing, each at least `block`
     * \param most_apart blocks from one that is learnt from to the next, at most */
    tap_bank(std::size_t taps,
             std::size_t short_taps,
             bool complex,
             std::size_t block,
             const std::vector<std::size_t>& memories,
             std::size_t most_apart = 1,
             const simd::kernels& kernels = simd::active(),
             std::size_t channels = 1);

    //! Mean squares of a block, where the energy of its sums is not that of what was sent.
    struct measured {
        float
            left; //!< residual of a sample after the taps in use, from the decided waveform
        float scatter; //!< of what was aimed at, around what these put out
    };
    /*! Takes in the sums of the latest of so many blocks.
     * \param known null: both are what the sums leave */
    void learn(const normal_equations& block,
               std::size_t blocks = 1,
               const measured* known = nullptr);
    //! So many blocks further lies the next one that is wanted: a power of two.
    std::size_t apart() const { return d_apart; }
    //! Forgets all: doing nothing is in use.
    void reset();
    //! The same, with other taps for those that do nothing.
    void reset(const aligned_floats& nothing);
    //! Forgets all but these sums, and has these taps in use.
    void start_from(const normal_equations& sums, const float* taps);

    //! A vector of normal_equations: what is in use, and is for the next block.
    const float* taps() const { return d_candidates[d_used].taps.data(); }
    //! Of what is in use, in symbols: 0 of doing nothing.
    std::size_t memory() const;
    //! The phase of vᴴw, in radians, of a complex vector v and the taps in use.
    float phase(const float* v) const;
    //! Rotates the taps by so many radians, as if all samples that were wanted had been rotated.
    void turn(float by);
    //! Mean |z - wᵀx|² over the latest blocks, predicted; NaN before the first one.
    float residual() const;
    //! The same of what was in use in the latest block alone; 0 before the first one.
    float latest_residual() const { return d_latest; }

    void state(archive& members);

private:
    struct memory_sums {
        std::size_t symbols;
        float keep;               // of a block
        std::size_t longest;      // blocks between two updates, once there were many
        normal_equations sums;    // of all blocks but the pending ones
        normal_equations pending; // of those
        std::size_t blocks = 0;   // since the sums were brought up to date
        bool holds = false;       // whether any is pending
        bool rests = false;
    };
    struct candidate {
        enum { nothing, filter, line } kind;
        std::size_t memory;          // of a line, the shorter one's
        std::size_t first, last;     // of the taps
        std::size_t nearer, farther; // candidates that a line goes through
        // Gradients, least_squares': of its memory's sums, of the latest block's.
        aligned_floats taps, gradient, of_block;
        float latest = 0, score = 0;
    };

    bool is_surprising(float before);
    bool rests(const candidate& each) const;
    void score(const normal_equations& block, const measured* known);
    void compare(const normal_equations& block, float scatter);
    void choose();
    void pace(bool has_changed, const normal_equations& block);
    float weight(float before) const;
    void take_in(const normal_equations& block, float weight);
    void wake(std::size_t m, const normal_equations& block);
    float slope(const candidate& line) const;
    void follow(candidate& line) const;
    float dot(const aligned_floats& a, const float* b) const
    {
        return d_kernels->dot(a.data(), b, a.size());
    }

    const simd::kernels* d_kernels;
    std::size_t d_block, d_most_apart;
    std::size_t d_apart = 1;
    std::vector<memory_sums> d_memories;
    std::vector<candidate> d_candidates;
    std::size_t d_used = 0;
    std::size_t d_rival = 1; // the best candidate but doing nothing
    // How much more residual the identity has than the rival, on average over few blocks and over many.
    struct lead {
        float mean = 0;
        float variance = 0; // of a block's
    };
    std::array<lead, 2> d_leads;
    float d_latest = 0;
    // Of measured::left over the latest blocks; below 0: that of the sums.
    float d_measured = -1;
    float d_spread = 0; // mean square of how much more a block left than those before it
    std::size_t d_blocks = 0;    // since the start or a reset
    std::size_t d_scores = 0;    // whose residual was measured
    normal_equations d_weighted; // nothing outlives a call in it
    least_squares d_solver;
};

} // namespace gr::adann::core
