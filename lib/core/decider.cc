/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/decider.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

decider::decider(const network& shape)
    : d_features(shape.inputs() * lanes),
      d_activations(shape),
      d_posteriors(shape.outputs() * lanes)
{
}

void decider::decide(const network& net,
                     const feature_view& view,
                     std::uint8_t* labels,
                     float* posteriors)
{
    const std::size_t classes = net.outputs();
    std::uint8_t decided[lanes];
    for (std::size_t first = 0; first < view.count; first += lanes) {
        const std::size_t n = std::min(lanes, view.count - first);
        gather(view.from(first, n), d_features);
        forward(net, d_features, d_activations);
        softmax(d_activations.logits(), classes, d_posteriors.data());
        argmax(d_activations.logits(), classes, decided);
        for (std::size_t l = 0; l < n; ++l) {
            const bool valid = std::isfinite(d_posteriors[l]);
            labels[first + l] = valid ? decided[l] : 0;
            if (posteriors)
                for (std::size_t j = 0; j < classes; ++j)
                    posteriors[(first + l) * classes + j] =
                        valid ? d_posteriors[j * lanes + l] : 1.0f / classes;
        }
    }
}

} // namespace gr::adann::core
