/* -*- c++ -*- */
/*
 * Draws the symbols of a stream that are examined.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/split_mix.h"
#include "core/files/archive.h"
#include "core/simd/kernels.h"

#include <algorithm>

namespace gr::adann::core {

/*! Draws one tile of 128 symbols out of each 512.
 *
 * Every symbol is drawn with a probability of 1/4, independently in each 512, so that
 * periodic disturbances are as frequent in the sample as in the stream, whatever their
 * period. The first tile is the stream's beginning. */
class random_tiles
{
public:
    static constexpr std::size_t every = 512; //!< symbols

    //! The same seed draws the same tiles.
    explicit random_tiles(std::uint64_t seed) : d_seed(seed), d_random(seed) {}

    //! Back to the stream's beginning.
    void reset() { *this = random_tiles(d_seed); }

    /*! Passes the next `symbols` symbols, and calls use(first, count) for each part of a tile
     * among them, in order, with `first` counted from the first of them. */
    template <typename function>
    void pass(std::size_t symbols, function use)
    {
        for (std::size_t done = 0; done < symbols;) {
            const std::size_t n = std::min(symbols - done, every - d_position);
            const std::size_t low = std::max(d_position, d_first);
            const std::size_t high = std::min(d_position + n, d_first + simd::tile);
            if (low < high)
                use(done + low - d_position, high - low);
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
    std::size_t d_first = 0;    // of the tile among them
};

} // namespace gr::adann::core
