/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/decider.h"

#include <algorithm>

namespace gr::adann::core {

using simd::activation;
using simd::tile;

decider::decider(const network& shape, const simd::kernels& kernels)
    : d_kernels(kernels),
      d_features(kernels, shape.inputs()),
      d_dense(dense_rows(shape.widest_layer())),
      d_hidden{ aligned_floats(shape.widest_layer() * tile),
                aligned_floats(shape.widest_layer() * tile) },
      d_posteriors(shape.outputs() * tile)
{
}

const float* decider::logits(const prepared_network& net)
{
    tile_rows x = d_features.rows();
    const std::size_t last = net.layers().size() - 1;
    for (std::size_t k = 0; k <= last; ++k) {
        float* y = d_hidden[k % 2].data();
        d_kernels.affine(net.transposed(k),
                         net.biases(k),
                         nullptr,
                         net.layers()[k].inputs,
                         net.layers()[k].outputs,
                         x.data,
                         x.row,
                         k < last ? activation::relu : activation::none,
                         nullptr,
                         y);
        x = { y, d_dense.data() };
    }
    return x.data;
}

void decider::decide(const prepared_network& net,
                     const feature_view& view,
                     std::uint8_t* labels,
                     float* posteriors)
{
    const std::size_t classes = net.layers().back().outputs;
    std::uint8_t decided[tile];
    for (std::size_t first = 0; first < view.count; first += tile) {
        const std::size_t n = std::min(tile, view.count - first);
        d_features.load(view.from(first, n));
        const float* rows = logits(net);
        d_kernels.argmax(rows, classes, decided);
        std::copy_n(decided, n, labels + first);
        if (posteriors) {
            d_kernels.softmax(rows, classes, d_posteriors.data());
            float* out = posteriors + first * classes;
            for (std::size_t t = 0; t < n; ++t)
                for (std::size_t j = 0; j < classes; ++j)
                    *out++ = d_posteriors[j * tile + t];
        }
    }
}

} // namespace gr::adann::core
