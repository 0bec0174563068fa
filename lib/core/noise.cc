/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/noise.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

// Spreads one seed over many words (Steele, Lea and Flood, 2014).
std::uint64_t split_mix(std::uint64_t& state)
{
    std::uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

std::uint32_t rotate_left(std::uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

} // namespace

gaussian_noise::gaussian_noise(std::uint64_t seed)
{
    for (auto& words : d_state)
        for (auto& word : words)
            word = static_cast<std::uint32_t>(split_mix(seed) >> 32);
}

void gaussian_noise::draw_pairs(float* first, float* second)
{
    std::uint32_t random[2][lanes];
    auto& [s0, s1, s2, s3] = d_state;
    for (auto& words : random)
        for (std::size_t l = 0; l < lanes; ++l) {
            words[l] = rotate_left(s0[l] + s3[l], 7) + s0[l];
            const std::uint32_t t = s1[l] << 9;
            s2[l] ^= s0[l];
            s3[l] ^= s1[l];
            s1[l] ^= s2[l];
            s0[l] ^= s3[l];
            s2[l] ^= t;
            s3[l] = rotate_left(s3[l], 11);
        }
    constexpr double scale = 1.0 / 4294967296.0;
    for (std::size_t l = 0; l < lanes; ++l) {
        const float uniform = static_cast<float>((random[0][l] + 0.5) * scale);
        const float angle = static_cast<float>(2.0 * M_PI * scale * random[1][l]);
        const float radius = std::sqrt(-2.0f * std::log(uniform));
        first[l] = radius * std::cos(angle);
        second[l] = radius * std::sin(angle);
    }
}

void gaussian_noise::fill(float* out, std::size_t n)
{
    float pair[2 * lanes];
    for (; n >= 2 * lanes; out += 2 * lanes, n -= 2 * lanes)
        draw_pairs(out, out + lanes);
    if (n) {
        draw_pairs(pair, pair + lanes);
        std::copy_n(pair, n, out);
    }
}

} // namespace gr::adann::core
