/* -*- c++ -*- */
/*
 * Forward pass and back-propagation of a network on one tile of symbols.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"
#include "core/network/polyphase_tile.h"
#include "core/network/prepared_network.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

//! What a forward pass keeps for the backward pass.
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
     * first layer's sums.
     * \param parameter_sums if not null, (parameters, lanes): partial sums of their
     * gradient are added, but for the first layer's weights */
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
