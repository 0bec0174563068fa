/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/tap_bank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace gr::adann::core {

namespace {

constexpr float score_keep = 0.8f;
constexpr std::size_t long_from = 256; // symbols: shorter memories have short taps only
constexpr std::size_t short_to = 512;  // symbols: longer ones have long taps only
constexpr std::size_t updates_per_memory = 16; // at least
constexpr int few_steps = 4, many_steps = 12;

} // namespace

tap_bank::tap_bank(std::size_t taps,
                   std::size_t short_taps,
                   bool complex,
                   std::size_t block,
                   const std::vector<std::size_t>& memories,
                   const simd::kernels& kernels,
                   std::size_t channels)
    : d_block(block), d_solver(normal_equations(taps, complex, kernels, channels))
{
    const normal_equations shape(taps, complex, kernels, channels);
    const aligned_floats zeros(shape.vector_floats());
    const std::size_t margin = (taps - short_taps) / 2;
    d_candidates.push_back({ candidate::nothing, 0, 0, taps, 0, 0, 0, zeros });
    std::size_t before[2] = {}; // the candidates of the memory before, short and long
    for (const std::size_t symbols : memories) {
        const std::size_t q = d_memories.size();
        std::size_t longest = 1;
        while (4 * longest * d_block * updates_per_memory <= symbols)
            longest *= 4;
        d_memories.push_back(
            { symbols,
              std::exp(-static_cast<float>(block) / static_cast<float>(symbols)),
              longest,
              shape,
              shape });
        for (const bool is_long : { false, true }) {
            if (is_long ? symbols < long_from && symbols < memories.back()
                        : symbols > short_to || short_taps == taps) {
                continue;
            }
            const std::size_t first = is_long ? 0 : margin;
            d_candidates.push_back(
                { candidate::filter, q, first, taps - first, 0, 0, 0, zeros });
            const std::size_t farther = d_candidates.size() - 1;
            if (const std::size_t nearer = before[is_long]) {
                // Their mean ages, as seen from the middle of the next block.
                const auto age = [&](std::size_t c) {
                    return static_cast<float>(d_memories[d_candidates[c].memory].symbols +
                                              d_block);
                };
                d_candidates.push_back({ candidate::line,
                                         q - 1,
                                         first,
                                         taps - first,
                                         nearer,
                                         farther,
                                         age(nearer) / (age(farther) - age(nearer)),
                                         zeros });
            }
            before[is_long] = farther;
        }
    }
    for (auto& product : d_products)
        product = zeros;
    reset();
}

void tap_bank::reset()
{
    for (auto& memory : d_memories) {
        memory.sums.clear();
        memory.pending.clear();
        memory.blocks = 0;
    }
    for (auto& each : d_candidates) {
        each.taps = d_solver.nothing();
        each.score = 0;
    }
    d_used = 0;
    d_latest = 0;
    d_blocks = 0;
}

void tap_bank::reset(const aligned_floats& nothing)
{
    d_solver.draw_towards(nothing);
    reset();
}

void tap_bank::start_from(const normal_equations& sums, const float* taps)
{
    reset();
    for (auto& memory : d_memories)
        memory.sums = sums;
    for (auto& each : d_candidates)
        if (each.kind != candidate::nothing)
            std::copy_n(taps, each.taps.size(), each.taps.begin());
    d_used = 1;
}

std::size_t tap_bank::memory() const
{
    const auto& used = d_candidates[d_used];
    return used.kind == candidate::nothing ? 0 : d_memories[used.memory].symbols;
}

float tap_bank::residual() const
{
    return d_blocks ? d_candidates[d_used].score /
                          (1 - std::pow(score_keep, static_cast<float>(d_blocks)))
                    : std::numeric_limits<float>::quiet_NaN();
}

void tap_bank::learn(const normal_equations& block)
{
    score(block);
    // Beyond the floats: sums and scores would stay what they are.
    if (!std::all_of(d_candidates.begin(), d_candidates.end(), [](const auto& each) {
            return std::isfinite(each.score);
        }))
        return reset();
    d_latest = d_candidates[d_used].latest;
    ++d_blocks;
    take_in(block);
    d_used =
        std::min_element(d_candidates.begin(),
                         d_candidates.end(),
                         [](const auto& a, const auto& b) { return a.score < b.score; }) -
        d_candidates.begin();
}

// How well each candidate would have predicted the block.
void tap_bank::score(const normal_equations& block)
{
    const std::size_t together = block.is_complex() ? 2 : 4;
    const std::size_t floats = block.vector_floats();
    for (std::size_t first = 0; first < d_candidates.size(); first += together) {
        const std::size_t n = std::min(together, d_candidates.size() - first);
        const float* taps[4];
        float* products[4];
        for (std::size_t c = 0; c < n; ++c) {
            taps[c] = d_candidates[first + c].taps.data();
            products[c] = d_products[c].data();
        }
        block.product(taps, n, products);
        for (std::size_t c = 0; c < n; ++c) {
            const float left = dot(taps[c], products[c], floats) -
                               2 * dot(taps[c], block.correlation(), floats) +
                               block.energy();
            auto& each = d_candidates[first + c];
            each.latest = left / block.count();
            each.score = score_keep * each.score + (1 - score_keep) * each.latest;
        }
    }
}

void tap_bank::take_in(const normal_equations& block)
{
    float trace = 0;
    const std::size_t all_taps = block.channels() * block.taps();
    for (std::size_t k = 0; k < all_taps; ++k)
        trace += block.row(k)[k];
    const float load = 1e-3f * trace / static_cast<float>(all_taps);

    const normal_equations* more = &block;
    std::size_t blocks = 1;
    for (auto& memory : d_memories) {
        // Early on, what comes is much of what there is.
        std::size_t interval = 1;
        while (4 * interval <= memory.longest && 32 * interval <= d_blocks)
            interval *= 4;
        const bool alone = interval == 1 && memory.blocks == 0;
        if (!alone) {
            memory.pending.add(memory.blocks ? 1.0f : 0.0f, *more);
            more = &memory.pending;
        }
        memory.blocks += blocks;
        if (d_blocks % interval)
            break;
        blocks = memory.blocks;
        memory.sums.add(std::pow(memory.keep, static_cast<float>(blocks)), *more);
        memory.blocks = 0;
        for (auto& each : d_candidates)
            if (each.kind == candidate::filter && &d_memories[each.memory] == &memory)
                d_solver.approach(memory.sums,
                                  load * (1 + 0.01f / (1 - memory.keep)),
                                  each.first,
                                  each.last,
                                  memory.longest == 1 ? few_steps : many_steps,
                                  each.taps.data());
    }
    for (auto& each : d_candidates)
        if (each.kind == candidate::line) {
            const auto& nearer = d_candidates[each.nearer].taps;
            const auto& farther = d_candidates[each.farther].taps;
            for (std::size_t i = 0; i < each.taps.size(); ++i)
                each.taps[i] = nearer[i] + each.slope * (nearer[i] - farther[i]);
        }
}

void tap_bank::state(archive& members)
{
    for (auto& memory : d_memories) {
        const std::string name = "memory" + std::to_string(memory.symbols);
        auto &sums = memory.sums.sums(), &pending = memory.pending.sums();
        members.numbers(name + ".sums", sums.data(), { sums.size() });
        if (memory.longest > 1)
            members.numbers(name + ".pending", pending.data(), { pending.size() });
        members(name + ".blocks", memory.blocks);
    }
    for (std::size_t c = 0; c < d_candidates.size(); ++c) {
        auto& each = d_candidates[c];
        const std::string name = "candidate" + std::to_string(c);
        if (each.kind != candidate::nothing)
            members.numbers(name + ".taps", each.taps.data(), { each.taps.size() });
        members(name + ".score", each.score);
    }
    members("used", d_used);
    members("latest", d_latest);
    members("blocks", d_blocks);
    if (d_used >= d_candidates.size())
        members.refuse("used", "is out of range");
}

} // namespace gr::adann::core
