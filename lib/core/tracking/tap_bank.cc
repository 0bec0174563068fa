/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/tap_bank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace gr::adann::core {

namespace {

constexpr float score_keep = 0.8f;
constexpr std::size_t long_from =
    256; // symbols: shorter time constants have short taps only
constexpr std::size_t short_to = 512;          // symbols: longer ones have long taps only
constexpr std::size_t updates_per_memory = 16; // at least
constexpr std::size_t least_blocks = 4;        // of a memory that does not rest
constexpr float spread_keep = 0.95f;
constexpr float surprise = 2;            // standard deviations of blocks' residuals
constexpr float far_more = 4;            // times as much: a burst, or a jump
constexpr std::size_t longest_pulse = 2; // blocks that one of interference is in
constexpr float as_usual =
    1.5f; // residual: a link that moves is followed in an idle word
constexpr float least_weight =
    1.0f / 64;                    // of a block: a jump is learnt from its first one on
constexpr float most_more = 1000; // relative excess: of a signal at 30 dB that is lost
constexpr int few_steps = 4, many_steps = 12;            // of conjugate gradients
constexpr std::array<float, 2> lead_keep{ 0.8f, 0.98f }; // of d_leads, a block
constexpr float significance = 3;                        // standard deviations
constexpr float ridge = 1e-3f;                           // of the mean power
constexpr float small_gain = 0.1f; // of the residual that noise makes of one unknown

// Of residuals, with one more that counts so much, 0 to 1.
float average(float before, float latest, float counts)
{
    return before + counts * (1 - score_keep) * (latest - before);
}

} // namespace

tap_bank::tap_bank(std::size_t taps,
                   std::size_t short_taps,
                   bool complex,
                   std::size_t block,
                   const std::vector<std::size_t>& memories,
                   std::size_t most_apart,
                   const simd::kernels& kernels,
                   std::size_t channels)
    : d_kernels(&kernels),
      d_block(block),
      d_most_apart(most_apart),
      d_weighted(taps, complex, kernels, channels),
      d_solver(d_weighted)
{
    const normal_equations shape(taps, complex, kernels, channels);
    const aligned_floats zeros(shape.vector_floats());
    const std::size_t margin = (taps - short_taps) / 2;
    d_candidates.push_back({ candidate::nothing, 0, 0, taps, 0, 0, zeros, zeros, zeros });
    std::size_t before[2] = {}; // short and long candidate of the previous memory
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
                { candidate::filter, q, first, taps - first, 0, 0, zeros, zeros, zeros });
            const std::size_t farther = d_candidates.size() - 1;
            if (const std::size_t nearer = before[is_long]) {
                d_candidates.push_back({ candidate::line,
                                         q - 1,
                                         first,
                                         taps - first,
                                         nearer,
                                         farther,
                                         zeros,
                                         {},
                                         {} });
            }
            before[is_long] = farther;
        }
    }
    reset();
}

void tap_bank::reset()
{
    for (auto& memory : d_memories) {
        memory.sums.clear();
        memory.pending.clear();
        memory.blocks = 0;
        memory.holds = memory.rests = false;
    }
    for (auto& each : d_candidates) {
        each.taps = d_solver.nothing();
        std::fill(each.gradient.begin(), each.gradient.end(), 0.0f); // the sums are zero
        each.score = 0;
    }
    d_used = 0;
    d_rival = 1;
    d_leads = {};
    d_latest = d_spread = 0;
    d_measured = -1;
    d_blocks = d_scores = d_far = 0;
    d_apart = 1;
}

void tap_bank::reset(const aligned_floats& nothing)
{
    d_solver.set_prior(nothing);
    reset();
}

void tap_bank::start_from(const normal_equations& sums, const float* taps)
{
    reset();
    for (auto& memory : d_memories)
        memory.sums = sums;
    for (auto& each : d_candidates) {
        if (each.kind != candidate::nothing)
            std::copy_n(taps, each.taps.size(), each.taps.begin());
        if (each.kind == candidate::filter)
            d_solver.find_gradient(sums, each.taps.data(), each.gradient.data());
    }
    d_used = 1;
    d_leads.fill({ 1, 0 }); // significant, until blocks are compared
}

void tap_bank::resume(const normal_equations& sums,
                      const float* taps,
                      std::size_t symbols,
                      std::size_t learnt)
{
    start_from(sums, taps);
    for (auto& memory : d_memories) {
        const auto most = static_cast<float>(std::min(memory.symbols, learnt));
        memory.sums.add(most / static_cast<float>(symbols) - 1, sums);
    }
}

