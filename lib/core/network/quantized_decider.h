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

//! A quantised network as the kernels read it.
class prepared_quantized
{
public:
    explicit prepared_quantized(const quantized_network& net,
                                const simd::kernels& kernels = simd::active());

    //! As quantized_network::assign(): allocates nothing.
    void assign(const network& net);

    const quantized_network& net() const { return d_net; }
    const simd::word_kernels& words() const { return d_words; }
    simd::integer_layer layer(std::size_t k) const;

private:
    struct words_of_layer {
        std::vector<std::int32_t> weights; // (groups, outputs)
        std::vector<std::int32_t> biases;
        std::vector<std::int32_t> shifts;
    };

    void pack();

    simd::word_kernels d_words;
    quantized_network d_net;
    std::vector<words_of_layer> d_layers;
};

//! Runs quantised networks; keeps the buffers, so that only the first call allocates.
class quantized_decider
{
public:
    explicit quantized_decider(const simd::kernels& kernels = simd::active());

    /*! Decides every vector of `view`. Labels and logits are the same on every machine;
     * a NaN counts as 0, what is beyond the samples' range as its end.
     * \param net prepared for this decider's kernels
     * \param labels view.count values 0 … M-1
     * \param logits null, or view.count × M whole numbers, the sums of the last layer
     * \param posteriors null, or view.count × M floats, their softmax */
    void decide(const prepared_quantized& net,
                const feature_view& view,
                std::uint8_t* labels,
                std::int32_t* logits = nullptr,
                float* posteriors = nullptr);

private:
    void reserve(const prepared_quantized& net, std::size_t stride);
    void load(const prepared_quantized& net, const feature_view& view);
    const std::int32_t* logits_of_tile(const prepared_quantized& net,
                                       const feature_view& view);

    const simd::kernels& d_kernels;
    std::size_t d_stride = 0;
    std::size_t d_columns = 0;
    std::size_t d_pitch = 0;
    std::vector<std::size_t> d_phases; // where their words begin, of `stride` values
    aligned_words d_samples;           // in whole numbers, one after the other
    aligned_words d_inputs;            // words of the phases in turn
    std::vector<std::uint32_t> d_row;
    std::vector<std::uint32_t> d_dense;
    aligned_words d_values[2]; // the layers' outputs in turn
    aligned_floats d_logits;
    aligned_floats d_posteriors;
};

} // namespace gr::adann::core
