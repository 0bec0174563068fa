/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/segment_equalizer.h"

#include "core/common/checks.h"
#include "core/signal/windows.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

/* Time constant in blocks; whether only taps within `short_reach` are learnt, as each tap adds
 * noise, which a short time constant averages least; blocks from one solution to the next. */
struct memory_shape {
    std::size_t blocks;
    bool is_short;
    std::size_t every;
};
constexpr std::array<memory_shape, 5> memories{ { { 6, true, 1 },
                                                  { 12, true, 1 },
                                                  { 12, false, 1 },
                                                  { 32, false, 4 },
                                                  { 128, false, 4 } } };
constexpr std::size_t short_reach = 16;
constexpr float score_keep = 0.95f; // twenty blocks
constexpr float most_slope =
    0.8f; // as learning_target's: limits the noise's amplification
constexpr float least_error = 1e-6f;
constexpr float start_ridge = 1e-2f, ridge = 3e-4f; // of the mean power of the samples
constexpr int few_steps = 4;
constexpr float much_more = 2;                  // times the residual of new least squares
constexpr std::size_t slack = simd::lanes + 64; // that kernels may read

float nearest_level(float z)
{
    return std::clamp(2 * std::floor(z / 2) + 1, -7.0f, 7.0f);
}

float distance(const float* a, const float* b, std::size_t n)
{
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum / static_cast<float>(n);
}

} // namespace

segment_equalizer::segment_equalizer(unsigned past, unsigned future)
    : d_past((check_range("past", past, least_reach, most_reach), past)),
      d_taps((check_range("future", future, least_reach, most_reach), past + future + 1)),
      d_field1(field_sync_levels(segment_kind::field1)),
      d_field2(field_sync_levels(segment_kind::field2)),
      d_filter(d_taps, false, simd::active()),
      d_solver(normal_equations(d_taps, false)),
      d_sums(d_taps, false),
      d_trial(d_taps, false),
      d_samples(past + 2 * atsc::segment + slack),
      d_output(atsc::segment + slack),
      d_wanted(atsc::segment + slack),
      d_gradient(d_sums.vector_floats()),
      d_fresh(d_sums.vector_floats())
{
    d_solver.set_prior(aligned_floats(d_sums.vector_floats()));
    for (const auto& [blocks, is_short, every] : memories)
        d_memories.push_back(
            { blocks * block,
              std::exp(-1.0f / static_cast<float>(blocks)),
              every,
              is_short ? past - std::min<std::size_t>(past, short_reach) : 0,
              is_short ? past + std::min<std::size_t>(future, short_reach) + 1 : d_taps,
              d_sums,
              aligned_floats(d_sums.vector_floats()),
              aligned_floats(block + slack) });
}

std::vector<float> segment_equalizer::taps() const
{
    const aligned_floats& used = d_memories[d_used].taps;
    return { used.begin(), used.begin() + d_taps };
}

// Known symbols at the start of the pending segment.
std::size_t segment_equalizer::known() const
{
    return d_kind == segment_kind::data ? atsc::segment_sync : atsc::field_sync;
}

const float* segment_equalizer::known_levels() const
{
    return (d_kind == segment_kind::field2 ? d_field2 : d_field1).data();
}

bool segment_equalizer::take(const float* samples,
                             segment_kind kind,
                             bool follows,
                             float* levels)
{
    float* const own = d_samples.data() + d_past;
    float* const next = own + atsc::segment;
    const bool usable = all_usable(samples, atsc::segment);
    if (usable)
        std::copy_n(samples, atsc::segment, next);
    else
        std::fill_n(next, atsc::segment, 0.0f);

    bool found = false;
    if (d_pending) {
        if (!follows)
            std::fill_n(next, atsc::segment, 0.0f);
        if (d_kind != segment_kind::data && d_usable)
            acquire();
        for (std::size_t first = 0; d_status.started && first < atsc::segment;
             first += block)
            follow(first, levels);
        found = d_status.started && d_kind == segment_kind::data;
        if (!follows && usable)
            std::copy_n(samples, atsc::segment, next);
    }
    std::copy_n(
        d_samples.data() + atsc::segment, d_past + atsc::segment, d_samples.data());
    d_has_past = d_pending && follows;
    if (!d_has_past)
        std::fill_n(d_samples.data(), d_past, 0.0f);
    d_pending = true;
    d_usable = usable;
    d_kind = kind;
    return found;
}

// Mean square error of the known symbols of a field's first segment, and the part decided wrongly.
float segment_equalizer::error_of(const float* taps, float* wrong)
{
    const std::size_t n = atsc::field_sync;
    const float* const sent = known_levels();
    d_filter.run(
        taps, d_sums.pitch(), { d_samples.data(), nullptr }, n, d_output.data(), nullptr);
    if (wrong) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < n; ++i)
            count += nearest_level(d_model.level_of(d_output[i])) != sent[i];
        *wrong = static_cast<float>(count) / static_cast<float>(n);
    }
    return distance(d_output.data(), sent, n);
}

