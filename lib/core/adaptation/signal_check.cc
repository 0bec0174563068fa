/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/signal_check.h"

#include "core/adaptation/time_constants.h"
#include "core/common/printable.h"
#include "core/signal/divergence.h"
#include "core/simd/kernels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gr::adann::core {

namespace {

constexpr double saturated =
    0.1; // part of samples at the extremes, and three times the usual

constexpr double gaussian = 3; // kurtosis
constexpr double distinct_from_noise = 0.4;
constexpr double almost_noise = 0.25;
constexpr double kurtosis_memory = 2048; // symbols
constexpr double usual_memory = 65536;   // symbols
constexpr double enough_symbols = statistics_memory;

constexpr std::size_t pattern_sample = 512; // symbols
// Nats. Drifts with up to 20 % bit errors stay below 0.15; idle patterns of up to 64 symbols and
// white noise are above 0.5 (VCSEL link).
constexpr double implausible_patterns = 0.4;

std::size_t patterns_of(const label_parts& parts)
{
    const std::size_t k = parts.values;
    return k * k * (k <= 4 ? k : 1);
}

std::string two_digits(double number) { return std::to_string(number).substr(0, 4); }

// The mean of a function of the samples, in chunks, so that the loop is vectorized.
template <typename function>
double mean_of(const float* samples, std::size_t n, function f)
{
    constexpr std::size_t most = 1024; // summands for which single precision is enough
    double total = 0;
    std::size_t i = 0;
    while (i + simd::lanes <= n) {
        float sums[simd::lanes] = {};
        const std::size_t end = std::min(n, i + most * simd::lanes);
        for (; i + simd::lanes <= end; i += simd::lanes)
            for (std::size_t l = 0; l < simd::lanes; ++l)
                sums[l] += f(samples[i + l]);
        for (const float sum : sums)
            total += sum;
    }
    for (; i < n; ++i)
        total += f(samples[i]);
    return total / static_cast<double>(n);
}

double kurtosis(const float* samples, std::size_t n)
{
    const auto mean = static_cast<float>(mean_of(samples, n, [](float x) { return x; }));
    const auto square = [mean](float x) { return (x - mean) * (x - mean); };
    const double power = mean_of(samples, n, square);
    return mean_of(samples, n, [&](float x) { return square(x) * square(x); }) /
           (power * power);
}

} // namespace

signal_check::signal_check(const constellation& symbols, bool scrambled)
    : d_parts(symbols.parts()),
      d_scrambled(scrambled),
      d_patterns(d_parts.count * patterns_of(d_parts) + symbols.size())
{
}

std::string signal_check::problem(const feature_view& batch, const std::uint8_t* decided)
{
    std::string found = range_problem(batch);
    if (found.empty())
        found = noise_problem(batch);
    if (found.empty() && d_scrambled)
        found = pattern_problem(batch, decided);
    if (found.empty())
        learn_usual(batch);
    return found;
}

std::string signal_check::range_problem(const feature_view& batch)
{
    const float* samples = batch.data;
    const std::size_t n = batch.floats();
    if (!all_usable(samples, n))
        return "samples are NaN, infinite or beyond 1000";
    // In lanes and without branches, so that the loops are vectorized.
    float lows[simd::lanes], highs[simd::lanes];
    for (std::size_t l = 0; l < simd::lanes; ++l)
        lows[l] = highs[l] = samples[std::min(l, n - 1)];
    for (std::size_t i = 0; i + simd::lanes <= n; i += simd::lanes)
        for (std::size_t l = 0; l < simd::lanes; ++l) {
            const float x = samples[i + l];
            lows[l] = x < lows[l] ? x : lows[l];
            highs[l] = x > highs[l] ? x : highs[l];
        }
    float low = *std::min_element(lows, lows + simd::lanes);
    float high = *std::max_element(highs, highs + simd::lanes);
    for (std::size_t i = n / simd::lanes * simd::lanes; i < n; ++i) {
        low = std::min(low, samples[i]);
        high = std::max(high, samples[i]);
    }
    const float margin = 0.01f * (high - low);
    if (!(margin > 0))
        return "the samples are constant";
    const float from = low + margin, to = high - margin;
    std::int32_t outside = 0;
    for (std::size_t i = 0; i < n; ++i)
        outside +=
            static_cast<int>(samples[i] < from) | static_cast<int>(samples[i] > to);
    const double extremes = outside / static_cast<double>(n);
    if (extremes > saturated + 3 * d_usual_extremes)
        return "the samples are saturated: " +
               std::to_string(std::lround(100 * extremes)) +
               " % at the edges of their range";
    d_usual_extremes =
        d_usual_extremes > 1 ? extremes : 0.9 * d_usual_extremes + 0.1 * extremes;
    return "";
}

