/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/missing_classes.h"

#include "core/simd/kernels.h"

#include <algorithm>
#include <numeric>

namespace gr::adann::core {

using simd::tile;

namespace {
constexpr float enough_labels = 32; // of a class, on average, before offsets change
constexpr float most_at_once = 16;  // nats; for a class without a label it is half of it
} // namespace

missing_classes::missing_classes(std::size_t classes)
    : d_raised(classes), d_labels(classes), d_logits(classes * tile)
{
}

void missing_classes::begin_step()
{
    const auto all =
        std::accumulate(d_labels.begin(), d_labels.end(), std::uint64_t{ 0 });
    const float share = static_cast<float>(all) / static_cast<float>(d_labels.size());
    if (share < enough_labels)
        return;
    for (std::size_t k = 0; k < d_raised.size(); ++k) {
        const float part = static_cast<float>(d_labels[k]) / share;
        d_raised[k] = std::max(0.0f, d_raised[k] + most_at_once * (0.5f - part));
        d_labels[k] = 0;
    }
}

const float* missing_classes::raised(const float* logits)
{
    if (std::all_of(d_raised.begin(), d_raised.end(), [](float r) { return r == 0; }))
        return logits;
    for (std::size_t k = 0; k < d_raised.size(); ++k)
        for (std::size_t t = 0; t < tile; ++t)
            d_logits[k * tile + t] = logits[k * tile + t] + d_raised[k];
    return d_logits.data();
}

void missing_classes::count(const std::uint8_t* labels, std::size_t n)
{
    for (std::size_t t = 0; t < n; ++t)
        ++d_labels[labels[t]];
}

void missing_classes::reset()
{
    std::fill(d_raised.begin(), d_raised.end(), 0.0f);
    std::fill(d_labels.begin(), d_labels.end(), 0);
}

void missing_classes::state(archive& members)
{
    members("raised", d_raised, 0.0f, 1e6f);
    members("labels", d_labels);
}

} // namespace gr::adann::core
