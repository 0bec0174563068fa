/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/guard.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

constexpr std::size_t look_every = 512; // symbols, at a tile of them
constexpr double clearly_better = 0.9;  // error rates' ratio
constexpr double clearly_worse = 2;
// The offline network has learnt from labels; what adapts is biased to its own decisions,
// and surer of them. Until the signal drifts: then the offline one errs more often than it
// doubts.
constexpr double as_trained_benefit = 0.75;
constexpr double drifted_burden = 1.5;
constexpr double drifted = 1.5;   // error rate over the one with labels
constexpr double saturated = 0.1; // of the samples, beyond three times their usual part
// Kurtosis: of Gaussian noise 3, of PAM and QAM about 2 and more with intersymbol
// interference.
constexpr double gaussian = 3;
constexpr double not_gaussian = 2.6;       // then noise can be told from the signal
constexpr double almost_gaussian = 0.25;   // of the usual distance to it is left
constexpr double kurtosis_memory = 2048;   // symbols
constexpr double usual_memory = 65536;     // symbols
constexpr std::size_t patience = 16384;     // symbols before a rollback
constexpr std::size_t good_lasts = 8192;    // symbols until the next good one is kept
constexpr std::size_t pattern_sample = 512; // symbols
// Nats. Drifts with up to 20 % bit errors stay below 0.15, idle patterns of up to 64
// symbols and noise that is not band-limited are above 0.5 (VCSEL link).
constexpr double implausible_patterns = 0.4;

std::size_t patterns_of(const symbol_levels& l)
{
    return l.levels * l.levels * (l.levels <= 4 ? l.levels : 1);
}

double kurtosis(const float* samples, std::size_t n)
{
    double mean = 0, second = 0, fourth = 0;
    for (std::size_t i = 0; i < n; ++i)
        mean += samples[i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double square = (samples[i] - mean) * (samples[i] - mean);
        second += square;
        fourth += square * square;
    }
    return n * fourth / (second * second);
}

} // namespace

const char* guard::name(candidate which)
{
    static const char* const names[] = { "offline", "adaptive", "last good" };
    return names[which];
}

guard::guard(const model& initial, bool scrambled)
    : d_initial(initial),
      d_scrambled(scrambled),
      d_levels(initial.symbols.size()),
      d_candidates{ { { initial.net,
                        initial.temperature,
                        error_estimate(initial.symbols.size(), scrambled) },
                      { initial.net,
                        initial.adapted_temperature,
                        error_estimate(initial.symbols.size(), scrambled) },
                      { initial.net,
                        initial.adapted_temperature,
                        error_estimate(initial.symbols.size(), scrambled) } } },
      d_unjudged(0),
      d_patterns(d_levels.dimensions * patterns_of(d_levels)),
      d_decider(initial.net),
      d_scaled(initial.net),
      d_prepared(initial.net)
{
}

std::string guard::signal_problem(const feature_view& batch, const std::uint8_t* decided)
{
    const float* samples = batch.data;
    if (!all_usable(samples, batch.floats()))
        return "samples are NaN, infinite or beyond 1000";
    const auto [low, high] = std::minmax_element(samples, samples + batch.floats());
    const float margin = 0.01f * (*high - *low);
    if (!(margin > 0))
        return "the samples are constant";
    const double extremes =
        std::count_if(samples,
                      samples + batch.floats(),
                      [&](float x) { return x < *low + margin || x > *high - margin; }) /
        static_cast<double>(batch.floats());
    if (extremes > saturated + 3 * d_usual_extremes)
        return "the samples are saturated: " +
               std::to_string(std::lround(100 * extremes)) +
               " % at the edges of their range";
    const double batch_kurtosis = kurtosis(samples, batch.floats());
    const auto n = static_cast<double>(batch.count);
    if (d_usual_kurtosis == 0)
        d_kurtosis = d_usual_kurtosis = batch_kurtosis;
    d_kurtosis += n / (n + kurtosis_memory) * (batch_kurtosis - d_kurtosis);
    if (d_usual_kurtosis < not_gaussian &&
        gaussian - d_kurtosis < almost_gaussian * (gaussian - d_usual_kurtosis))
        return "the samples are distributed like noise: kurtosis " +
               std::to_string(d_kurtosis).substr(0, 4) + ", usually " +
               std::to_string(d_usual_kurtosis).substr(0, 4);
    d_usual_kurtosis += n / (n + usual_memory) * (d_kurtosis - d_usual_kurtosis);
    d_usual_extremes =
        d_usual_extremes > 1 ? extremes : 0.9 * d_usual_extremes + 0.1 * extremes;
    if (!d_scrambled)
        return "";

    const std::size_t levels = d_levels.levels, patterns = patterns_of(d_levels);
    if (d_pattern_symbols >= pattern_sample) {
        std::fill(d_patterns.begin(), d_patterns.end(), 0.0f);
        d_pattern_symbols = 0;
    }
    for (std::size_t dimension = 0; dimension < d_levels.dimensions; ++dimension)
        for (std::size_t t = 2; t < batch.count; ++t) {
            const auto level = [&](std::size_t i) {
                return d_levels.level(decided[i], dimension);
            };
            std::size_t pattern = level(t - 1) * levels + level(t);
            if (levels <= 4)
                pattern += level(t - 2) * levels * levels;
            ++d_patterns[dimension * patterns + pattern];
        }
    d_pattern_symbols += batch.count;
    if (d_pattern_symbols < pattern_sample)
        return d_pattern_problem;
    d_pattern_problem.clear();
    for (std::size_t dimension = 0; dimension < d_levels.dimensions; ++dimension) {
        const float* counted = &d_patterns[dimension * patterns];
        double total = 0, divergence = 0;
        for (std::size_t i = 0; i < patterns; ++i)
            total += counted[i];
        for (std::size_t i = 0; i < patterns; ++i)
            if (counted[i] > 0)
                divergence +=
                    counted[i] / total * std::log(counted[i] / total * patterns);
        divergence -= static_cast<double>(patterns - 1) / (2 * total);
        if (divergence > implausible_patterns)
            d_pattern_problem =
                "the decisions are not those of random data: their patterns are " +
                std::to_string(divergence).substr(0, 4) +
                " nats from uniform, allowed: 0.4";
    }
    return d_pattern_problem;
}

