/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/network/decider.h"

#include <algorithm>

namespace gr::adann::core {

using simd::activation;
using simd::tile;

decider::decider(const network& shape, const simd::kernels& kernels)
    : d_kernels(kernels),
      d_classes(shape.outputs()),
      d_quantized(kernels),
      d_features(kernels, shape.inputs()),
      d_pairs(kernels, shape.inputs()),
      d_dense(dense_rows(shape.widest_layer())),
      d_rest(shape.layers().size() - 1),
      d_common(shape.layers().front().outputs * tile),
      d_hidden{ aligned_floats(shape.widest_layer() * tile),
                aligned_floats(shape.widest_layer() * tile) },
      d_posteriors(shape.outputs() * tile)
{
}

void decider::decide(const prepared_network& net,
                     const feature_view& view,
                     std::uint8_t* labels,
                     float* posteriors,
                     std::size_t position)
{
    if (net.quantized()) {
        d_quantized.decide(*net.quantized(), view, labels, nullptr, posteriors);
        return;
    }
    const bool in_pairs = net.pairs() && net.pairs()->stride() == view.stride;
    for (std::size_t first = 0, n; first < view.count; first += n) {
        const bool starts_odd = in_pairs && (position + first) % 2;
        n = std::min((in_pairs ? 2 * tile : tile) - starts_odd, view.count - first);
        const feature_view part = view.from(first, n);
        float* const out = posteriors ? posteriors + first * d_classes : nullptr;
        if (in_pairs)
            decide_pairs(net, part, starts_odd, labels + first, out);
        else
            decide_tile(net, part, labels + first, out);
    }
}

void decider::decide_tile(const prepared_network& net,
                          const feature_view& view,
                          std::uint8_t* labels,
                          float* posteriors)
{
    d_features.load(view);
    const tile_rows x = d_features.rows();
    sum(net,
        { net.transposed(0), view.dimension, x.data, x.row },
        net.biases(0),
        nullptr,
        activation_after(0, net),
        d_hidden[0]);
    const float* logits = rest(net);
    std::uint8_t decided[tile];
    d_kernels.argmax(logits, d_classes, decided);
    std::copy_n(decided, view.count, labels);
    if (posteriors)
        write_posteriors(logits, 0, 0, 1, view.count, posteriors);
}

void decider::decide_pairs(const prepared_network& net,
                           const feature_view& view,
                           bool starts_odd,
                           std::uint8_t* labels,
                           float* posteriors)
{
    d_pairs.load(view, starts_odd);
    labels_of_pairs decided;
    const bool is_narrow = d_kernels.narrow_pairs && net.is_narrow();
    if (is_narrow)
        narrow(net, (view.count + starts_odd + 1) / 2, posteriors != nullptr, decided);
    else
        sum(net,
            d_pairs.common(*net.pairs()),
            net.biases(0),
            nullptr,
            activation::none,
            d_common);
    for (const bool odd : { false, true }) {
        const float* logits = d_hidden[odd].data();
        if (!is_narrow) {
            sum(net,
                d_pairs.own(*net.pairs(), odd),
                nullptr,
                d_common.data(),
                activation_after(0, net),
                d_hidden[0]);
            logits = rest(net);
            d_kernels.argmax(logits, d_classes, decided[odd]);
        }
        const bool leave_out = starts_odd && !odd; // column 0
        if (posteriors)
            write_posteriors(logits,
                             leave_out,
                             2 * leave_out + odd - starts_odd,
                             2,
                             view.count,
                             posteriors);
    }
    std::uint8_t in_turn[2 * tile];
    for (std::size_t t = 0; t < tile; ++t) {
        in_turn[2 * t] = decided[0][t];
        in_turn[2 * t + 1] = decided[1][t];
    }
    std::copy_n(in_turn + starts_odd, view.count, labels);
}

// Both tiles of a narrow network; their logits, if wanted, go to d_hidden[0] and [1].
void decider::narrow(const prepared_network& net,
                     std::size_t columns,
                     bool with_logits,
                     labels_of_pairs& labels)
{
    const simd::weighted_rows own[] = { d_pairs.own(*net.pairs(), false),
                                        d_pairs.own(*net.pairs(), true) };
    for (std::size_t k = 0; k < d_rest.size(); ++k)
        d_rest[k] = { net.transposed(k + 1),
                      net.biases(k + 1),
                      net.layers()[k + 1].outputs };
    float* logits[] = { d_hidden[0].data(), d_hidden[1].data() };
    d_kernels.narrow_pairs[net.layers()[0].outputs - simd::narrowest](
        d_pairs.common(*net.pairs()),
        net.biases(0),
        own,
        d_rest.data(),
        d_rest.size(),
        columns,
        labels,
        with_logits ? logits : nullptr);
}

// Computes a sum of the first layer.
void decider::sum(const prepared_network& net,
                  const simd::weighted_rows& rows,
                  const float* biases,
                  const float* start,
                  activation then,
                  aligned_floats& y) const
{
    d_kernels.affine(rows.weights,
                     biases,
                     start,
                     rows.inputs,
                     net.layers()[0].outputs,
                     rows.x,
                     rows.row,
                     then,
                     nullptr,
                     y.data());
}

// The layers after the first one, whose outputs are in d_hidden[0]. Returns the logits.
const float* decider::rest(const prepared_network& net)
{
    const std::size_t count = net.layers().size();
    for (std::size_t k = 1; k < count; ++k)
        d_kernels.affine(net.transposed(k),
                         net.biases(k),
                         nullptr,
                         net.layers()[k].inputs,
                         net.layers()[k].outputs,
                         d_hidden[(k - 1) % 2].data(),
                         d_dense.data(),
                         activation_after(k, net),
                         nullptr,
                         d_hidden[k % 2].data());
    return d_hidden[(count - 1) % 2].data();
}

// Writes the posteriors of columns t, t + 1, … to symbols i, i + step, …
void decider::write_posteriors(const float* logits,
                               std::size_t t,
                               std::size_t i,
                               std::size_t step,
                               std::size_t count,
                               float* out)
{
    d_kernels.softmax(logits, d_classes, d_posteriors.data());
    for (; i < count; ++t, i += step)
        for (std::size_t j = 0; j < d_classes; ++j)
            out[i * d_classes + j] = d_posteriors[j * tile + t];
}

} // namespace gr::adann::core
