/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/noise.h"

#include "core/common/split_mix.h"

#include <algorithm>

namespace gr::adann::core {

gaussian_noise::gaussian_noise(std::uint64_t seed, const simd::kernels& kernels)
    : d_kernels(kernels)
{
    this->seed(seed);
}

void gaussian_noise::seed(std::uint64_t seed)
{
    for (auto& words : d_state.words)
        for (auto& word : words)
            word = static_cast<std::uint32_t>(split_mix(seed) >> 32);
}

void gaussian_noise::fill(float* out, std::size_t n)
{
    const std::size_t whole = n / simd::tile * simd::tile;
    add(nullptr, nullptr, whole / simd::tile, 1.0f, out);
    if (whole < n) {
        float last[simd::tile];
        add(nullptr, nullptr, 1, 1.0f, last);
        std::copy_n(last, n - whole, out + whole);
    }
}

} // namespace gr::adann::core
