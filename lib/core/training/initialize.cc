/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/initialize.h"

#include "core/training/noise.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

void initialize(network& net, std::uint64_t seed)
{
    gaussian_noise noise(seed);
    std::fill(net.parameters().begin(), net.parameters().end(), 0.0f);
    for (const auto& layer : net.layers()) {
        float* weights = net.parameters().data() + layer.weights;
        noise.fill(weights, layer.inputs * layer.outputs);
        const float deviation = std::sqrt(2.0f / static_cast<float>(layer.inputs));
        for (std::size_t i = 0; i < layer.inputs * layer.outputs; ++i)
            weights[i] *= deviation;
    }
}

} // namespace gr::adann::core
