/* -*- c++ -*- */
/*
 * Equalization in whole numbers: labels and logits of a quantised network.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/polyphase_tile.h"
#include "core/network/quantization.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

using aligned_words = std::vector<std::int32_t, cache_line_allocator<std::int32_t>>;

//! Runs one quantised network; keeps the buffers, so that only the first call allocates.
class quantized_decider
{
public:
    explicit quantized_decider(const quantized_network& net,
                               const simd::kernels& kernels = simd::active());

    /*! Decides every vector of `view`. Labels and logits are the same on every machine;
     * a NaN counts as 0, what is beyond the samples' range as its end.
     * \param labels view.count values 0 … M-1
     * \param logits view.count × M whole numbers, the sums of the last layer */
    void decide(const feature_view& view, std::uint8_t* labels, std::int32_t* logits);

private:
    struct prepared_layer {
        std::vector<std::int32_t> weights; // words (pairs, outputs)
        std::size_t pairs;
    };

    void load(const feature_view& view);
    void decide_tile(const feature_view& view, std::uint8_t* labels, std::int32_t* out);

    const simd::kernels& d_kernels;
    const quantized_network d_net;
    std::vector<prepared_layer> d_layers;
    std::size_t d_stride = 0;
    std::size_t d_columns = 0;
    std::size_t d_pitch = 0;
    aligned_floats d_phases;
    aligned_words d_samples; // the phases in whole numbers
    aligned_words d_words;   // each of them with the sample behind it
    std::vector<std::uint32_t> d_row;
    std::vector<std::uint32_t> d_dense;
    aligned_words d_values[2]; // the layers' outputs in turn
};

} // namespace gr::adann::core
