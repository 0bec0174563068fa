/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/network/forward_backward.h"

#include <algorithm>

namespace gr::adann::core {

using simd::activation;
using simd::lanes;
using simd::tile;

pass::pass(const network& shape) : posteriors(shape.outputs() * tile)
{
    for (const auto& layer : shape.layers())
        outputs.emplace_back(layer.outputs * tile);
}

// By halves: short chains of additions, which the compiler puts into vectors.
float sum_of_lanes(const float* partial)
{
    float sum[lanes];
    std::copy_n(partial, lanes, sum);
    for (std::size_t half = lanes / 2; half; half /= 2)
        for (std::size_t l = 0; l < half; ++l)
            sum[l] += sum[l + half];
    return sum[0];
}

passes::passes(const simd::kernels& kernels, const network& shape)
    : d_kernels(kernels),
      d_dense(dense_rows(std::max(shape.inputs(), shape.widest_layer()))),
      d_scratch(shape.widest_layer() * tile)
{
}

void passes::forward(const prepared_network& net, tile_rows x, pass& result) const
{
    d_kernels.affine(net.transposed(0),
                     net.biases(0),
                     nullptr,
                     net.layers()[0].inputs,
                     net.layers()[0].outputs,
                     x.data,
                     x.row,
                     activation_after(0, net),
                     nullptr,
                     result.outputs[0].data());
    forward_rest(net, result);
}

void passes::forward_from_first(const prepared_network& net,
                                const float* first,
                                pass& result) const
{
    if (activation_after(0, net) == activation::relu)
        d_kernels.rectify(first, net.layers()[0].outputs, result.outputs[0].data());
    else
        std::copy_n(first, result.outputs[0].size(), result.outputs[0].data());
    forward_rest(net, result);
}

void passes::forward_from_shift(const prepared_network& net,
                                const float* first,
                                const float* matrix,
                                std::size_t count,
                                const float* m,
                                pass& result) const
{
    d_kernels.affine(matrix,
                     nullptr,
                     first,
                     count,
                     net.layers()[0].outputs,
                     m,
                     dense(),
                     activation_after(0, net),
                     nullptr,
                     result.outputs[0].data());
    forward_rest(net, result);
}

// All but the first layer.
void passes::forward_rest(const prepared_network& net, pass& result) const
{
    const auto& layers = net.layers();
    for (std::size_t k = 1; k < layers.size(); ++k)
        d_kernels.affine(net.transposed(k),
                         net.biases(k),
                         nullptr,
                         layers[k].inputs,
                         layers[k].outputs,
                         result.outputs[k - 1].data(),
                         dense(),
                         activation_after(k, net),
                         nullptr,
                         result.outputs[k].data());
    d_kernels.softmax(result.logits(), layers.back().outputs, result.posteriors.data());
}

void passes::backward(const prepared_network& net,
                      const pass& passed,
                      aligned_floats& error,
                      float* parameter_sums)
{
    for (std::size_t k = net.layers().size() - 1;; --k) {
        const auto& layer = net.layers()[k];
        if (parameter_sums)
            d_kernels.row_sums(
                error.data(), layer.outputs, parameter_sums + layer.biases * lanes);
        if (k == 0)
            break;
        const float* in = passed.outputs[k - 1].data();
        if (parameter_sums)
            d_kernels.outer(error.data(),
                            layer.outputs,
                            in,
                            dense(),
                            layer.inputs,
                            parameter_sums + layer.weights * lanes);
        d_kernels.affine(net.weights(k),
                         nullptr,
                         nullptr,
                         layer.outputs,
                         layer.inputs,
                         error.data(),
                         dense(),
                         activation::masked,
                         in,
                         d_scratch.data());
        std::swap(error, d_scratch);
    }
}

} // namespace gr::adann::core
