/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/missing_classes.h"

#include <algorithm>

namespace gr::adann::core {

using simd::tile;

namespace {
constexpr float telling_labels = 32; // of a class, on average
constexpr float most_at_once = 16;   // nats; for a class without a label it is half of it
} // namespace

missing_classes::missing_classes(std::size_t classes, const simd::kernels& kernels)
    : d_kernels(kernels), d_raised(classes), d_labels(classes), d_logits(classes * tile)
{
}

void missing_classes::begin_step()
{
    const float share =
        static_cast<float>(d_all_labels) / static_cast<float>(d_labels.size());
    if (share < telling_labels)
        return;
    for (std::size_t k = 0; k < d_raised.size(); ++k)
        d_raised[k] =
            std::max(0.0f, d_raised[k] + most_at_once * (0.5f - d_labels[k] / share));
    std::fill(d_labels.begin(), d_labels.end(), 0.0f);
    d_all_labels = 0;
}

void missing_classes::label(const float* logits, std::size_t n, std::uint8_t* labels)
{
    for (std::size_t k = 0; k < d_raised.size(); ++k)
        for (std::size_t t = 0; t < tile; ++t)
            d_logits[k * tile + t] = logits[k * tile + t] + d_raised[k];
    d_kernels.argmax(d_logits.data(), d_raised.size(), labels);
    for (std::size_t t = 0; t < n; ++t)
        ++d_labels[labels[t]];
    d_all_labels += n;
}

void missing_classes::reset()
{
    std::fill(d_raised.begin(), d_raised.end(), 0.0f);
    std::fill(d_labels.begin(), d_labels.end(), 0.0f);
    d_all_labels = 0;
}

void missing_classes::state(archive& members)
{
    members("raised", d_raised);
    members("labels", d_labels);
    members("all_labels", d_all_labels);
}

} // namespace gr::adann::core
