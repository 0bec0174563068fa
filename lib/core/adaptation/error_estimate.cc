/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/error_estimate.h"

#include "core/adaptation/time_constants.h"
#include "core/signal/divergence.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
constexpr double memory = statistics_memory;
constexpr double latest = 512;       // symbols in which a change is detected
constexpr double errors_per_nat = 3; // of the pattern score
// Significance of a score. Contexts overlap, which makes its deviation up to 1.3 times that of
// independent ones.
constexpr double standard_deviations = 5;
constexpr double least_score =
    0.003;                  // nats: with few contexts chi-squared has a long tail
constexpr double alike = 3; // largest ratio of the uncertainties of I and Q
} // namespace

error_estimate::error_estimate(const constellation& symbols, bool scrambled)
    : d_symbols(symbols),
      d_classes(symbols.size()),
      d_parts(symbols.parts()),
      d_scrambled(scrambled)
{
    d_past.posteriors.resize(d_parts.count * contexts() * d_parts.values);
    d_latest.posteriors = d_past.posteriors;
    d_latest.labels = d_past.labels = std::vector<float>(d_classes);
    for (std::size_t part = 0; part < d_parts.count; ++part) {
        d_having[part].resize(d_parts.values);
        for (std::size_t label = 0; label < d_classes; ++label)
            d_having[part][d_parts.of[part][label]].push_back(
                static_cast<std::uint8_t>(label));
    }
    for (std::size_t axis = 0; d_symbols.is_product() && axis < d_symbols.dimensions();
         ++axis)
        for (std::size_t label = 0; label < d_classes; ++label) {
            auto& same = d_on_level[axis].emplace_back();
            for (std::size_t other = 0; other < d_classes; ++other)
                if (d_symbols.level(other, axis) == d_symbols.level(label, axis))
                    same.push_back(static_cast<std::uint8_t>(other));
        }
}

void error_estimate::counts::fade(double factor)
{
    symbols *= factor;
    squares *= factor * factor;
    uncertainty *= factor;
    for (auto& sum : axes)
        sum *= factor;
    for (auto* sums : { &posteriors, &labels })
        for (auto& sum : *sums)
            sum *= static_cast<float>(factor);
}

void error_estimate::counts::add(const counts& more)
{
    symbols += more.symbols;
    squares += more.squares;
    uncertainty += more.uncertainty;
    for (std::size_t i = 0; i < posteriors.size(); ++i)
        posteriors[i] += more.posteriors[i];
    for (std::size_t i = 0; i < labels.size(); ++i)
        labels[i] += more.labels[i];
    for (std::size_t i = 0; i < axes.size(); ++i)
        axes[i] += more.axes[i];
}

std::size_t error_estimate::contexts() const
{
    const std::size_t k = d_parts.values;
    return k <= 4 ? k * k * k : k * k;
}

void error_estimate::add(const std::uint8_t* decided,
                         const float* posteriors,
                         std::size_t n)
{
    if (d_latest.symbols >= latest) {
        d_past.add(d_latest);
        d_past.fade(memory / (memory + d_latest.symbols));
        d_latest.fade(0);
    }

    const std::size_t values = d_parts.values;
    d_latest.symbols += static_cast<double>(n);
    d_latest.squares += static_cast<double>(n);
    for (std::size_t t = 0; t < n; ++t)
        d_latest.uncertainty += 1 - posteriors[t * d_classes + decided[t]];
    for (std::size_t t = 0; t < n; ++t)
        for (std::size_t label = 0; label < d_classes; ++label)
            d_latest.labels[label] += posteriors[t * d_classes + label];
    for (std::size_t axis = 0; axis < d_on_level.size(); ++axis)
        for (std::size_t t = 0; t < n && !d_on_level[axis].empty(); ++t) {
            float certainty = 0;
            for (const std::size_t label : d_on_level[axis][decided[t]])
                certainty += posteriors[t * d_classes + label];
            d_latest.axes[axis] += 1 - certainty;
        }
    if (!d_scrambled)
        return;
    for (std::size_t part = 0; part < d_parts.count; ++part) {
        const auto& of = d_parts.of[part];
        for (std::size_t t = 2; t + 1 < n; ++t) {
            std::size_t context = of[decided[t - 1]] * values + of[decided[t + 1]];
            if (values <= 4)
                context += of[decided[t - 2]] * values * values;
            float* sums = &d_latest.posteriors[(part * contexts() + context) * values];
            for (std::size_t value = 0; value < values; ++value) {
                float sum = 0;
                for (const std::size_t label : d_having[part][value])
                    sum += posteriors[t * d_classes + label];
                sums[value] += sum;
            }
        }
    }
}

