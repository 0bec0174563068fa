/* -*- c++ -*- */
/*
 * The network on one tile of symbols: features in, logits out, and the way back.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/aligned.h"
#include "core/features.h"
#include "core/network.h"
#include "core/simd/kernels.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

//! A network's parameters as the kernels read them.
class prepared_network
{
public:
    explicit prepared_network(const network& net);

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

private:
    std::vector<network::layer> d_layers;
    aligned_floats d_parameters;
    aligned_floats d_transposed;
};

//! Rows of a tile that lie anywhere behind `data`: row i starts at data[row[i]].
struct tile_rows {
    const float* data;
    const std::uint32_t* row;
};

//! Rows one behind the other: 0, tile, 2·tile, …
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
