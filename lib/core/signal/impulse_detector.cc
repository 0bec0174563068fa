/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/impulse_detector.h"

#include <limits>

namespace gr::adann::core {

namespace {
constexpr float exceeding = 1.5f * 1.5f; // power: over that of most blocks
constexpr std::size_t of_signal = 4;     // samples of a block: so many are no impulses
constexpr float unlimited = std::numeric_limits<float>::max();
} // namespace

impulse_detector::impulse_detector(float peak) : d_least(exceeding * peak) { reset(); }

void impulse_detector::reset()
{
    d_seen = d_next = d_count = d_impulses = 0;
    d_largest_here = 0;
    d_limit = unlimited;
}

void impulse_detector::count_impulse()
{
    if (++d_impulses == of_signal)
        d_limit = unlimited;
}

void impulse_detector::end_block()
{
    if (d_impulses == of_signal) {
        d_largest.fill(d_largest_here);
        d_seen = blocks;
    } else {
        d_largest[d_next] = d_largest_here;
        d_next = (d_next + 1) % blocks;
        d_seen = std::min(d_seen + 1, blocks);
    }
    d_limit = limit();
    d_count = d_impulses = 0;
    d_largest_here = 0;
}

float impulse_detector::limit() const
{
    if (d_seen < blocks)
        return unlimited;
    auto sorted = d_largest;
    const auto median = sorted.begin() + blocks / 2;
    std::nth_element(sorted.begin(), median, sorted.end());
    return std::max(exceeding * *median, d_least);
}

void impulse_detector::state(archive& members)
{
    members.numbers("largest", d_largest.data(), { blocks }, 0.0f, unlimited);
    members("seen", d_seen, std::size_t{ 0 }, blocks);
    members("next", d_next, std::size_t{ 0 }, blocks - 1);
    members("count", d_count, std::size_t{ 0 }, block - 1);
    members("largest_here", d_largest_here, 0.0f, unlimited);
    members("impulses", d_impulses, std::size_t{ 0 }, of_signal);
    members("limit", d_limit, 0.0f, unlimited);
}

} // namespace gr::adann::core