bool error_estimate::changed() const
{
    if (d_past.symbols < latest)
        return false;
    const double expected = d_past.uncertainty / d_past.symbols * d_latest.symbols;
    return std::abs(d_latest.uncertainty - expected) > chance(expected);
}

double error_estimate::chance(double expected)
{
    // Most symbols are certain and few are not: the variance of a sum of uncertainties is about a
    // quarter of the sum.
    return 4 * std::sqrt(0.25 * expected + 0.25);
}

void error_estimate::keep_latest() { d_past.fade(0); }

void error_estimate::forget()
{
    d_past.fade(0);
    d_latest.fade(0);
}

double error_estimate::independent_symbols() const
{
    const double squares = d_past.squares + d_latest.squares;
    return squares > 0 ? symbols() * symbols() / squares : 0;
}

double error_estimate::pattern_score() const
{
    const std::size_t values = d_parts.values;
    double divergence = 0, freedom = 0;
    for (std::size_t row = 0; row < d_past.posteriors.size(); row += values) {
        double mean[8], count = 0;
        for (std::size_t k = 0; k < values; ++k)
            count += mean[k] = d_past.posteriors[row + k] + d_latest.posteriors[row + k];
        if (count <= 0)
            continue;
        for (std::size_t k = 0; k < values; ++k)
            if (mean[k] > 0)
                divergence +=
                    mean[k] * std::log(static_cast<float>(mean[k] / count * values));
        freedom += static_cast<double>(values - 1);
    }
    return freedom > 0 ? divergence / symbols() - freedom / 2 / independent_symbols() : 0;
}

double error_estimate::beyond_chance() const
{
    // 2 n times a divergence of n symbols is chi-squared:
    // its variance is twice its degrees of freedom.
    const std::size_t rows = d_past.posteriors.size() / d_parts.values;
    const auto freedom = static_cast<double>(rows * (d_parts.values - 1));
    const double deviation = std::sqrt(freedom / 2) / independent_symbols();
    const double score = pattern_score();
    return score > std::max(standard_deviations * deviation, least_score) ? score : 0;
}

double error_estimate::pattern_errors() const { return errors_per_nat * beyond_chance(); }

double error_estimate::symbol_error_rate() const
{
    if (symbols() <= 0)
        return 1;
    const double uncertainty = (d_past.uncertainty + d_latest.uncertainty) / symbols();
    return std::clamp(uncertainty + pattern_errors(), 0.0, 1.0);
}

bool error_estimate::equal_axes() const
{
    const double i = d_past.axes[0] + d_latest.axes[0],
                 q = d_past.axes[1] + d_latest.axes[1];
    return !d_symbols.is_product() || d_symbols.dimensions() != 2 ||
           std::max(i, q) <= alike * std::min(i, q) + chance(std::max(i, q));
}

bool error_estimate::equal_labels() const
{
    if (!d_scrambled)
        return true;
    const double divergence = divergence_from_uniform(d_classes, [&](std::size_t label) {
        return (d_past.labels[label] + d_latest.labels[label]) / std::max(symbols(), 1.0);
    });
    const double freedom = static_cast<double>(d_classes - 1), n = independent_symbols();
    return divergence - freedom / 2 / n <=
           std::max(standard_deviations * std::sqrt(freedom / 2) / n, least_score);
}

distrust error_estimate::distrusted() const
{
    if (symbols() < least_symbols)
        return distrust::few_symbols;
    if (!equal_labels())
        return distrust::labels;
    if (beyond_chance() > 0)
        return distrust::patterns;
    if (!equal_axes())
        return distrust::axes;
    return symbol_error_rate() < most_trusted ? distrust::none : distrust::many_errors;
}

void error_estimate::state(archive& members)
{
    members("past", d_past);
    members("latest", d_latest);
}

void error_estimate::counts::state(archive& members)
{
    constexpr double beyond_memory = 1e5; // symbols
    members("symbols", symbols, 0.0, beyond_memory);
    members("squares", squares, 0.0, beyond_memory);
    members("uncertainty", uncertainty, -1.0, beyond_memory); // negative by rounding
    for (const std::size_t axis : { 0, 1 })
        members("axis" + std::to_string(axis), axes[axis], -beyond_memory, beyond_memory);
    members("posteriors", posteriors, 0.0f, 1e5f);
    members("labels", labels, 0.0f, 1e5f);
}

} // namespace gr::adann::core