std::size_t tap_bank::memory() const
{
    const auto& used = d_candidates[d_used];
    return used.kind == candidate::nothing ? 0 : d_memories[used.memory].symbols;
}

float tap_bank::residual() const
{
    if (d_measured >= 0)
        return d_measured;
    return d_scores ? d_candidates[d_used].score /
                          (1 - std::pow(score_keep, static_cast<float>(d_scores)))
                    : std::numeric_limits<float>::quiet_NaN();
}

float tap_bank::phase(const float* v) const
{
    const std::size_t n = d_memories.front().sums.pitch();
    const float* w = taps();
    return std::atan2(d_kernels->dot(v, w + n, n) - d_kernels->dot(v + n, w, n),
                      d_kernels->dot(v, w, 2 * n));
}

void tap_bank::turn(float by)
{
    for (auto& memory : d_memories) {
        memory.sums.turn_wanted(by);
        memory.pending.turn_wanted(by);
    }
    const std::size_t pitch = d_memories.front().sums.pitch();
    for (auto& each : d_candidates) {
        if (each.kind != candidate::nothing)
            turn_vector(each.taps.data(), pitch, by);
        if (each.kind == candidate::filter)
            turn_vector(each.gradient.data(), pitch, by);
    }
}

void tap_bank::learn(const normal_equations& block,
                     std::size_t blocks,
                     const measured* known,
                     bool determined)
{
    const float before = residual();
    predict(block, known);
    d_latest = d_candidates[d_used].latest;
    if (!determined && d_latest < as_usual * before)
        return;
    const float counts = weight(before);
    score(counts);
    compare(block, known ? known->scatter : d_latest, counts);
    if (!known)
        d_measured = -1;
    else // before choose(): these are the taps that were in use
        d_measured = std::isfinite(before) ? average(before, known->residual, counts)
                                           : known->residual;
    ++d_scores;
    d_blocks += blocks;
    for (auto& memory : d_memories)
        memory.blocks += blocks;
    choose();
    pace(is_surprising(before), block);
    take_in(block, counts);
    // After an overflow sums, scores and taps would stay infinite or NaN.
    const auto finite_lead = [](const lead& each) {
        return std::isfinite(each.mean) && std::isfinite(each.variance);
    };
    if (!std::all_of(d_candidates.begin(),
                     d_candidates.end(),
                     [this](const auto& each) {
                         return std::isfinite(each.score) &&
                                std::isfinite(dot(each.taps, each.taps.data()));
                     }) ||
        !std::all_of(d_leads.begin(), d_leads.end(), finite_lead))
        reset();
}

// Whether the residual of the latest block is significantly larger than the mean before it.
bool tap_bank::is_surprising(float before)
{
    const float more = d_latest / before - 1;
    if (!std::isfinite(more)) // the first block
        return true;
    const bool surprises = more > surprise * std::sqrt(d_spread);
    const float counted = std::clamp(more, -1.0f, most_more); // bounds how long it counts
    d_spread = spread_keep * d_spread + (1 - spread_keep) * counted * counted;
    return surprises;
}

/* How much the latest block counts. One or two blocks in a row with a far larger residual than the mean before them may be
 * a pulse of interference: they count by the inverse of that. More of them are the signal as it is now. */
float tap_bank::weight(float before)
{
    const float more = d_latest / (far_more * before);
    if (!(more > 1)) { // also of the first block
        d_far = 0;
        return 1;
    }
    if (d_far == longest_pulse)
        return 1;
    ++d_far;
    return std::max(1 / more, least_weight);
}

bool tap_bank::rests(const candidate& each) const
{
    return each.kind != candidate::nothing && d_memories[each.memory].rests;
}

// The residual that each candidate would have had in the block: Σ |z|² - w·p - w·(p - R w).
void tap_bank::predict(const normal_equations& block, const measured* known)
{
    const std::size_t together = block.is_complex() ? 2 : 4;
    candidate* some[4];
    const float* taps[4];
    float* products[4];
    std::size_t n = 0;
    const auto rate = [&](candidate& each, float along_gradient) {
        const float energy =
            block.energy() - dot(each.taps, block.correlation()) - along_gradient;
        each.latest = energy / block.count();
    };
    const auto rate_them = [&] {
        block.product(taps, n, products);
        for (std::size_t c = 0; c < n; ++c) {
            for (std::size_t i = 0; i < block.vector_floats(); ++i)
                products[c][i] = block.correlation()[i] - products[c][i];
            rate(*some[c], dot(some[c]->taps, products[c]));
        }
        n = 0;
    };
    for (auto& each : d_candidates) {
        if (each.kind == candidate::line || rests(each))
            continue;
        some[n] = &each;
        taps[n] = each.taps.data();
        products[n] = each.of_block.data();
        if (++n == together)
            rate_them();
    }
    if (n)
        rate_them();
    // The gradient is linear in the taps, so a line's is extrapolated likewise.
    for (auto& each : d_candidates)
        if (each.kind == candidate::line && !rests(each)) {
            const float nearer =
                dot(each.taps, d_candidates[each.nearer].of_block.data());
            const float farther =
                dot(each.taps, d_candidates[each.farther].of_block.data());
            rate(each, nearer + slope(each) * (nearer - farther));
        }
    const float offset = known ? known->residual - d_candidates[d_used].latest : 0;
    for (auto& each : d_candidates)
        if (!rests(each))
            each.latest += offset;
}

