/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/initialize.h"

#include "core/training/noise.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

constexpr float others =
    0.3f; // factor of the usual weights, for neurons that carry nothing
constexpr double least_error = 1e-3; // posteriors stay below 1 by this

} // namespace

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

void initialize_linear(network& net,
                       std::uint64_t seed,
                       const constellation& symbols,
                       const linear_equalizer& fitted)
{
    initialize(net, seed);
    const std::size_t rows = symbols.dimensions(), carrying = 2 * rows;
    const double error = std::max(fitted.error, least_error);
    const std::size_t last = net.layers().size() - 1;
    const double gain = std::pow(2 / error, 1.0 / static_cast<double>(last + 1));
    const double rms = std::sqrt(double{ symbols.power() });
    for (std::size_t k = 0; k <= last; ++k) {
        const auto& layer = net.layers()[k];
        float* weights = net.parameters().data() + layer.weights;
        float* biases = net.parameters().data() + layer.biases;
        for (std::size_t i = 0; i < layer.inputs * layer.outputs; ++i)
            weights[i] *= k < last ? others : 0;
        for (std::size_t out = 0; out < (k < last ? carrying : layer.outputs); ++out) {
            float* row = weights + out * layer.inputs;
            const double sign = out % 2 ? -1 : 1;
            if (k == 0) {
                for (std::size_t i = 0; i < layer.inputs; ++i)
                    row[i] = static_cast<float>(sign * gain *
                                                fitted.taps[out / 2 * layer.inputs + i]);
                biases[out] = static_cast<float>(sign * gain * fitted.constants[out / 2]);
            } else if (k < last) {
                std::fill_n(row, layer.inputs, 0.0f);
                row[out] = static_cast<float>(gain);
            } else {
                const auto point = std::complex<double>(symbols.points()[out]) / rms;
                const double parts[] = {
                    point.real(), -point.real(), point.imag(), -point.imag()
                };
                for (std::size_t i = 0; i < carrying; ++i)
                    row[i] = static_cast<float>(gain * parts[i]);
                biases[out] = static_cast<float>(-std::norm(point) / error);
            }
        }
    }
}

} // namespace gr::adann::core
