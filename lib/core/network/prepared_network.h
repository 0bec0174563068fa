/* -*- c++ -*- */
/*
 * A network's parameters in the order in which the kernels read them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"
#include "core/network/fast_fir.h"
#include "core/network/network.h"
#include "core/network/quantized_decider.h"
#include "core/simd/kernels.h"

#include <optional>
#include <vector>

namespace gr::adann::core {

//! A network's parameters as the kernels read them.
class prepared_network
{
public:
    /*! \param stride of the windows that pairs() is for
     * \param formats null, or those by which it decides in whole numbers
     * \throws std::invalid_argument as quantized_network */
    explicit prepared_network(const network& net,
                              std::size_t stride = 0,
                              const quantization* formats = nullptr);

    //! Takes the parameters of a network of the same shape; allocates nothing.
    void assign(const network& net);

    const std::vector<network::layer>& layers() const { return d_layers; }
    const float* weights(std::size_t k) const
    {
        return &d_parameters[d_layers[k].weights];
    }
    const float* biases(std::size_t k) const { return &d_parameters[d_layers[k].biases]; }
    //! Wᵀ (inputs, outputs) of layer k.
    const float* transposed(std::size_t k) const
    {
        return &d_transposed[d_layers[k].weights];
    }
    //! Layer 0 on pairs of windows, or null if windows of that stride do not pair.
    const pair_weights* pairs() const { return d_pairs ? &*d_pairs : nullptr; }
    //! The network in whole numbers, or null if it decides in float.
    const prepared_quantized* quantized() const
    {
        return d_quantized ? &*d_quantized : nullptr;
    }
    //! Whether simd::narrow_kernel can run it.
    bool is_narrow() const;

private:
    std::vector<network::layer> d_layers;
    aligned_floats d_parameters;
    aligned_floats d_transposed;
    std::optional<pair_weights> d_pairs;
    std::optional<prepared_quantized> d_quantized;
};

//! The activation function after layer k.
simd::activation activation_after(std::size_t k, const prepared_network& net);

} // namespace gr::adann::core
