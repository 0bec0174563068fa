/* -*- c++ -*- */
/*
 * Adaptive filters with several forgetting time constants in parallel, and which of them is in use.
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

/*! Taps by exponentially windowed least squares, for several forgetting time constants at once.
 *
 * A time constant of m symbols weights a symbol k symbols ago with e^(-k / m). The taps are
 * regularised towards the identity, as if some symbols had been received undistorted, so
 * directions that the signal hardly excites stay unchanged. Short time constants also have
 * taps of a second, shorter length, which follow with less noise. Two neighbouring time
 * constants lag by different amounts; the linear extrapolation of their taps to the present is
 * a candidate as well. The candidate in use is the one that predicted each block best before
 * it learnt from it, averaged over about five blocks. The identity is in use until other taps
 * are significantly better.
 *
 * The least squares are solved by conjugate gradients from the previous taps, until a step
 * gains less than the noise of one unknown. Long time constants, whose taps change slowly, are
 * updated with several blocks at once.
 *
 * On a static link not every block is used: see apart(). The time constant in use shows how fast
 * the link changes: blocks are chosen so that it, and the longer ones, span at least 16 of them.
 * Time constants of less than four such blocks are not updated. When a block's residual exceeds
 * the mean by two standard deviations, every block is used again, and the time constants that
 * were not updated start from the taps in use. One or two blocks with more than four times the mean residual may be a
 * pulse of interference: the excess over that weights them down, as in weighted least squares, for the taps and for the
 * choice of a candidate.
 *
 * Source: exponentially windowed least squares, Haykin, Adaptive Filter Theory, chapter
 * 10; the choice among windows as in Kozat, Singer, "Universal switching linear least
 * squares prediction", IEEE Trans. Signal Process. 56, 2008. */
class tap_bank
{
public:
    /*! \param taps,short_taps odd
     * \param block symbols of a block
     * \param memories time constants in symbols, increasing, each at least `block`
     * \param most_apart largest interval of the blocks that are learnt from */
    tap_bank(std::size_t taps,
             std::size_t short_taps,
             bool complex,
             std::size_t block,
             const std::vector<std::size_t>& memories,
             std::size_t most_apart = 1,
             const simd::kernels& kernels = simd::active(),
             std::size_t channels = 1);

    //! Mean squares of a block whose target is not the decided waveform.
    struct measured {
        float residual; //!< residual of the filtered samples from the decided waveform
        float scatter;  //!< of the target around the filtered samples
    };
    /*! Learns from the sums of the latest of so many blocks.
     * \param known null: both are the residual of the sums
     * \param determined whether the labels determine taps. Of others, as of an idle word, nothing is learnt as long as
     * the residual is as usual: any taps that pass that word would do */
    void learn(const normal_equations& block,
               std::size_t blocks = 1,
               const measured* known = nullptr,
               bool determined = true);
    //! Blocks until the next one that is learnt from: a power of two.
    std::size_t apart() const { return d_apart; }
    //! Forgets all: the identity is in use.
    void reset();
    //! The same, with other taps in the identity's place.
    void reset(const aligned_floats& nothing);
    //! Starts from these sums and taps.
    void start_from(const normal_equations& sums, const float* taps);
    /*! Starts from taps that these sums of so many symbols have as their solution.
     * \param learnt symbols that the taps were learnt from: the sums count as so many, or the time constant */
    void resume(const normal_equations& sums,
                const float* taps,
                std::size_t symbols,
                std::size_t learnt);

    //! The taps in use, a vector of normal_equations.
    const float* taps() const { return d_candidates[d_used].taps.data(); }
    //! Time constant of the taps in use, symbols; 0: the identity.
    std::size_t memory() const;
    //! That of the best taps other than the identity, but at most the symbols that these have learnt from: the
    //! longer, the slower the link changes.
    std::size_t time_constant() const
    {
        return std::min(d_memories[d_candidates[d_rival].memory].symbols,
                        d_blocks * d_block);
    }
    //! The phase of vᴴw, in radians, of a complex vector v and the taps w in use.
    float phase(const float* v) const;
    //! Rotates the taps by so many radians, and the targets in the sums with them.
    void turn(float by);
    //! Mean predicted |z - wᵀx|² over the latest blocks; NaN before the first one.
    float residual() const;
    //! The same over the latest block alone, of the taps then in use; 0 before the first one.
    float latest_residual() const { return d_latest; }

    void state(archive& members);

private:
    struct memory_sums {
        std::size_t symbols;      // time constant
        float keep;               // exp(-block / symbols)
        std::size_t longest;      // largest interval of updates, blocks
        normal_equations sums;    // without the pending blocks
        normal_equations pending; // sums of the blocks since the latest update
        std::size_t blocks = 0;   // since the latest update
        bool holds = false;       // whether any block is pending
        bool rests = false;       // whether it is not updated
    };
    struct candidate {
        enum { nothing, filter, line } kind;
        std::size_t memory;          // index in d_memories; of a line, the shorter one's
        std::size_t first, last;     // range of the taps
        std::size_t nearer, farther; // the candidates that a line extrapolates
        // least_squares::find_gradient() of the sums of its memory, and of the latest block.
        aligned_floats taps, gradient, of_block;
        float latest = 0, score = 0; // residual in the latest block, and its average
    };

    bool is_surprising(float before);
    bool rests(const candidate& each) const;
    void predict(const normal_equations& block, const measured* known);
    void score(float counts);
    void compare(const normal_equations& block, float scatter, float counts);
    void choose();
    void pace(bool has_changed, const normal_equations& block);
    float weight(float before);
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
    std::size_t d_rival = 1; // the best candidate except the identity
    // Residual of the identity less that of the rival, averaged over few blocks and over many.
    struct lead {
        float mean = 0;
        float variance = 0; // of one block's
    };
    std::array<lead, 2> d_leads;
    float d_latest = 0; // see latest_residual()
    // Mean of measured::residual over the latest blocks; below 0: the score is used.
    float d_measured = -1;
    std::size_t d_far =
        0; // latest blocks with a far larger residual, up to those of a pulse
    float d_spread = 0; // mean square relative excess of a block's residual over the mean
    std::size_t d_blocks = 0;    // since the start or a reset
    std::size_t d_scores = 0;    // blocks that were learnt from
    normal_equations d_weighted; // scratch: the weighted block
    least_squares d_solver;
};

} // namespace gr::adann::core