void guard::restart_estimates()
{
    for (auto& each : d_candidates)
        each.estimate = error_estimate(d_initial.symbols.size(), d_scrambled);
    d_in_use = last_good;
    d_declining = 0;
}

// The calibrated posteriors of a view, into the candidate's estimate.
void guard::look(contender& each, const feature_view& view)
{
    d_scaled.parameters() = each.net.parameters();
    const auto& last = d_scaled.layers().back();
    for (std::size_t i = last.weights; i < d_scaled.parameters().size(); ++i)
        d_scaled.parameters()[i] /= each.temperature;
    d_prepared.assign(d_scaled);
    d_labels.resize(view.count);
    d_posteriors.resize(view.count * d_initial.symbols.size());
    d_decider.decide(d_prepared, view, d_labels.data(), d_posteriors.data());
    each.estimate.add(d_labels.data(), d_posteriors.data(), view.count);
    if (each.estimate.changed())
        each.estimate.keep_latest();
}

double guard::badness(candidate which) const
{
    const auto& estimate = d_candidates[which].estimate;
    const bool as_trained =
        estimate.symbol_error_rate() < drifted * (d_initial.symbol_error_rate + 1e-4);
    const double benefit = which != offline ? 1
                           : as_trained     ? as_trained_benefit
                                            : drifted_burden;
    return benefit * (estimate.symbol_error_rate() * estimate.symbols() + 1) /
           (estimate.symbols() + 1);
}

bool guard::judge(const feature_view& batch, const network& average)
{
    d_unjudged += batch.count;
    if (d_unjudged < look_every)
        return false;
    const std::size_t n = std::min(batch.count, d_unjudged / look_every * simd::tile);
    d_candidates[adaptive].net.parameters() = average.parameters();
    for (auto& each : d_candidates)
        look(each, batch.from(0, n));
    keep_good(average);

    double least = badness(d_in_use);
    for (const candidate which : { offline, adaptive, last_good })
        if (badness(which) < clearly_better * least) {
            least = badness(which);
            d_in_use = which;
        }
    d_declining =
        badness(adaptive) > clearly_worse * least ? d_declining + d_unjudged : 0;
    d_unjudged %= look_every;
    if (d_declining < patience)
        return false;
    d_declining = 0;
    d_candidates[adaptive].estimate = estimate();
    return true;
}

void guard::keep_good(const network& average)
{
    d_since_good += d_unjudged;
    if (d_since_good < good_lasts || !estimate(adaptive).trustworthy() ||
        badness(adaptive) * clearly_better > badness(last_good))
        return;
    d_since_good = 0;
    d_candidates[last_good].net.parameters() = average.parameters();
    d_candidates[last_good].estimate = estimate(adaptive);
}

const network& guard::choose(const network& average) const
{
    return d_in_use == adaptive ? average : d_candidates[d_in_use].net;
}

void guard::reset()
{
    restart_estimates();
    d_candidates[last_good].net = d_initial.net;
    d_in_use = offline;
    d_since_good = 0;
}

void guard::contender::state(archive& members)
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
    members("unjudged", d_unjudged);
    members("declining", d_declining);
    members("since_good", d_since_good);
    members("usual_extremes", d_usual_extremes);
    members("kurtosis", d_kurtosis);
    members("usual_kurtosis", d_usual_kurtosis);
    members("patterns", d_patterns);
    members("pattern_symbols", d_pattern_symbols);
    members("pattern_problem", d_pattern_problem);
}

} // namespace gr::adann::core
