/* -*- c++ -*- */
/*
 * The features of a tile of symbols, as the kernels read them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"
#include "core/signal/windows.h"
#include "core/simd/kernels.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

//! Rows of a tile that lie anywhere after `data`: row i starts at data[row[i]].
struct tile_rows {
    const float* data;
    const std::uint32_t* row;
};

//! Rows one after the other: 0, tile, 2·tile, …
std::vector<std::uint32_t> dense_rows(std::size_t count);

//! Up to `tile` feature vectors of a stream, sorted by phase instead of copied.
class tile_features
{
public:
    tile_features(const simd::kernels& kernels, std::size_t dimension);

    /*! Allocates if the view's stride is another one than the last view's, and only then.
     * \param view 1 to tile vectors of the dimension given at construction */
    void load(const feature_view& view);
    tile_rows rows() const { return { d_phases.data(), d_row.data() }; }

private:
    const simd::kernels& d_kernels;
    std::size_t d_stride = 0;
    std::size_t d_columns = 0;
    std::size_t d_pitch = 0;
    aligned_floats d_phases;
    std::vector<std::uint32_t> d_row;
};

} // namespace gr::adann::core
