/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/network/fast_fir.h"

#include <algorithm>

namespace gr::adann::core {

using simd::tile;
using simd::whole_lanes;

bool windows_pair(std::size_t dimension, std::size_t stride)
{
    return stride > 0 && dimension % stride == 0 && dimension / stride > 1;
}

pair_weights::pair_weights(std::size_t inputs, std::size_t outputs, std::size_t stride)
    : d_stride(stride),
      d_symbol(stride * outputs),
      d_symbols(inputs / stride),
      d_common(d_symbols / 2 * d_symbol),
      d_own{ aligned_floats((d_symbols + 1) / 2 * d_symbol),
             aligned_floats((d_symbols + 1) / 2 * d_symbol) }
{
}

void pair_weights::assign(const float* transposed)
{
    for (std::size_t j = 0; 2 * j < d_symbols; ++j) {
        const float* first = transposed + 2 * j * d_symbol;
        const float* second = first + d_symbol;
        const bool last = 2 * j + 1 == d_symbols;
        std::copy_n(first, d_symbol, &d_own[0][j * d_symbol]);
        std::copy_n(last ? first : second, d_symbol, &d_own[1][j * d_symbol]);
        for (std::size_t i = 0; i < d_symbol && !last; ++i)
            d_common[j * d_symbol + i] = first[i] + second[i];
    }
}

pair_features::pair_features(const simd::kernels& kernels, std::size_t dimension)
    : d_kernels(kernels), d_dimension(dimension)
{
}

void pair_features::arrange(std::size_t stride, bool starts_odd)
{
    d_stride = stride;
    d_starts_odd = starts_odd;
    d_pairs = d_dimension / stride / 2;
    d_pitch = whole_lanes(tile + d_pairs);
    const std::size_t block = stride * d_pitch;
    d_samples.resize(4 * block);
    // In the first block lies every other symbol, from the view's first on. What becomes
    // of E_0 in a view that starts with O_0 is not to be used: any sample will do.
    d_even = starts_odd ? block - 1 : 0;
    d_odd = starts_odd ? 0 : block;
    const std::size_t paired = d_pairs * stride;
    d_common_row.resize(paired);
    for (auto& row : d_own_row)
        row.resize(d_dimension - paired);
    for (std::size_t k = 0; k < d_dimension - paired; ++k) {
        const auto from = [&](std::size_t start) {
            return static_cast<std::uint32_t>(start + k % stride * d_pitch + k / stride);
        };
        if (k < paired)
            d_common_row[k] = from(d_odd);
        d_own_row[0][k] = from(k < paired ? 2 * block : d_even);
        d_own_row[1][k] = from(k < paired ? 3 * block : d_odd);
    }
}

void pair_features::load(const feature_view& view, bool starts_odd)
{
    if (view.stride != d_stride || starts_odd != d_starts_odd)
        arrange(view.stride, starts_odd);
    d_kernels.split(view.data,
                    view.floats(),
                    2 * d_stride,
                    (view.count + starts_odd + 1) / 2 + d_pairs,
                    d_samples.data(),
                    d_pitch);
    const std::size_t block = d_stride * d_pitch;
    d_kernels.differences(&d_samples[d_even],
                          &d_samples[d_odd],
                          block,
                          &d_samples[2 * block],
                          &d_samples[3 * block]);
}

} // namespace gr::adann::core