void segment_equalizer::approach(
    const memory& of, const normal_equations& sums, float part, int steps, float* taps)
{
    d_solver.find_gradient(sums, taps, d_gradient.data());
    d_solver.approach(
        sums, sums.ridge(part), of.first, of.last, steps, taps, d_gradient.data());
}

// Starts over from least squares over a field's known
// symbols, unless the taps in use are good enough.
void segment_equalizer::acquire()
{
    const std::size_t first = d_has_past ? 0 : d_past; // first symbol with a full window
    const std::size_t n = atsc::field_sync - first;
    d_sums.set(
        { d_samples.data() + first, nullptr }, { known_levels() + first, nullptr }, n);
    const auto solve = [&](const memory& of) {
        std::fill(d_fresh.begin(), d_fresh.end(), 0.0f);
        approach(of, d_sums, start_ridge, static_cast<int>(d_taps), d_fresh.data());
    };
    solve(d_memories.back());
    // The residual of the n symbols that were fitted is too small for others.
    const float fresh = error_of(d_fresh.data()) * static_cast<float>(n) /
                        static_cast<float>(n - std::min(d_taps, n / 2));
    if (d_status.started) {
        const float* const used = d_memories[d_used].taps.data();
        const float error = error_of(used, &d_status.known_errors);
        d_status.residual = error / atsc::power;
        d_status.resets += error > much_more * fresh;
        if (error <= much_more * fresh) {
            ++d_status.fields;
            return;
        }
    }
    for (memory& each : d_memories) {
        solve(each);
        each.sums = d_sums;
        each.taps = d_fresh;
        each.score = error_of(d_fresh.data());
    }
    d_used = d_memories.size() - 1;
    d_model.start(fresh);
    d_status.started = true;
    d_status.memory = d_memories[d_used].symbols;
    ++d_status.fields;
}

/* Finds the target d_wanted and the levels from outputs.
 * \param learns whether the model of the outputs learns from them */
void segment_equalizer::aim(const float* output,
                            std::size_t first,
                            float* levels,
                            bool learns)
{
    const std::size_t known_count =
        known() > first ? std::min(known() - first, block) : 0;
    float variances = 0, errors = 0;
    for (std::size_t i = 0; i < block; ++i) {
        const float sent = i < known_count ? known_levels()[first + i] : 0;
        auto [mean, variance] =
            learns ? d_model.learn(output[i], sent) : d_model.find(output[i]);
        levels[i] = d_model.level_of(output[i]);
        variances += variance;
        if (i < known_count)
            mean = sent, variance = 0;
        d_wanted[i] = mean;
        errors += (levels[i] - mean) * (levels[i] - mean) + variance;
    }
    // The mean slope of means over outputs is the ratio of their variances.
    const float slope = std::min(variances / std::max(errors, least_error), most_slope);
    for (std::size_t i = known_count; i < block; ++i)
        d_wanted[i] = (d_wanted[i] - slope * levels[i]) / (1 - slope);
    if (learns)
        d_model.update(block);
}

void segment_equalizer::follow(std::size_t first, float* levels)
{
    const signal_planes x{ d_samples.data() + first, nullptr };
    for (memory& each : d_memories)
        d_filter.run(
            each.taps.data(), d_sums.pitch(), x, block, each.output.data(), nullptr);
    const memory& used = d_memories[d_used];
    aim(used.output.data(), first, levels + first, d_usable);
    if (!d_usable)
        return;
    for (memory& each : d_memories)
        each.score =
            score_keep * each.score +
            (1 - score_keep) * distance(each.output.data(), d_wanted.data(), block);

    // The second time, by taps that have learnt from this block.
    d_sums.set(x, { d_wanted.data(), nullptr }, block);
    d_trial = used.sums;
    d_trial.add(used.keep, d_sums);
    std::copy(used.taps.begin(), used.taps.end(), d_fresh.begin());
    approach(used, d_trial, ridge, few_steps, d_fresh.data());
    d_filter.run(d_fresh.data(), d_sums.pitch(), x, block, d_output.data(), nullptr);
    aim(d_output.data(), first, levels + first, false);

    d_sums.set(x, { d_wanted.data(), nullptr }, block);
    for (memory& each : d_memories) {
        each.sums.add(each.keep, d_sums);
        if (first / block % each.every == 0)
            approach(each, each.sums, ridge, few_steps, each.taps.data());
    }
    const auto best = std::min_element(
        d_memories.begin(), d_memories.end(), [](const memory& a, const memory& b) {
            return a.score < b.score;
        });
    d_used = best - d_memories.begin();
    d_status.memory = best->symbols;
}

} // namespace gr::adann::core