void tap_bank::score(float counts)
{
    for (auto& each : d_candidates)
        if (!rests(each))
            each.score = average(each.score, each.latest, counts);
}

/* Updates d_leads: residual of the identity less that of the rival.
 *
 * Let D be the power of the difference of their outputs, and s the variance of the target around
 * the right output. Over n symbols the difference of the residuals then has a variance of 2 D s
 * / n, or 4 D s / n for real samples. */
void tap_bank::compare(const normal_equations& block, float scatter, float counts)
{
    const candidate &nothing = d_candidates[0], &rival = d_candidates[d_rival];
    if (rests(rival))
        return;
    const auto gradient = [&](std::size_t i) { // p - R w, linear in w
        if (rival.kind != candidate::line)
            return rival.of_block[i];
        const float nearer = d_candidates[rival.nearer].of_block[i];
        return nearer + slope(rival) * (nearer - d_candidates[rival.farther].of_block[i]);
    };
    float power = 0;
    for (std::size_t i = 0; i < nothing.taps.size(); ++i)
        power += (rival.taps[i] - nothing.taps[i]) * (nothing.of_block[i] - gradient(i));
    power /= block.count();
    const float variance = (block.is_complex() ? 2.0f : 4.0f) * power * scatter /
                           static_cast<float>(d_block);
    for (std::size_t i = 0; i < d_leads.size(); ++i) {
        const float part = counts * (1 - lead_keep[i]);
        d_leads[i].mean += part * (nothing.latest - rival.latest - d_leads[i].mean);
        d_leads[i].variance += part * (variance - d_leads[i].variance);
    }
}

// The identity is replaced only by significantly better
// taps: a gain by chance is lost again on the next block.
void tap_bank::choose()
{
    bool needed = false;
    for (std::size_t i = 0; i < d_leads.size(); ++i) {
        const auto [mean, variance] = d_leads[i];
        const float blocks = (1 + lead_keep[i]) / (1 - lead_keep[i]);
        needed = needed || (mean > 0 && mean * mean > significance * significance *
                                                          variance / blocks);
    }
    std::size_t best = 0;
    for (std::size_t c = 1; c < d_candidates.size(); ++c)
        if (!rests(d_candidates[c]) &&
            (best == 0 || d_candidates[c].score < d_candidates[best].score))
            best = c;
    d_rival = best;
    d_used = needed ? best : 0;
}

// The interval of the blocks that are learnt from, and the time constants that are not updated.
void tap_bank::pace(bool has_changed, const normal_equations& block)
{
    const std::size_t most = time_constant() / updates_per_memory;
    d_apart = has_changed ? 1 : std::min(2 * d_apart, d_most_apart);
    while (d_apart > 1 && d_apart * d_block > most)
        d_apart /= 2;
    for (std::size_t m = d_memories.size(); m-- > 0;) {
        const bool rests =
            d_apart > 1 && least_blocks * d_apart * d_block > d_memories[m].symbols;
        if (std::exchange(d_memories[m].rests, rests) && !rests)
            wake(m, block);
    }
}

// A memory is updated again: it takes over the sums of the next longer one, and the taps in use.
void tap_bank::wake(std::size_t m, const normal_equations& block)
{
    auto& memory = d_memories[m];
    auto& shape = memory.sums;
    const auto& longer = d_memories[m + 1].sums;
    shape = longer;
    shape.add(block.count() / (1 - memory.keep) / longer.count() - 1, longer);
    memory.blocks = 1;
    memory.holds = false;
    const auto& used = d_candidates[d_used];
    for (auto& each : d_candidates) {
        if (each.kind == candidate::nothing || each.memory != m)
            continue;
        each.score = used.score;
        each.taps = used.taps;
        for (std::size_t part = 0; part < each.taps.size(); part += shape.pitch())
            for (std::size_t k = 0; k < shape.taps(); ++k)
                if (k < each.first || k >= each.last)
                    each.taps[part + k] = d_solver.nothing()[part + k];
        if (each.kind == candidate::filter) {
            d_solver.find_gradient(shape, each.taps.data(), each.gradient.data());
            d_solver.find_gradient(block, each.taps.data(), each.of_block.data());
        }
    }
}

