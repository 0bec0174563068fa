/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/guard.h"

#include "core/adaptation/time_constants.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {

constexpr double clearly_worse = 2; // ratio of estimated error rates
constexpr double unexplained = 2.0; // rms residual over the trained one
constexpr float far_off = 3; // largest calibration factor, counted over expected errors
constexpr double more_errors =
    1.2; // largest factor of error probabilities by label_refiner::model_mismatch()
constexpr double errors_last = statistics_memory;
// The same in symbols of the stream, used or not: four times as many used ones, of which each fourth is.
constexpr double errors_last_in_stream = 16 * errors_last;
constexpr double changes_last =
    65536;                     // time constant, symbols of the stream, used or not
constexpr double a_jump = 1.5; // remembered changes of the signal: more are disturbances
// Weight of the symbols of one time constant: 1 - 1/e.
constexpr double least_symbols = 0.63 * errors_last;
constexpr double most_errors =
    1 << 21; // of a checkpoint's sums: the longest batch and more

// Rms of a float of the expected waveform.
float amplitude(const model& of)
{
    const float planes = of.waveform->is_complex() ? 2 : 1;
    return std::sqrt(of.waveform->power() / planes);
}

// Half the distance between neighbours, over that.
float half_distance(const model& of)
{
    const float planes = of.waveform->is_complex() ? 2 : 1;
    return of.symbols.half_distance() * std::sqrt(planes);
}

/* The rms residual of a float below which most decisions are right: half the distance between
 * neighbours, but at most half the rms of the expected waveform. */
float residual_of_right_decisions(const model& of)
{
    return amplitude(of) * std::min(half_distance(of), 0.5f);
}

/* Whether residuals show which of two networks decides better. Where the noise of the training, of a float,
 * exceeds 0.8 of half the distance between neighbours, more than a third of the symbols of a dense
 * two-dimensional constellation are wrong. Labels that explain the samples best are those that compensate
 * wrong neighbours then: networks that had 4 to 9 % more errors than the trained one were preferred (16QAM
 * at a bit error rate of 0.15, where it is 0.96 of it; at 0.1 it is 0.77). */
bool are_comparable(const model& of)
{
    constexpr float most_noise = 0.8f;
    return of.waveform->noise() < most_noise * amplitude(of) * half_distance(of);
}

} // namespace

const char* guard::name(candidate which)
{
    static const char* const names[] = { "offline", "adaptive", "last good" };
    return names[which];
}

guard::guard(const model& initial, bool scrambled, std::uint64_t seed, std::size_t batch)
    : d_initial(initial),
      d_scrambled(scrambled),
      d_random(scrambled),
      d_candidates{ { { initial.net,
                        initial.temperature,
                        error_estimate(initial.symbols, scrambled) },
                      { initial.net,
                        initial.adapted_temperature,
                        error_estimate(initial.symbols, scrambled) },
                      { initial.net,
                        initial.adapted_temperature,
                        error_estimate(initial.symbols, scrambled) } } },
      d_tiles(seed),
      d_decisions{ std::vector<std::uint8_t>(batch),
                   std::vector<std::uint8_t>(batch),
                   std::vector<std::uint8_t>(batch) },
      d_refined(batch),
      d_error_probabilities(batch),
      d_decider(initial.net),
      d_scaled(initial.net),
      d_prepared(initial.net),
      d_streamed(initial.net, initial.window.stride()),
      d_labels(simd::tile),
      d_posteriors(d_labels.size() * initial.symbols.size())
{
    if (batch) {
        d_judge.emplace(*initial.waveform, initial.window, batch);
        d_refiner.emplace(initial.symbols, *initial.waveform, batch);
        d_residual_limit = residual_of_right_decisions(initial);
        d_compares = are_comparable(initial);
    }
}

void guard::restart_estimates()
{
    for (auto& each : d_candidates)
        each.estimate.forget();
    d_in_use = last_good;
    d_rivals = {};
    d_is_refined = d_changed = false;
    forget_errors();
    ++d_changes;
    if (d_judge) {
        d_judge->reset();
        d_refiner->reset();
    }
}

// Adds the calibrated posteriors of a view to the candidate's estimate.
void guard::add_posteriors(watched_network& each, const feature_view& view)
{
    d_scaled.parameters() = each.net.parameters();
    const auto& last = d_scaled.layers().back();
    for (std::size_t i = last.weights; i < d_scaled.parameters().size(); ++i)
        d_scaled.parameters()[i] /= each.temperature;
    d_prepared.assign(d_scaled);
    d_decider.decide(d_prepared, view, d_labels.data(), d_posteriors.data());
    each.estimate.add(d_labels.data(), d_posteriors.data(), view.count);
}

bool guard::explained() const
{
    return !d_judge || d_judge->noise() < unexplained * d_initial.waveform->noise();
}

