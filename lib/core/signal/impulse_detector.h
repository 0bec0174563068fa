/* -*- c++ -*- */
/*
 * Which samples are impulses of noise.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! The largest sample of a signal in each block of 16 symbols, at least 32 samples, is nearly constant.
 * So an impulse is a sample that exceeds 1.5 times the median of these over the latest 16 blocks. At 4
 * samples a symbol, one sample in 25,000 of complex Gaussian noise does so by chance, and one in 7500 of
 * real noise. Samples that the signal without noise may have are no impulses, so that the start of a
 * burst is kept. If four samples of a block, or as many as a symbol has, exceed the limit, the level has
 * risen: they are no impulses, and the median starts over from that block.
 *
 * Most blocks have to be without an impulse: from two samples a symbol on there may be one in 23 symbols,
 * by calculation.
 *
 * Source: the blanking nonlinearity, Zhidkov, "Analysis and comparison of several simple
 * impulsive noise mitigation schemes for OFDM receivers", IEEE Trans. Commun. 56, 2008; its
 * threshold is measured here. */
class impulse_detector
{
public:
    static constexpr std::size_t blocks = 16; //!< that the median is of

    //! \param peak power of the largest sample that the signal without noise has, if that is known
    explicit impulse_detector(std::size_t sps, float peak = 0);

    //! Samples of a block.
    static std::size_t block(std::size_t sps)
    {
        return std::max<std::size_t>(16 * sps, 32);
    }

    /*! Sets those of the next n samples that are impulses to zero.
     * \param im null of real samples */
    void blank(float* re, float* im, std::size_t n);
    //! Whether the next sample, of this power, is one.
    bool take(float power)
    {
        d_largest_here = std::max(d_largest_here, power); // ignores NaN
        const bool exceeds = power > d_least && power > limit();
        d_impulses += exceeds;
        if (++d_count == d_block)
            end_block();
        return exceeds;
    }
    void reset();
    void state(archive& members);

private:
    void end_block();
    float limit() const; // power above which a sample of this block is an impulse

    std::size_t d_block;                   // samples
    std::size_t d_level;                   // samples of a block: so many are no impulses
    float d_least;                         // power up to which a sample is none
    std::array<float, blocks> d_largest{}; // power of each block's largest sample, cyclic
    std::size_t d_seen = 0;                // blocks, up to `blocks`
    std::size_t d_next = 0;                // index in d_largest that is written next
    std::size_t d_count = 0;               // samples of the present block
    float d_largest_here = 0;              // power of its largest sample
    std::size_t d_impulses = 0;            // impulses in it
};

/*! Sets the impulses of a record to zero. Unlike in a stream, the 16 blocks of a median come before
 * and after a sample: impulses at the beginning are found too, and noise bursts of up to 7 blocks.
 * The last blocks, fewer than 16, are tested with those before them. A shorter record has none.
 * \param samples (n, floats): 1 float each, or 2
 * \param sps samples a symbol
 * \returns their indices, in order */
std::vector<std::size_t>
blank_impulses(float* samples, std::size_t n, std::size_t floats, std::size_t sps);

} // namespace gr::adann::core