void tap_bank::take_in(const normal_equations& block, float weight)
{
    // Of a block with a pulse of interference it would be of the pulse's power.
    const auto& all = d_memories.back().sums;
    const float load = weight == 1 || !(all.count() > 0)
                           ? block.ridge(ridge)
                           : all.ridge(ridge) / all.count() * block.count();

    const normal_equations* more = &block;
    if (weight != 1) {
        d_weighted = block;
        d_weighted.add(weight - 1, block);
        more = &d_weighted;
    }
    for (auto& memory : d_memories) {
        if (memory.rests)
            continue;
        // In the beginning each block is much of the sum, so updates are frequent.
        std::size_t interval = 1;
        while (4 * interval <= memory.longest && 32 * interval <= d_blocks)
            interval *= 4;
        const bool is_due = memory.blocks >= interval;
        if (memory.holds || !is_due) {
            memory.pending.add(memory.holds ? 1.0f : 0.0f, *more);
            more = &memory.pending;
        }
        memory.holds = !is_due;
        if (!is_due)
            break;
        const float keep = std::pow(memory.keep, static_cast<float>(memory.blocks));
        memory.sums.add(keep, *more);
        memory.blocks = 0;
        for (auto& each : d_candidates) {
            if (each.kind != candidate::filter || &d_memories[each.memory] != &memory)
                continue;
            if (more == &block) // whose gradient is known
                for (std::size_t i = 0; i < each.gradient.size(); ++i)
                    each.gradient[i] = keep * each.gradient[i] + each.of_block[i];
            else
                d_solver.find_gradient(
                    memory.sums, each.taps.data(), each.gradient.data());
            d_solver.approach(memory.sums,
                              load * (1 + 0.01f / (1 - memory.keep)),
                              each.first,
                              each.last,
                              memory.longest == 1 ? few_steps : many_steps,
                              each.taps.data(),
                              each.gradient.data(),
                              small_gain * each.score);
        }
    }
    for (auto& each : d_candidates)
        if (each.kind == candidate::line && !rests(each))
            follow(each);
}

// Taps of time constant m are those of m symbols ago, on average. The extrapolation factor beyond
// the nearer ones, to the middle of the blocks that follow, relative to the distance of the two.
float tap_bank::slope(const candidate& line) const
{
    const auto age = [&](std::size_t number) {
        const std::size_t ahead = (1 + d_apart) * d_block / 2;
        return static_cast<float>(d_memories[d_candidates[number].memory].symbols +
                                  ahead);
    };
    return age(line.nearer) / (age(line.farther) - age(line.nearer));
}

void tap_bank::follow(candidate& line) const
{
    const auto &nearer = d_candidates[line.nearer], &farther = d_candidates[line.farther];
    const float by = slope(line);
    for (std::size_t i = 0; i < line.taps.size(); ++i)
        line.taps[i] = nearer.taps[i] + by * (nearer.taps[i] - farther.taps[i]);
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
        members(name + ".holds", memory.holds);
        members(name + ".rests", memory.rests);
    }
    for (std::size_t c = 0; c < d_candidates.size(); ++c) {
        auto& each = d_candidates[c];
        const std::string name = "candidate" + std::to_string(c);
        if (each.kind != candidate::nothing)
            members.numbers(name + ".taps", each.taps.data(), { each.taps.size() });
        if (each.kind == candidate::filter)
            members.numbers(
                name + ".gradient", each.gradient.data(), { each.gradient.size() });
        members(name + ".score", each.score);
    }
    members("used", d_used);
    members("rival", d_rival);
    members.numbers("leads", &d_leads[0].mean, { d_leads.size(), 2 });
    members("measured", d_measured);
    members("far", d_far, std::size_t{ 0 }, longest_pulse);
    members("latest", d_latest);
    members("spread", d_spread, 0.0f, most_more * most_more);
    members("blocks", d_blocks);
    members("scores", d_scores);
    members("apart", d_apart, std::size_t{ 1 }, d_most_apart);
    if (d_used >= d_candidates.size() || d_rival >= d_candidates.size())
        members.refuse("used", "is out of range");
    if (d_memories.back().rests) // wake() needs a longer one
        members.refuse("rests", "holds for the longest memory");
}

} // namespace gr::adann::core