double guard::symbol_error_rate() const
{
    const double rate = estimate().symbol_error_rate();
    return d_random ? rate : std::max(0.0, rate - estimate().pattern_errors());
}

distrust guard::distrusted(const missed_errors& missed) const
{
    if (std::isnan(d_initial.symbol_error_rate) || !d_initial.calibrated)
        return distrust::not_calibrated;
    if (!explained())
        return distrust::large_residual;
    const distrust by_noise =
        noise_distrusted(symbol_error_rate(), estimate().symbols(), missed);
    if (by_noise != distrust::none)
        return by_noise;
    if (d_random)
        return estimate().distrusted();
    if (estimate().symbols() < error_estimate::least_symbols)
        return distrust::few_symbols;
    return symbol_error_rate() < error_estimate::most_trusted ? distrust::none
                                                              : distrust::many_errors;
}

// The errors that the rate may miss have to be at most as many as those it counts.
distrust
guard::noise_distrusted(double rate, double symbols, const missed_errors& missed) const
{
    if (!d_refiner)
        return distrust::none;
    rate = std::max(rate, 1 / std::max(symbols, 1.0)); // at least one error
    const residual_scatter& scatter = d_refiner->scatter();
    if (d_changes >= a_jump)
        return distrust::changes;
    if (scatter.symbols() < least_symbols)
        return distrust::few_symbols;
    if (missed.slips > rate)
        return distrust::cycle_slips;
    return std::max(missed.residual,
                    scatter.unexplained_errors(d_initial.symbols.size())) > rate
               ? distrust::scattered_noise
               : distrust::none;
}

// The calibration factor counted when the model was trained; 1 without one.
double guard::errors_per_expected() const
{
    const float factor = d_initial.refined_errors_per_doubt;
    return std::isnan(factor) ? 1 : factor;
}

double guard::refined_symbol_error_rate() const
{
    return d_is_refined && d_refined_symbols > 0
               ? std::min(1.0,
                          errors_per_expected() * d_expected_errors / d_refined_symbols)
               : std::numeric_limits<double>::quiet_NaN();
}

distrust guard::refined_distrusted(const missed_errors& missed) const
{
    const float factor = d_initial.refined_errors_per_doubt;
    if (!(factor >= 1 / far_off && factor <= far_off)) // or NaN
        return distrust::not_calibrated;
    if (const distrust networks = distrusted(); networks != distrust::none)
        return networks;
    if (d_refined_symbols < least_symbols)
        return distrust::few_symbols;
    const distrust by_noise =
        noise_distrusted(refined_symbol_error_rate(), d_refined_symbols, missed);
    if (by_noise != distrust::none)
        return by_noise;
    return d_refiner->model_mismatch() < std::log(more_errors) ? distrust::none
                                                               : distrust::model_mismatch;
}

bool guard::lacks_symbols() const
{
    return d_initial.calibrated &&
           (estimate().symbols() < error_estimate::least_symbols ||
            (d_refiner && d_refiner->scatter().symbols() < least_symbols) ||
            (d_is_refined && d_refined_symbols < least_symbols));
}

bool guard::judge(const feature_view& batch, const network& average, std::size_t apart)
{
    d_candidates[adaptive].net.parameters() = average.parameters();
    const bool seen = d_judge && batch.count == d_decisions[0].size();
    d_is_refined = d_changed = false;
    const bool start_over = seen && judge_waveform(batch, apart);
    d_tiles.pass(batch.count, [&](std::size_t first, std::size_t count) {
        if (!start_over) // the adaptive network will be replaced
            estimate_errors(batch.from(first, count));
    });
    return start_over;
}

