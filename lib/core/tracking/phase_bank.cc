/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/phase_bank.h"

#include "core/common/checks.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr float score_keep = 0.94f, lasting_keep = 1 - 1.0f / 512;
// Log-likelihood ratio for leaving the loop of zero phase: odds of ten thousand to one.
constexpr float evidence = 9;
constexpr float most_evidence = 100; // the cumulative sum is limited to this
constexpr float preference =
    2; // log-likelihood ratio of odds of seven to one: see may_move()
constexpr std::size_t least_steps = 8; // for an estimate of the variance
constexpr float all_noise = 1;         // upper bound of loop::noise
// Standard deviations of a loop's noise that decisions have to tolerate: of a loop in use, and of
// one that replaces the loop of zero phase, as losing lock costs more than staying there.
constexpr float deviations = 3, deviations_at_rest = 5;
// Steps in a row before they count as evidence: until the error of their mean is a sixteenth of
// what decisions tolerate, within least_steps and most_steps.
constexpr float part_of_tolerated = 16, most_steps = 64;
} // namespace

float wrapped(float angle)
{
    constexpr float turn = 2 * static_cast<float>(M_PI);
    return angle - turn * std::nearbyint(angle / turn);
}

phase_bank::phase_bank(std::size_t ahead, float tolerated)
    : d_ahead(ahead), d_tolerated(tolerated)
{
    check_range<std::size_t>("steps ahead", ahead, 1, most_ahead);
    reset();
}

// The noise of an α-β filter in closed form: Kalata, 1984.
phase_bank::loop phase_bank::make(float alpha, float beta)
{
    const float noise =
        (2 * alpha * alpha + beta * (2 - 3 * alpha)) / (alpha * (4 - 2 * alpha - beta));
    return { alpha, beta, noise, {}, {}, 0, 0, 0 };
}

void phase_bank::reset()
{
    std::size_t i = 0;
    d_loops[i++] = {};
    for (const float theta : { 0.4f, 0.6f, 0.75f, 0.88f, 0.95f, 0.98f })
        d_loops[i++] = make(1 - theta * theta, (1 - theta) * (1 - theta));
    for (const float alpha : { 0.7f, 0.45f, 0.25f, 0.12f })
        d_loops[i++] = make(alpha, alpha * alpha / 32);
    d_least_noise = all_noise;
    for (const loop& each : d_loops)
        if (each.alpha > 0)
            d_least_noise = std::min(d_least_noise, each.noise);
    d_steps = d_used = d_sure = d_measured = d_measured_in_all = 0;
    d_most_noise = all_noise;
}

void phase_bank::set(const phase_line& line, std::size_t sure)
{
    reset();
    for (auto& each : d_loops)
        if (each.alpha > 0) {
            each.line = line;
            for (std::size_t back = 0; back < most_ahead; ++back)
                each.before[most_ahead - 1 - back] = {
                    wrapped(line.phase - static_cast<float>(back) * line.growth),
                    line.growth
                };
        }
    d_sure = sure;
    d_used = best_of(1);
}

void phase_bank::turn(float slipped)
{
    for (auto& each : d_loops)
        if (each.alpha > 0) {
            each.line.phase = wrapped(each.line.phase + slipped);
            for (auto& before : each.before)
                before.phase = wrapped(before.phase + slipped);
        }
}

void phase_bank::measure(float phase, phase_reference by)
{
    d_uncertain = by != phase_reference::decisions;
    const float before = variance(); // 0 before the first step
    const auto wanted = static_cast<std::size_t>(std::clamp(
        before * part_of_tolerated * part_of_tolerated / (d_tolerated * d_tolerated),
        static_cast<float>(least_steps),
        most_steps));
    float at_rest = 0; // squared error of the loop of zero phase
    for (auto& each : d_loops) {
        const phase_line& predicted =
            each.before[(d_steps + most_ahead - d_ahead) % most_ahead];
        const float ahead = static_cast<float>(d_ahead);
        const float wrong = wrapped(phase - predicted.phase - ahead * predicted.growth);
        each.score = score_keep * each.score + (1 - score_keep) * wrong * wrong;
        each.lasting += (1 - lasting_keep) * (wrong * wrong - each.lasting);
        if (each.alpha == 0)
            at_rest = wrong * wrong;
        if (!d_uncertain || !idle())
            each.evidence = 0;
        else if (before > 0 && (by == phase_reference::labels || d_measured >= wanted))
            each.evidence =
                std::clamp(each.evidence + (at_rest - wrong * wrong) / (2 * before),
                           0.0f,
                           most_evidence);
        const float error = wrapped(phase - each.line.phase - each.line.growth);
        each.line.phase =
            wrapped(each.line.phase + each.line.growth + each.alpha * error);
        each.line.growth += each.beta * error;
        each.before[d_steps % most_ahead] = each.line;
    }
    ++d_steps;
    ++d_measured;
    ++d_measured_in_all;
    d_most_noise = all_noise;
    if (const float noise = deviations * deviations * variance();
        by == phase_reference::means && noise > 0)
        d_most_noise =
            std::clamp(d_tolerated * d_tolerated / noise, d_least_noise, all_noise);
    const bool is_early =
        d_steps < least_steps; // too few to leave the loop of zero phase
    if (idle() && (is_early || !(d_uncertain ? has_moved(evidence) : leads(evidence, 0))))
        return;
    const std::size_t first = is_early || d_steps < d_sure ? 1 : 0;
    d_used = d_uncertain && !is_early ? steadiest(first) : best_of(first);
}

