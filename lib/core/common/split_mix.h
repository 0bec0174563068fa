/* -*- c++ -*- */
/*
 * The generator SplitMix64: spreads one seed over many words.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstdint>

namespace gr::adann::core {

//! The next 64 random bits; `state` is the seed at first (Steele, Lea and Flood, 2014).
inline std::uint64_t split_mix(std::uint64_t& state)
{
    std::uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

} // namespace gr::adann::core
