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

namespace gr::adann::core {

/*! A signal's largest sample in each 64 is nearly always the same, so an impulse is what exceeds 1.5 times the
 * median of these over the latest 16 blocks. Of complex Gaussian noise, which has no largest sample, one in
 * 25,000 does, and of real noise one in 7500. What a signal without noise may have is none, so that a
 * burst begins as it was sent. Where four samples of a block exceed it, the level has risen: what follows is
 * none, and the median is that block's.
 *
 * Most blocks have to be without an impulse: fewer than one sample in 90 may be one, by calculation.
 *
 * Source: the blanking nonlinearity, Zhidkov, "Analysis and comparison of several simple impulsive noise
 * mitigation schemes for OFDM receivers", IEEE Trans. Commun. 56, 2008; its threshold is measured here. */
class impulse_detector
{
public:
    static constexpr std::size_t block = 64; //!< samples

    //! \param peak power of the largest sample that the signal without noise has, if that is known
    explicit impulse_detector(float peak = 0);

    //! Whether the next sample, of this power, is one.
    bool take(float power)
    {
        d_largest_here = std::max(d_largest_here, power); // not of what is no number
        const bool exceeds = power > d_limit;
        if (exceeds)
            count_impulse();
        if (++d_count == block)
            end_block();
        return exceeds;
    }
    void reset();
    void state(archive& members);

private:
    static constexpr std::size_t blocks = 16;

    void count_impulse();
    void end_block();
    float limit() const;

    float d_least;
    std::array<float, blocks> d_largest{}; // power of a block's largest sample, in turn
    std::size_t d_seen = 0;                // blocks, up to `blocks`
    std::size_t d_next = 0;                // the next one's place
    std::size_t d_count = 0;               // samples of the present block
    float d_largest_here = 0;              // power, of these
    std::size_t d_impulses = 0;            // of these
    float d_limit;                         // of a sample's power
};

} // namespace gr::adann::core
