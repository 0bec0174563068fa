/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/network/polyphase_tile.h"

namespace gr::adann::core {

using simd::tile;
using simd::whole_lanes;

std::vector<std::uint32_t> dense_rows(std::size_t count)
{
    std::vector<std::uint32_t> row(count);
    for (std::size_t i = 0; i < count; ++i)
        row[i] = static_cast<std::uint32_t>(i * tile);
    return row;
}

tile_features::tile_features(const simd::kernels& kernels, std::size_t dimension)
    : d_kernels(kernels), d_row(dimension)
{
}

void tile_features::load(const feature_view& view)
{
    if (view.stride != d_stride) {
        const std::size_t columns = tile + (d_row.size() - 1) / view.stride;
        d_phases.resize(view.stride *
                        whole_lanes(columns)); // first: it may find no memory
        d_stride = view.stride;
        d_columns = columns;
        d_pitch = whole_lanes(columns);
        for (std::size_t k = 0; k < d_row.size(); ++k)
            d_row[k] = static_cast<std::uint32_t>(k % d_stride * d_pitch + k / d_stride);
    }
    d_kernels.split(
        view.data, view.floats(), d_stride, d_columns, d_phases.data(), d_pitch);
}

} // namespace gr::adann::core
