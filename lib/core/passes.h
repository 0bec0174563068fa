/* -*- c++ -*- */
/*
 * The network on one tile of symbols: features in, logits out, and the way back.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/aligned.h"
#include "core/network.h"
#include "core/tile_features.h"
#include "core/window_pairs.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gr::adann::core {

//! A network's parameters as the kernels read them.
class prepared_network
{
public:
    //! \param stride of the windows that pairs() is wanted for
    explicit prepared_network(const network& net, std::size_t stride = 0);

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
    //! Whether simd::narrow_kernel is for it.
    bool is_narrow() const;

private:
    std::vector<network::layer> d_layers;
    aligned_floats d_parameters;
    aligned_floats d_transposed;
    std::optional<pair_weights> d_pairs;
};

//! What becomes of layer k's sums.
simd::activation activation_behind(std::size_t k, const prepared_network& net);

//! What a forward pass leaves behind.
struct pass {
    explicit pass(const network& shape);
    const float* logits() const { return outputs.back().data(); }

    std::vector<aligned_floats> outputs; //!< of each layer; the last one's are the logits
    aligned_floats posteriors;
};

//! The sum of simd::lanes partial sums.
float sum_of_lanes(const float* partial);

//! Eqs. (1) and (2), and Algorithm 3, on a tile.
class passes
{
public:
    passes(const simd::kernels& kernels, const network& shape);

    //! x through all layers, and softmax.
    void forward(const prepared_network& net, tile_rows x, pass& result) const;

    //! The same from the first layer's sums, rows: what it has before its ReLU.
    void forward_from_first(const prepared_network& net,
                            const float* first,
                            pass& result) const;

    /*! The same where those sums are first + Aᵀm.
     * \param matrix A (count, outputs of the first layer)
     * \param m dense rows, `count` of them */
    void forward_from_shift(const prepared_network& net,
                            const float* first,
                            const float* matrix,
                            std::size_t count,
                            const float* m,
                            pass& result) const;

    /*! Back-propagation of `error`, rows of dLoss/dlogits, which becomes that of the
     * first layer's sums. \param parameter_sums if not null, (parameters, lanes): partial
     * sums of their gradient are added, but for the first layer's weights */
    void backward(const prepared_network& net,
                  const pass& passed,
                  aligned_floats& error,
                  float* parameter_sums);

    //! Dense rows, enough for the widest layer and the features.
    const std::uint32_t* dense() const { return d_dense.data(); }

private:
    void forward_rest(const prepared_network& net, pass& result) const;

    const simd::kernels& d_kernels;
    std::vector<std::uint32_t> d_dense;
    aligned_floats d_scratch;
};

} // namespace gr::adann::core