// Variance of a measurement: the least mean square prediction error of all loops, over many steps.
float phase_bank::variance() const
{
    float least = d_loops[0].lasting;
    for (const auto& each : d_loops)
        least = std::min(least, each.lasting);
    return lasting_mean(least);
}

// A loop's mean over many steps, corrected for the average's start at zero.
float phase_bank::lasting_mean(float found) const
{
    const auto n = static_cast<float>(d_measured_in_all);
    return n > 0 ? found / (1 - std::pow(lasting_keep, n)) : 0;
}

double phase_bank::probability_beyond(double radians) const
{
    const double variance = lasting_mean(d_loops[d_used].lasting);
    return variance > 0 ? std::erfc(radians / std::sqrt(2 * variance)) : 0;
}

// Whether the best loop, except that of zero phase, leads another by this log-likelihood ratio. For
// Gaussian errors of variance s² over n steps it is n (e² - s²) / 2s², with the mean square error
// e² of the other loop and that of the best one as s². The averages are of fewer steps at the start: with n as later,
// 16APSK with a third of its decisions wrong left the loop of zero phase in one of 40 streams that stand still, for good.
bool phase_bank::leads(float ratio, std::size_t of) const
{
    const auto measured = static_cast<float>(d_measured_in_all);
    const float n = (1 - std::pow(score_keep, measured)) / (1 - score_keep);
    return (1 + 2 * ratio / n) * d_loops[best_of(1)].score < d_loops[of].score;
}

bool phase_bank::has_moved(float ratio) const
{
    constexpr float part = deviations / deviations_at_rest;
    return std::any_of(d_loops.begin() + 1, d_loops.end(), [&](const loop& each) {
        return each.noise <= part * part * d_most_noise && each.evidence > ratio;
    });
}

bool phase_bank::may_move() const
{
    return d_uncertain &&
           (has_moved(preference) || 16 * spread() > d_tolerated * d_tolerated);
}

// The loop that predicted best over many steps, unless another one leads over the latest ones.
std::size_t phase_bank::steadiest(std::size_t first) const
{
    const std::size_t found = best_of(first, &loop::lasting);
    return leads(evidence, found) ? best_of(first) : found;
}

// The best predictor among the loops from `first` on that may be used. Where they are equal, as just
// after set(), the one that passes the least noise if the line is sure, else the widest.
std::size_t phase_bank::best_of(std::size_t first, float loop::*score) const
{
    const bool is_sure = d_steps < d_sure;
    const auto order = [&](const loop& each) {
        return std::make_pair(each.*score, is_sure ? each.noise : 0.0f);
    };
    std::size_t best = d_loops.size();
    for (std::size_t i = first; i < d_loops.size(); ++i)
        if (d_loops[i].noise <= d_most_noise &&
            (best == d_loops.size() || order(d_loops[i]) < order(d_loops[best])))
            best = i;
    return best;
}

void phase_bank::skip()
{
    d_measured = 0;
    for (auto& each : d_loops) {
        each.line.phase = wrapped(each.line.phase + each.line.growth);
        each.before[d_steps % most_ahead] = each.line;
    }
    ++d_steps;
}

void phase_bank::state(archive& members)
{
    for (std::size_t i = 0; i < d_loops.size(); ++i) {
        auto& each = d_loops[i];
        const std::string name = "loop" + std::to_string(i);
        const float most = i ? 1e6f : 0.0f; // radians: the first loop's phase is zero
        members(name + ".phase", each.line.phase, -most, most);
        members(name + ".growth", each.line.growth, -most, most);
        members(name + ".score", each.score, 0.0f, 100.0f);
        members(name + ".lasting", each.lasting, 0.0f, 100.0f);
        members(name + ".evidence", each.evidence, 0.0f, most_evidence);
        members.numbers(
            name + ".before", &each.before[0].phase, { most_ahead, 2 }, -most, most);
    }
    members("uncertain", d_uncertain);
    members("most_noise", d_most_noise, 0.0f, all_noise);
    members("measured", d_measured);
    members("measured_in_all", d_measured_in_all);
    members("steps", d_steps);
    members("sure", d_sure);
    members("used", d_used);
    if (d_used >= d_loops.size())
        members.refuse("used", "is out of range");
}

} // namespace gr::adann::core
