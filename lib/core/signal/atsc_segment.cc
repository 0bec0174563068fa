/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/atsc_segment.h"

#include <algorithm>

namespace gr::adann::core {

namespace {

// A shift register in Galois' form, whose lowest stage comes out: bit k of `feedback` is the
// coefficient of x^(degree - k).
template <std::size_t length>
std::array<float, length> sequence(unsigned feedback, unsigned state)
{
    std::array<float, length> levels;
    for (float& level : levels) {
        const unsigned bit = state & 1;
        level = bit ? 5 : -5;
        state = (state ^ (bit ? feedback : 0)) >> 1;
    }
    return levels;
}

} // namespace

std::array<float, atsc::field_sync> field_sync_levels(segment_kind field)
{
    // Generators x^9 + x^7 + x^6 + x^4 + x^3 + x + 1 and x^6 + x + 1.
    const auto pn511 = sequence<511>(0b1101101101, 0b010000000);
    const auto pn63 = sequence<63>(0b1100001, 0b000111);
    std::array<float, atsc::field_sync> levels{ 5, -5, -5, 5 };
    auto next =
        std::copy(pn511.begin(), pn511.end(), levels.begin() + atsc::segment_sync);
    for (const bool middle : { false, true, false })
        for (const float level : pn63)
            *next++ = middle && field == segment_kind::field2 ? -level : level;
    return levels;
}

} // namespace gr::adann::core
