/* -*- c++ -*- */
/*
 * Equalization: labels and posteriors from feature vectors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/passes.h"

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
     * decision only: it gets any label, and posteriors that are finite. \param net a
     * network of the shape given at construction \param labels view.count values 0 … M-1
     * \param posteriors null, or view.count × M floats */
    void decide(const prepared_network& net,
                const feature_view& view,
                std::uint8_t* labels,
                float* posteriors = nullptr);

private:
    const float* logits(const prepared_network& net);

    const simd::kernels& d_kernels;
    tile_features d_features;
    std::vector<std::uint32_t> d_dense;
    aligned_floats d_hidden[2]; // the layers' outputs in turn
    aligned_floats d_posteriors;
};

} // namespace gr::adann::core
