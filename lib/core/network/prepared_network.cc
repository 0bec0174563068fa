/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/network/prepared_network.h"

#include <algorithm>

namespace gr::adann::core {

prepared_network::prepared_network(const network& net,
                                   std::size_t stride,
                                   const quantization* formats)
    : d_layers(net.layers()),
      d_parameters(net.parameters().size()),
      d_transposed(net.parameters().size())
{
    if (formats)
        d_quantized.emplace(quantized_network(net, *formats));
    if (windows_pair(net.inputs(), stride))
        d_pairs.emplace(net.inputs(), net.layers().front().outputs, stride);
    assign(net);
}

void prepared_network::assign(const network& net)
{
    if (d_quantized)
        d_quantized->assign(net);
    std::copy(net.parameters().begin(), net.parameters().end(), d_parameters.begin());
    for (const auto& layer : d_layers)
        for (std::size_t o = 0; o < layer.outputs; ++o)
            for (std::size_t i = 0; i < layer.inputs; ++i)
                d_transposed[layer.weights + i * layer.outputs + o] =
                    d_parameters[layer.weights + o * layer.inputs + i];
    if (d_pairs)
        d_pairs->assign(transposed(0));
}

bool prepared_network::is_narrow() const
{
    const std::size_t first = d_layers.front().outputs;
    return d_layers.size() > 1 && first >= simd::narrowest &&
           first <= simd::widest_narrow &&
           std::all_of(d_layers.begin(), d_layers.end() - 1, [&](const auto& layer) {
               return layer.outputs == first;
           });
}

simd::activation activation_after(std::size_t k, const prepared_network& net)
{
    return k + 1 < net.layers().size() ? simd::activation::relu : simd::activation::none;
}

} // namespace gr::adann::core
