/* -*- c++ -*- */
/*
 * Equalization: labels and posteriors from feature vectors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/polyphase_tile.h"
#include "core/network/prepared_network.h"

#include <cstdint>

namespace gr::adann::core {

//! Runs networks of one shape; keeps the buffers, so that only the first call allocates.
class decider
{
public:
    explicit decider(const network& shape, const simd::kernels& kernels = simd::active());

    /*! Decides every vector of `view`.
     *
     * A vector that holds a NaN or an infinity, or overflows on its way, costs its own
     * decision only: it gets any label, and posteriors that are finite.
     * \param net a network of the shape given at construction. It decides in whole numbers if
     * it was prepared so; else in pairs of windows if it was prepared for their stride
     * \param labels view.count values 0 … M-1
     * \param posteriors null, or view.count × M floats
     * \param position of the first vector in what is decided in several calls: the result
     * is the same to the bit, however that is cut */
    void decide(const prepared_network& net,
                const feature_view& view,
                std::uint8_t* labels,
                float* posteriors = nullptr,
                std::size_t position = 0);

private:
    using labels_of_pairs = std::uint8_t[2][simd::tile]; // the even ones, the odd ones

    void decide_tile(const prepared_network& net,
                     const feature_view& view,
                     std::uint8_t* labels,
                     float* posteriors);
    void decide_pairs(const prepared_network& net,
                      const feature_view& view,
                      bool starts_odd,
                      std::uint8_t* labels,
                      float* posteriors);
    void narrow(const prepared_network& net,
                std::size_t columns,
                bool with_logits,
                labels_of_pairs& labels);
    void sum(const prepared_network& net,
             const simd::weighted_rows& rows,
             const float* biases,
             const float* start,
             simd::activation then,
             aligned_floats& y) const;
    const float* rest(const prepared_network& net);
    void write_posteriors(const float* logits,
                          std::size_t t,
                          std::size_t i,
                          std::size_t step,
                          std::size_t count,
                          float* out);

    const simd::kernels& d_kernels;
    const std::size_t d_classes;
    quantized_decider d_quantized;
    tile_features d_features;
    pair_features d_pairs;
    std::vector<std::uint32_t> d_dense;
    std::vector<simd::dense_layer> d_rest; // the layers after the first one
    aligned_floats d_common;               // the sum of a pair
    aligned_floats d_hidden[2];            // the layers' outputs in turn
    aligned_floats d_posteriors;
};

//! A network, and what runs it.
struct network_decider {
    decider& runs;
    const prepared_network& net;

    //! decider::decide() without posteriors.
    void operator()(const feature_view& view,
                    std::uint8_t* labels,
                    std::size_t position = 0) const
    {
        runs.decide(net, view, labels, nullptr, position);
    }
};

} // namespace gr::adann::core
