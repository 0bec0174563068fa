/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/learning_target.h"

#include "core/signal/known_symbols.h"

#include "core/common/checks.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
constexpr float blocks_averaged = 16;
constexpr float least_slope = 1e-4f;  // below it decisions and means give the same taps
constexpr float least_excess = 1e-3f; // of samples without noise
// Of a quiet label, over the mean: there errors of the taps are many deviations of the noise.
constexpr float least_noise = 0.25f;
} // namespace

const expected_waveform& waveform_of(const model& behind)
{
    if (!behind.waveform)
        refuse("model", "without an expected waveform", "one that has it");
    return *behind.waveform;
}

learning_target::learning_target(std::shared_ptr<const expected_waveform> waveform,
                                 const constellation& alphabet,
                                 std::size_t symbols)
    : d_waveform(std::move(waveform)),
      d_soft(*d_waveform, alphabet),
      d_label_noise(alphabet.size(), least_noise),
      d_points(alphabet.unit_points()),
      d_variety(d_waveform->probabilities(), block_symbols),
      d_expected(symbols * d_waveform->stride()),
      d_linear((symbols + d_soft.window()) * d_waveform->stride()),
      d_power(d_waveform->power()),
      d_learnt_noise(d_waveform->noise_power()),
      d_noise_power(d_learnt_noise)
{
}

void learning_target::soften(sample_history& history, std::size_t symbol, std::size_t n)
{
    symbol_labels& symbols = history.symbols();
    const std::size_t before = d_soft.window(), first = symbol - before;
    const std::size_t start = history.owned(first);
    const std::size_t floats = (before + n) * d_waveform->stride();
    if (!history.knows(before + n) || !history.is_usable(start))
        return;
    d_waveform->expect_nonlinear(symbols.labels(first), before + n, d_linear.data());
    const float* const samples = history.filtered(start);
    for (std::size_t i = 0; i < floats; ++i)
        d_linear[i] = samples[i] - d_linear[i];
    soft_decision* const found = symbols.decisions(symbol);
    d_soft.find(
        symbols.labels(symbol), d_linear.data(), n, d_excess, d_label_noise, found);
    for (std::size_t k = 0; k < n; ++k) {
        *symbols.estimates(symbol + k) =
            d_points[*symbols.labels(symbol + k)] + found[k].received;
    }
    take_known(history, symbol, n);
}

// Known symbols are certain, except for single ones that their estimates contradict.
void learning_target::take_known(sample_history& history,
                                 std::size_t symbol,
                                 std::size_t n)
{
    symbol_labels& symbols = history.symbols();
    const float v = variance() * d_excess;
    // Whether a label is more likely known wrongly than right.
    const auto contradicts = [&](std::size_t k) {
        const std::complex<float> estimate = *symbols.estimates(k);
        const std::complex<float> point = estimate - symbols.decisions(k)->received;
        return (1 - false_part) * std::exp(known_ratio(estimate, point, v)) < false_part;
    };
    std::size_t known = 0, contradicted = 0;
    for (std::size_t k = symbol; k < symbol + n; ++k)
        if (symbols.is_label_known(k)) {
            ++known;
            contradicted += contradicts(k);
        }
    const bool drops = 4 * contradicted <= known;
    for (std::size_t k = symbol; k < symbol + n; ++k)
        if (symbols.is_label_known(k) && !(drops && contradicts(k)))
            *symbols.decisions(k) = {};
}

float* learning_target::aim(const sample_history& history,
                            std::size_t symbol,
                            std::size_t n,
                            bool hard)
{
    float* const expected = expect(history.symbols().labels(symbol), n);
    if (d_slope > 0 && !hard)
        d_soft.aim(history.symbols().decisions(symbol),
                   n,
                   std::min(d_turning, most_turning),
                   expected);
    return expected;
}

float* learning_target::aim_known(const sample_history& history,
                                  std::size_t symbol,
                                  std::size_t n)
{
    const symbol_labels& symbols = history.symbols();
    if (symbols.count_unknown(symbol, n) == n)
        return nullptr;
    float* const expected = expect(symbols.labels(symbol), n);
    for (std::size_t k = 0; k < n; ++k)
        if (!symbols.is_label_known(symbol + k) ||
            symbols.decisions(symbol + k)->received != 0.0f) // excluded by take_known()
            std::fill_n(expected + k * d_waveform->stride(), d_waveform->stride(), 0.0f);
    return expected;
}

learning_target::block learning_target::aim_block(const sample_history& history,
                                                  std::size_t symbol,
                                                  std::size_t n,
                                                  bool hard)
{
    const symbol_labels& symbols = history.symbols();
    float* const expected = expect(symbols.labels(symbol), n);
    if (hard)
        return { expected, {} };
    // The part of symbols that show noise: known ones do not, nor those that count as sure.
    const float part =
        static_cast<float>(symbols.count_uncertain(symbol, n)) / static_cast<float>(n);
    const soft_decision* const decisions = symbols.decisions(symbol);
    const float slope = part > 0 ? d_soft.slope(decisions, n, d_excess) / part : 0;
    // Means that vary more than the estimates: there is silence, or another signal.
    if (slope > 1)
        return { expected, {} };
    const float* const samples = history.filtered(history.owned(symbol));
    const auto mean_square = [&] { // mean square of a sample
        float sum = 0;
        for (std::size_t i = 0; i < history.sample(n) * history.floats_per_sample(); ++i)
            sum += (samples[i] - expected[i]) * (samples[i] - expected[i]);
        return sum / static_cast<float>(history.sample(n));
    };
    d_label_noise.find();
    tap_bank::measured found{};
    found.residual = mean_square();
    d_latest_noise = found.residual + d_power * d_soft.hidden_noise(decisions, n);
    d_noise.add(d_latest_noise, blocks_averaged);
    if (!(part > 0))
        return { expected, {} };
    d_turns = std::min(d_turns + 1, blocks_averaged);
    d_slope += (slope - d_slope) / d_turns;
    d_slope = d_slope < least_slope ? 0 : std::min(d_slope, most_slope);
    const float turning = d_soft.turning(decisions, n) / part;
    d_turning += (std::min(turning, 1.0f) - d_turning) / d_turns;
    // A harmonic mean soon forgets the large values of a loss.
    const float excess = std::max(d_soft.excess(decisions, n) / part, least_excess);
    d_excess = 1 / (1 / d_excess + (1 / excess - 1 / d_excess) / blocks_averaged);
    if (d_slope == 0)
        return { expected, {} };
    d_soft.aim(decisions, n, d_slope, expected);
    found.scatter = mean_square();
    return { expected, found };
}

} // namespace gr::adann::core
