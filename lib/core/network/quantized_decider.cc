/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/network/quantized_decider.h"

#include <algorithm>

namespace gr::adann::core {

using simd::lanes;
using simd::tile;

namespace {

std::int32_t word(std::int32_t first, std::int32_t second)
{
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(second) << 16) |
                                     (static_cast<std::uint32_t>(first) & 0xffff));
}

} // namespace

quantized_decider::quantized_decider(const quantized_network& net,
                                     const simd::kernels& kernels)
    : d_kernels(kernels), d_net(net)
{
    std::size_t widest = 0;
    for (const auto& layer : d_net.layers()) {
        const std::size_t inputs = layer.inputs, outputs = layer.outputs;
        prepared_layer prepared{ {}, (inputs + 1) / 2 };
        for (std::size_t i = 0; i < inputs; i += 2)
            for (std::size_t o = 0; o < outputs; ++o) {
                const std::int16_t* weight = &layer.weights[o * inputs + i];
                prepared.weights.push_back(
                    word(weight[0], i + 1 < inputs ? weight[1] : 0));
            }
        widest = std::max({ widest, outputs, prepared.pairs });
        d_layers.push_back(std::move(prepared));
    }
    d_row.resize(d_layers.front().pairs);
    d_dense = dense_rows(widest);
    for (auto& values : d_values)
        values.resize(widest * tile);
}

void quantized_decider::decide(const feature_view& view,
                               std::uint8_t* labels,
                               std::int32_t* logits)
{
    for (std::size_t first = 0, n; first < view.count; first += n) {
        n = std::min(tile, view.count - first);
        decide_tile(
            view.from(first, n), labels + first, logits + first * d_net.outputs());
    }
}

// Sorts the tile's samples by phase, as tile_features does, in whole numbers, and puts
// each beside the one behind it: features 2i and 2i + 1 are one word.
void quantized_decider::load(const feature_view& view)
{
    if (view.stride != d_stride) {
        d_stride = view.stride;
        d_columns = tile + d_net.inputs() / d_stride + 1;
        d_pitch = (d_columns + lanes - 1) / lanes * lanes;
        d_phases.assign(d_stride * d_pitch, 0);
        d_samples.resize(d_stride * d_pitch);
        d_words.resize(d_stride * d_pitch);
        for (std::size_t i = 0; i < d_row.size(); ++i)
            d_row[i] =
                static_cast<std::uint32_t>(2 * i % d_stride * d_pitch + 2 * i / d_stride);
    }
    d_kernels.split(
        view.data, view.floats(), d_stride, d_columns, d_phases.data(), d_pitch);
    d_kernels.integers->quantise(d_phases.data(),
                                 d_phases.size(),
                                 d_net.sample_scale(),
                                 d_net.formats().largest(),
                                 d_samples.data());
    for (std::size_t p = 0; p < d_stride; ++p) {
        const std::int32_t* first = &d_samples[p * d_pitch];
        const bool is_last = p + 1 == d_stride;
        const std::int32_t* second = is_last ? &d_samples[1] : first + d_pitch;
        for (std::size_t s = 0; s + is_last < d_columns; ++s)
            d_words[p * d_pitch + s] = word(first[s], second[s]);
    }
}

void quantized_decider::decide_tile(const feature_view& view,
                                    std::uint8_t* labels,
                                    std::int32_t* out)
{
    load(view);
    const auto& integers = *d_kernels.integers;
    const std::size_t count = d_layers.size(), classes = d_net.outputs();
    const std::int32_t* x = d_words.data();
    const std::uint32_t* row = d_row.data();
    for (std::size_t k = 0; k < count; ++k) {
        const auto& layer = d_net.layers()[k];
        const simd::integer_layer task{ d_layers[k].weights.data(),
                                        layer.biases.data(),
                                        layer.shifts.data(),
                                        d_layers[k].pairs,
                                        layer.outputs,
                                        d_net.formats().largest_hidden() };
        std::int32_t* y = d_values[k % 2].data();
        (k + 1 < count ? integers.hidden : integers.sums)(task, x, row, y);
        x = y;
        row = d_dense.data();
    }
    std::uint8_t decided[tile];
    integers.argmax(x, classes, decided);
    std::copy_n(decided, view.count, labels);
    for (std::size_t t = 0; t < view.count; ++t)
        for (std::size_t j = 0; j < classes; ++j)
            out[t * classes + j] = x[j * tile + t];
}

} // namespace gr::adann::core
