/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/impulse_detector.h"

#include "core/signal/median.h"

#include <limits>
#include <numeric>

namespace gr::adann::core {

namespace {
constexpr float exceeding = 1.5f * 1.5f; // power: over that of most blocks
// Samples of a block, or a symbol's if these are more: so many are no impulses.
constexpr std::size_t of_signal = 4;
constexpr float unlimited = std::numeric_limits<float>::max();

// The largest power of n samples; im is null of real ones.
float largest_power(const float* re, const float* im, std::size_t n)
{
    constexpr std::size_t lanes = 8; // so that the loop becomes vectors
    float largest[lanes] = {};
    const auto take = [&](std::size_t i, std::size_t lane, float imaginary) {
        const float power = re[i] * re[i] + imaginary * imaginary;
        largest[lane] = largest[lane] < power ? power : largest[lane];
    };
    std::size_t i = 0;
    if (im)
        for (; i + lanes <= n; i += lanes)
            for (std::size_t lane = 0; lane < lanes; ++lane)
                take(i + lane, lane, im[i + lane]);
    else
        for (; i + lanes <= n; i += lanes)
            for (std::size_t lane = 0; lane < lanes; ++lane)
                take(i + lane, lane, 0);
    for (; i < n; ++i)
        take(i, 0, im ? im[i] : 0);
    return *std::max_element(largest, largest + lanes);
}
} // namespace

impulse_detector::impulse_detector(std::size_t sps, float peak)
    : d_block(block(sps)), d_level(std::max(of_signal, sps)), d_least(exceeding * peak)
{
    reset();
}

void impulse_detector::reset()
{
    d_seen = d_next = d_count = d_impulses = 0;
    d_largest_here = 0;
}

void impulse_detector::blank(float* re, float* im, std::size_t n)
{
    for (std::size_t i = 0, end; i < n; i = end) {
        end = std::min(n, i + d_block - d_count);
        const float largest = largest_power(re + i, im ? im + i : nullptr, end - i);
        if (largest <= d_least || largest <= limit()) { // as nearly always
            d_largest_here = std::max(d_largest_here, largest);
            d_count += end - i;
            if (d_count == d_block)
                end_block();
            continue;
        }
        for (std::size_t k = i; k < end; ++k)
            if (take(re[k] * re[k] + (im ? im[k] * im[k] : 0.0f))) {
                re[k] = 0;
                if (im)
                    im[k] = 0;
            }
    }
}

void impulse_detector::end_block()
{
    if (d_impulses == d_level) {
        d_largest.fill(d_largest_here);
        d_seen = blocks;
    } else {
        d_largest[d_next] = d_largest_here;
        d_next = (d_next + 1) % blocks;
        d_seen = std::min(d_seen + 1, blocks);
    }
    d_count = d_impulses = 0;
    d_largest_here = 0;
}

float impulse_detector::limit() const
{
    if (d_seen < blocks || d_impulses == d_level)
        return unlimited;
    auto largest = d_largest;
    return std::max(exceeding * median(largest.begin(), largest.end()), d_least);
}

void impulse_detector::state(archive& members)
{
    members.numbers("largest", d_largest.data(), { blocks }, 0.0f, unlimited);
    members("seen", d_seen, std::size_t{ 0 }, blocks);
    members("next", d_next, std::size_t{ 0 }, blocks - 1);
    members("count", d_count, std::size_t{ 0 }, d_block - 1);
    members("largest_here", d_largest_here, 0.0f, unlimited);
    members("impulses", d_impulses, std::size_t{ 0 }, d_level);
}

std::vector<std::size_t>
blank_impulses(float* samples, std::size_t n, std::size_t floats, std::size_t sps)
{
    constexpr std::size_t blocks = impulse_detector::blocks;
    const std::size_t block = impulse_detector::block(sps), together = blocks * block;
    const auto power = [&](std::size_t i) {
        const float* const x = samples + i * floats;
        return std::inner_product(x, x + floats, x, 0.0f);
    };
    std::vector<std::size_t> found;
    for (std::size_t first = 0; together <= n && first < n; first += together) {
        const std::size_t from = std::min(first, n - together);
        std::array<float, blocks> largest{};
        for (std::size_t i = from; i < from + together; ++i)
            largest[(i - from) / block] = std::max(largest[(i - from) / block], power(i));
        const float limit = exceeding * median(largest.begin(), largest.end());
        for (std::size_t i = first; i < from + together; ++i)
            if (power(i) > limit) {
                std::fill_n(samples + i * floats, floats, 0.0f);
                found.push_back(i);
            }
    }
    return found;
}

} // namespace gr::adann::core
