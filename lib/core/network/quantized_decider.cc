/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/network/quantized_decider.h"

#include <algorithm>
#include <cstring>

namespace gr::adann::core {

using simd::lanes;
using simd::tile;

namespace {

const simd::word_kernels& words_for(const quantized_network& net,
                                    const simd::kernels& kernels)
{
    const auto& integers = *kernels.integers;
    const bool narrow = net.formats().bits <= 8 && integers.quads.hidden;
    return narrow ? integers.quads : integers.pairs;
}

} // namespace

prepared_quantized::prepared_quantized(const quantized_network& net,
                                       const simd::kernels& kernels)
    : d_words(words_for(net, kernels)), d_net(net)
{
    for (const auto& layer : d_net.layers()) {
        const std::size_t groups = (layer.inputs + d_words.values - 1) / d_words.values;
        d_layers.push_back({ std::vector<std::int32_t>(groups * layer.outputs),
                             std::vector<std::int32_t>(layer.outputs),
                             std::vector<std::int32_t>(layer.outputs) });
    }
    pack();
}

void prepared_quantized::assign(const network& net)
{
    d_net.assign(net);
    pack();
}

void prepared_quantized::pack()
{
    const unsigned values = d_words.values, bits = 32 / values;
    const std::uint32_t mask = (1u << bits) - 1;
    for (std::size_t k = 0; k < d_layers.size(); ++k) {
        const auto& from = d_net.layers()[k];
        auto& to = d_layers[k];
        const bool raised = k == 0 && values == 4;
        std::fill(to.weights.begin(), to.weights.end(), 0);
        for (std::size_t o = 0; o < from.outputs; ++o) {
            std::int32_t sum = 0;
            for (std::size_t i = 0; i < from.inputs; ++i) {
                const std::int32_t weight = from.weights[o * from.inputs + i];
                sum += weight;
                to.weights[i / values * from.outputs + o] |= static_cast<std::int32_t>(
                    (static_cast<std::uint32_t>(weight) & mask) << (i % values * bits));
            }
            const int shift = from.shifts[o];
            to.shifts[o] = shift;
            to.biases[o] = from.biases[o] + (shift ? 1 << (shift - 1) : 0) -
                           (raised ? simd::word_kernels::offset * sum : 0);
        }
    }
}

simd::integer_layer prepared_quantized::layer(std::size_t k) const
{
    const auto& words = d_layers[k];
    const std::size_t outputs = words.biases.size();
    return { words.weights.data(),
             words.biases.data(),
             words.shifts.data(),
             words.weights.size() / outputs,
             outputs,
             d_net.formats().largest_hidden() };
}

quantized_decider::quantized_decider(const simd::kernels& kernels) : d_kernels(kernels) {}

void quantized_decider::decide(const prepared_quantized& net,
                               const feature_view& view,
                               std::uint8_t* labels,
                               std::int32_t* logits,
                               float* posteriors)
{
    const std::size_t classes = net.net().outputs();
    const float scale = net.net().logit_scale();
    if (view.stride != d_stride)
        reserve(net, view.stride);
    for (std::size_t first = 0, n; first < view.count; first += n) {
        n = std::min(tile, view.count - first);
        const std::int32_t* found = logits_of_tile(net, view.from(first, n));
        std::uint8_t decided[tile];
        d_kernels.integers->argmax(found, classes, decided);
        std::copy_n(decided, n, labels + first);
        for (std::size_t t = 0; logits && t < n; ++t)
            for (std::size_t j = 0; j < classes; ++j)
                logits[(first + t) * classes + j] = found[j * tile + t];
        if (!posteriors)
            continue;
        for (std::size_t i = 0; i < classes * tile; ++i)
            d_logits[i] = scale * static_cast<float>(found[i]);
        d_kernels.softmax(d_logits.data(), classes, d_posteriors.data());
        for (std::size_t t = 0; t < n; ++t)
            for (std::size_t j = 0; j < classes; ++j)
                posteriors[(first + t) * classes + j] = d_posteriors[j * tile + t];
    }
}

// Word i of a window begins `i * values` values into it: at one of few places of a symbol.
void quantized_decider::reserve(const prepared_quantized& net, std::size_t stride)
{
    const unsigned values = net.words().values;
    const std::size_t groups = net.layer(0).groups;
    d_stride = stride;
    d_columns = tile + values * groups / stride;
    d_pitch = simd::whole_lanes(d_columns);
    d_phases.clear();
    d_row.clear();
    for (std::size_t i = 0; i < groups; ++i) {
        const std::size_t phase = i * values % stride;
        const auto known = std::find(d_phases.begin(), d_phases.end(), phase);
        d_row.push_back(static_cast<std::uint32_t>((known - d_phases.begin()) * d_pitch +
                                                   i * values / stride));
        if (known == d_phases.end())
            d_phases.push_back(phase);
    }
    d_samples.assign(((d_columns + 1) * stride + lanes) / values + 1, 0);
    d_inputs.assign(d_phases.size() * d_pitch, 0);
    std::size_t widest = 0;
    for (const auto& layer : net.net().layers())
        widest = std::max(widest, layer.outputs);
    d_dense = dense_rows(widest);
    for (auto& outputs : d_values)
        outputs.assign(widest * tile, 0);
    d_logits.assign(net.net().outputs() * tile, 0);
    d_posteriors.assign(net.net().outputs() * tile, 0);
}

void quantized_decider::load(const prepared_quantized& net, const feature_view& view)
{
    const unsigned values = net.words().values;
    net.words().quantise(view.data,
                         view.floats(),
                         net.net().sample_scale(),
                         net.net().formats().largest(),
                         d_samples.data());
    if (d_stride == values)
        return; // words already
    const char* const samples = reinterpret_cast<const char*>(d_samples.data());
    const std::size_t size = sizeof(std::int32_t) / values;
    for (std::size_t p = 0; p < d_phases.size(); ++p)
        for (std::size_t s = 0; s < d_columns; ++s)
            std::memcpy(&d_inputs[p * d_pitch + s],
                        samples + (s * d_stride + d_phases[p]) * size,
                        sizeof(std::int32_t));
}

const std::int32_t* quantized_decider::logits_of_tile(const prepared_quantized& net,
                                                      const feature_view& view)
{
    load(net, view);
    const std::size_t count = net.net().layers().size();
    const std::int32_t* x =
        (d_stride == net.words().values ? d_samples : d_inputs).data();
    const std::uint32_t* row = d_row.data();
    for (std::size_t k = 0; k < count; ++k) {
        std::int32_t* y = d_values[k % 2].data();
        (k + 1 < count ? net.words().hidden : net.words().sums)(net.layer(k), x, row, y);
        x = y;
        row = d_dense.data();
    }
    return x;
}

} // namespace gr::adann::core