bool guard::judge_waveform(const feature_view& batch, std::size_t apart)
{
    d_turn = !d_turn;
    const auto is_compared = [&](candidate which) {
        return which == adaptive || (which == offline) == d_turn;
    };
    for (const candidate which : { offline, adaptive, last_good })
        if (which == d_in_use || is_compared(which)) {
            d_streamed.assign(d_candidates[which].net);
            d_decider.decide(d_streamed, batch, d_decisions[which].data());
        }
    const std::uint8_t* used = d_decisions[d_in_use].data();
    d_changed = d_judge->look(batch, used, apart);
    d_changes *= std::exp(-static_cast<double>(batch.count * apart) / changes_last);
    if (d_changed) {
        ++d_changes;
        d_refiner->reset();
        forget_errors();
        d_rivals = {};
    }
    if (d_judge->settled()) {
        const auto symbols = static_cast<double>(batch.count),
                   spacing = static_cast<double>(apart);
        const double lasts =
            std::max(errors_last,
                     std::min(errors_last * spacing, errors_last_in_stream / spacing));
        const double keep = std::exp(-symbols / lasts);
        d_refined = d_decisions[d_in_use];
        d_refiner->fade_scatter(keep);
        d_refiner->refine(*d_judge, d_refined.data(), apart);
        if (explained() || d_judge->noise() < d_residual_limit)
            d_judge->follow(d_refined.data());
        d_is_refined = true;
        d_expected_errors *= keep;
        d_refined_symbols *= keep;
        double sum = 0, known = 0; // without the batch's ends
        for (const float error_probability : d_refiner->error_probabilities())
            if (!std::isnan(error_probability)) {
                sum += error_probability;
                ++known;
            }
        std::transform(
            d_refiner->error_probabilities().begin(),
            d_refiner->error_probabilities().end(),
            d_error_probabilities.begin(),
            [this](float error_probability) { // std::min() would replace NaN by 1
                const double each = errors_per_expected() * error_probability;
                return static_cast<float>(each > 1 ? 1 : each);
            });
        if (known > 0) {
            d_expected_errors += sum / known * symbols;
            d_refined_symbols += symbols;
        }
    }
    if (!d_compares)
        return false;
    for (const candidate which : { offline, adaptive, last_good })
        if (which != d_in_use && is_compared(which)) {
            const auto votes =
                d_judge->compare(d_decisions[which].data(), used, d_refiner->noise());
            d_rivals[which].better.add(votes.first, votes.second);
            d_rivals[which].worse.add(votes.second, votes.first);
        }
    for (const candidate which : { offline, adaptive, last_good })
        if (d_rivals[which].better.sure()) {
            d_in_use = which;
            d_rivals = {};
            return false;
        }
    // Whether the network in use is significantly better than the adaptive one, or if it is the
    // adaptive one, than the last good one.
    auto& rival = d_rivals[d_in_use == adaptive ? last_good : adaptive];
    if (!rival.worse.sure())
        return false;
    rival = {};
    if (d_in_use != adaptive) {
        d_candidates[adaptive].estimate = estimate();
        return true;
    }
    d_candidates[last_good] = d_candidates[adaptive];
    return false;
}

// Updates all estimates with a tile of the batch.
void guard::estimate_errors(const feature_view& part)
{
    bool changed = false;
    for (const candidate which : { offline, adaptive, last_good }) {
        if (which == last_good && !d_judge) // it is the offline network then
            continue;
        add_posteriors(d_candidates[which], part);
        changed = changed || d_candidates[which].estimate.changed();
    }
    // All restart, as estimates are comparable on the same symbols only.
    for (auto& each : d_candidates)
        if (changed)
            each.estimate.keep_latest();
    if (d_judge) {
        if (d_scrambled && explained() &&
            estimate().symbols() >= error_estimate::least_symbols)
            d_random = estimate().pattern_errors() == 0;
        return;
    }
    // With one more error each, so that few symbols do not give a low rate.
    const auto errors = [&](candidate which) {
        return estimate(which).symbol_error_rate() * estimate(which).symbols() + 1;
    };
    d_in_use = errors(adaptive) > clearly_worse * errors(offline) ? offline : adaptive;
}

const network& guard::choose(const network& average) const
{
    return d_in_use == adaptive ? average : d_candidates[d_in_use].net;
}

void guard::reset()
{
    restart_estimates();
    d_changes = 0;
    if (d_judge) {
        d_judge->forget();
        d_refiner->forget();
    }
    d_candidates[last_good].net = d_initial.net;
    d_in_use = offline;
    d_random = d_scrambled;
    d_tiles.reset();
    d_turn = false;
}

void guard::watched_network::state(archive& members)
{
    members("network", net.parameters());
    members("estimate", estimate);
}

void guard::state(archive& members)
{
    members("offline", d_candidates[offline]);
    members("adaptive", d_candidates[adaptive]);
    members("last_good", d_candidates[last_good]);
    auto in_use = static_cast<std::uint32_t>(d_in_use);
    members("in_use", in_use);
    if (in_use > last_good)
        members.refuse("in_use", "is " + std::to_string(in_use) + ", allowed: 0 to 2");
    d_in_use = static_cast<candidate>(in_use);
    members("looks", d_tiles);
    if (!d_judge)
        return;
    members("judge", *d_judge);
    members("refiner", *d_refiner);
    members("refined", d_is_refined);
    members("doubt", d_expected_errors, 0.0, most_errors);
    members("doubted", d_refined_symbols, 0.0, most_errors);
    members("changes", d_changes, 0.0, 1e6);
    members("random", d_random);
    members("turn", d_turn);
    for (const candidate which : { offline, adaptive, last_good }) {
        members(std::string("better.") + name(which), d_rivals[which].better);
        members(std::string("worse.") + name(which), d_rivals[which].worse);
    }
}

} // namespace gr::adann::core