std::string signal_check::noise_problem(const feature_view& batch)
{
    const double now = kurtosis(batch.data, batch.floats());
    const auto n = static_cast<double>(batch.count);
    d_kurtosis = d_kurtosis == 0
                     ? now
                     : d_kurtosis + n / (n + kurtosis_memory) * (now - d_kurtosis);
    const double usual_distance = gaussian - d_usual_kurtosis;
    if (d_usual_symbols >= enough_symbols && usual_distance > distinct_from_noise &&
        gaussian - d_kurtosis < almost_noise * usual_distance)
        return "the samples are distributed like noise: their kurtosis is " +
               two_digits(d_kurtosis) + ", usually " + two_digits(d_usual_kurtosis);
    return "";
}

// Learns the usual values from a batch without a problem.
void signal_check::learn_usual(const feature_view& batch)
{
    const auto n = static_cast<double>(batch.count);
    d_usual_kurtosis += n / (n + d_usual_symbols) * (d_kurtosis - d_usual_kurtosis);
    d_usual_symbols = std::min(d_usual_symbols + n, usual_memory);
}

std::string signal_check::pattern_problem(const feature_view& batch,
                                          const std::uint8_t* decided)
{
    const std::size_t values = d_parts.values, patterns = patterns_of(d_parts);
    if (d_pattern_symbols >= pattern_sample) {
        std::fill(d_patterns.begin(), d_patterns.end(), 0.0f);
        d_pattern_symbols = 0;
    }
    for (std::size_t part = 0; part < d_parts.count; ++part) {
        const auto& of = d_parts.of[part];
        for (std::size_t t = 2; t < batch.count; ++t) {
            std::size_t pattern = of[decided[t - 1]] * values + of[decided[t]];
            if (values <= 4)
                pattern += of[decided[t - 2]] * values * values;
            ++d_patterns[part * patterns + pattern];
        }
    }
    float* const labels = &d_patterns[d_parts.count * patterns];
    for (std::size_t t = 0; t < batch.count; ++t)
        ++labels[decided[t]];
    d_pattern_symbols += batch.count;
    if (d_pattern_symbols < pattern_sample)
        return d_pattern_problem;
    d_pattern_problem.clear();
    for (std::size_t part = 0; part <= d_parts.count; ++part) {
        const auto first = d_patterns.begin() + part * patterns;
        const auto end = part < d_parts.count ? first + patterns : d_patterns.end();
        const auto n = static_cast<std::size_t>(end - first);
        const double total = std::accumulate(first, end, 0.0);
        const double divergence = divergence_from_uniform(
            n,
            [&](std::size_t k) { return first[k] / total; },
            static_cast<double>(n - 1) / (2 * total));
        if (divergence > implausible_patterns)
            d_pattern_problem =
                "the decisions are not those of random data: their patterns are " +
                two_digits(divergence) + " nats from uniform, allowed: " +
                two_digits(implausible_patterns).substr(0, 3);
    }
    return d_pattern_problem;
}

void signal_check::reset()
{
    d_usual_extremes = 2;
    d_kurtosis = d_usual_kurtosis = d_usual_symbols = 0;
    std::fill(d_patterns.begin(), d_patterns.end(), 0.0f);
    d_pattern_symbols = 0;
    d_pattern_problem.clear();
}

void signal_check::state(archive& members)
{
    constexpr double most = 1e9; // kurtosis of as many samples, of which one is not zero
    members("usual_extremes", d_usual_extremes, 0.0, 2.0);
    members("kurtosis", d_kurtosis, 0.0, most);
    members("usual_kurtosis", d_usual_kurtosis, 0.0, most);
    for (const double each : { d_kurtosis, d_usual_kurtosis })
        if (each > 0 && each < 0.99)
            members.refuse("kurtosis",
                           "is " + std::to_string(each) + ", allowed: from 1");
    members("usual_symbols", d_usual_symbols, 0.0, usual_memory);
    members("patterns", d_patterns, 0.0f, 1e9f);
    members("pattern_symbols", d_pattern_symbols);
    members("pattern_problem", d_pattern_problem);
    d_pattern_problem = printable(d_pattern_problem);
}

} // namespace gr::adann::core
