/* -*- c++ -*- */
/*
 * Which symbols of an endless stream are looked at.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/split_mix.h"
#include "core/files/archive.h"
#include "core/simd/kernels.h"

#include <algorithm>

namespace gr::adann::core {

/*! Of each 512 symbols one tile of 128, drawn anew each time.
 *
 * Every symbol is looked at with a probability of 1/4, whatever happened to others: what
 * comes again and again, with any period, is among those that are looked at as often as
 * among all. The first tile is the stream's beginning. */
class random_looks
{
public:
    static constexpr std::size_t every = 512; //!< symbols

    //! The same seed draws the same tiles.
    explicit random_looks(std::uint64_t seed) : d_seed(seed), d_random(seed) {}

    //! Back to the stream's beginning.
    void reset() { *this = random_looks(d_seed); }

    /*! Goes on by `symbols` symbols, and calls look(first, count) for each part of a tile
     * among them, in order, `first` counted from the first of them. */
    template <typename function>
    void pass(std::size_t symbols, function look)
    {
        for (std::size_t done = 0; done < symbols;) {
            const std::size_t n = std::min(symbols - done, every - d_position);
            const std::size_t low = std::max(d_position, d_first);
            const std::size_t high = std::min(d_position + n, d_first + simd::tile);
            if (low < high)
                look(done + low - d_position, high - low);
            done += n;
            d_position += n;
            if (d_position == every) {
                d_position = 0;
                d_first = split_mix(d_random) % (every / simd::tile) * simd::tile;
            }
        }
    }

    void state(archive& members)
    {
        members("random", d_random);
        members("position", d_position);
        members("first", d_first);
        if (d_position >= every || d_first > every - simd::tile)
            members.refuse("position", "is beyond 512 symbols");
    }

private:
    std::uint64_t d_seed, d_random;
    std::size_t d_position = 0; // in the present 512 symbols
    std::size_t d_first = 0;    // of their tile
};

} // namespace gr::adann::core
