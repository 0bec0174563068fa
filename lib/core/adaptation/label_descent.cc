/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_descent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr float alike = 0.25f; // product of two responses, in a pair, of one's energy
// Factor of least_match for a pair: later symbols of a chain may gain what it lacks.
constexpr float part_of_chain = 0.7f;
} // namespace

label_descent::label_descent(const constellation& symbols,
                             const expected_waveform& waveform)
    : d_responses(symbols, waveform),
      d_alternatives(symbols),
      d_change(simd::whole_lanes(d_responses.floats())),
      d_best(d_change),
      d_kept(d_change.size() + most_together * waveform.stride()),
      d_label_noise(symbols.size(), 1.0f),
      d_kernels(&simd::active())
{
    d_pairs.reserve(farthest);
}

void label_descent::use(const refinement& signal)
{
    d_power = power_of(signal);
    d_residual = signal.residual;
    d_label_noise = signal.label_noise;
    d_responses.use(signal);
    d_alternatives.use(signal, d_responses);
    find_pairs();
}

label_descent::known_part label_descent::part_of(const stretch& all,
                                                 std::size_t symbol) const
{
    const std::size_t stride = d_responses.waveform().stride(),
                      lead = d_responses.before() * stride;
    const std::size_t middle = (symbol - all.first) * stride;
    // The first samples have no whitened residual, as whitening needs earlier ones.
    const std::size_t skipped =
        std::max(lead + d_responses.lags() * d_responses.planes(), middle) - middle;
    const std::size_t start = middle + skipped - lead;
    const std::size_t known = (all.last - all.first) * stride;
    return { skipped,
             std::min(d_responses.floats() - skipped, known - start),
             all.white + start };
}

label_descent::match label_descent::match_of(const stretch& all, std::size_t symbol) const
{
    const known_part part = part_of(all, symbol);
    match found;
    for (std::size_t d = 0; d < d_responses.dimensions(); ++d)
        found.along[d] = d_responses.along(d, part.white, part.skipped, part.n);
    return found;
}

// By how much another label lowers the residual energy; d_change has its change of the samples.
float label_descent::find_gain(const stretch& all, std::size_t symbol, std::uint8_t other)
{
    const known_part part = part_of(all, symbol);
    ++d_tries;
    d_responses.find_change(all.labels, all.count, symbol, other, d_change);
    const float* const change = &d_change[part.skipped];
    const float energy = d_kernels->dot(change, change, part.n);
    if (part.n == d_responses.floats())
        d_alternatives.learn_energy(all.labels[symbol], other, energy);
    return 2 * d_kernels->dot(change, part.white, part.n) - energy;
}

float label_descent::likelihood(float gain) const // within the floats
{
    return std::exp(std::min(gain / (2 * d_power), 80.0f));
}

bool label_descent::try_others(const stretch& all,
                               std::size_t symbol,
                               const match& found,
                               bool explores)
{
    const std::uint8_t now = all.labels[symbol];
    const auto& others = d_alternatives.of(now);
    std::uint8_t best = now, second = now;
    float most = 0, next = -std::numeric_limits<float>::max();
    float likelihoods = 1; // of all, relative to that of the label as it was
    const float along = d_alternatives.energy_along()(found);
    for (std::size_t i = 0; i < others.size(); ++i) {
        const label_alternatives::other_label& other = others[i];
        const float prior = prior_gain(all, symbol, other.label);
        if (!explores &&
            !d_alternatives.is_candidate(all.labels + symbol, i, found, prior))
            continue;
        const float by_samples = find_gain(all, symbol, other.label);
        const float gain = other.weighted(by_samples, along) + 2 * prior;
        if (explores)
            d_alternatives.learn_trial(all.labels + symbol, i, found, by_samples);
        if (all.error_odds)
            likelihoods += likelihood(gain);
        if (gain > most) {
            next = std::exchange(most, gain);
            second = std::exchange(best, other.label);
            std::swap(d_best, d_change);
        } else if (gain > next) {
            next = gain;
            second = other.label;
        }
    }
    if (all.error_odds) {
        all.error_odds[symbol].alone = likelihoods / likelihood(most) - 1;
        all.error_odds[symbol].other = second;
    }
    if (best == now)
        return false;
    take(part_of(all, symbol), d_best);
    all.labels[symbol] = best;
    return true;
}

// The change of a label out of the rest.
void label_descent::take(const known_part& part, const aligned_floats& change)
{
    for (std::size_t k = 0; k < part.n; ++k)
        part.white[k] -= change[part.skipped + k];
}

// Later symbols whose responses are at least a quarter as one's own.
void label_descent::find_pairs()
{
    const float energy = d_responses.product(0, 0, 0);
    d_pairs.clear();
    for (std::size_t later = 1; later <= farthest; ++later) {
        neighbour found{ later, {} };
        float most = 0;
        for (std::size_t d = 0; d < d_responses.dimensions(); ++d)
            for (std::size_t e = 0; e < d_responses.dimensions(); ++e) {
                found.products[d][e] = d_responses.product(later, d, e);
                most = std::max(most, std::abs(found.products[d][e]));
            }
        if (most > alike * energy)
            d_pairs.push_back(found);
    }
}

std::size_t label_descent::visit_pairs(const stretch& all,
                                       std::size_t symbol,
                                       std::size_t end,
                                       const match* found)
{
    for (const neighbour& each : d_pairs) {
        const std::size_t later = symbol + each.later;
        if (later >= end)
            break;
        const match own = found ? found[0] : match_of(all, symbol);
        const match its = found ? found[each.later] : match_of(all, later);
        for (const label_alternatives::other_label& one :
             d_alternatives.of(all.labels[symbol])) {
            const float along = one.along(own) + prior_gain(all, symbol, one.label);
            for (const label_alternatives::other_label& other :
                 d_alternatives.of(all.labels[later])) {
                float product = 0;
                for (std::size_t d = 0; d < d_responses.dimensions(); ++d)
                    for (std::size_t e = 0; e < d_responses.dimensions(); ++e)
                        product += one.step[d] * other.step[e] * each.products[d][e];
                // Where that is positive, one of the two alone is better.
                const float least =
                    one.least + other.least + label_alternatives::least_match * product;
                if (product < 0 &&
                    along + other.along(its) + prior_gain(all, later, other.label) >
                        part_of_chain * least)
                    if (const std::size_t last = try_chain(
                            all, end, { symbol, one.label }, { later, other.label }))
                        return last;
            }
        }
    }
    return 0;
}

// Keeps the rest from a part on, as far as changes of a chain or a sequence reach. Returns its length.
std::size_t label_descent::keep(const stretch& all, const known_part& part)
{
    const float* const known =
        all.white + (all.last - all.first) * d_responses.waveform().stride();
    const auto n = std::min(d_kept.size(), static_cast<std::size_t>(known - part.white));
    std::copy_n(part.white, n, d_kept.begin());
    return n;
}

// Adds what it gains; the choice has the former label then.
void label_descent::change(const stretch& all, choice& made, float& gain)
{
    gain += find_gain(all, made.symbol, made.label) +
            2 * prior_gain(all, made.symbol, made.label);
    take(part_of(all, made.symbol), d_change);
    std::swap(all.labels[made.symbol], made.label);
}

bool label_descent::try_sequence(const stretch& all, const choice* choices, std::size_t n)
{
    const known_part part = part_of(all, choices[0].symbol);
    const std::size_t kept = keep(all, part);
    std::array<choice, most_together> made;
    float gain = 0;
    for (std::size_t i = 0; i < n; ++i)
        change(all, made[i] = choices[i], gain);
    if (gain > 0)
        return true;
    for (std::size_t i = 0; i < n; ++i)
        all.labels[made[i].symbol] = made[i].label;
    std::copy_n(d_kept.begin(), kept, part.white);
    return false;
}

// Changes two labels, and while that gains nothing, the later one that is then most likely wrong, too.
// Returns the last symbol if the chain gains, else 0.
std::size_t
label_descent::try_chain(const stretch& all, std::size_t end, choice first, choice second)
{
    const known_part part = part_of(all, first.symbol);
    const std::size_t kept = keep(all, part);
    std::array<choice, longest> made;
    std::array<float, longest> likelihoods; // of all changes up to each
    std::size_t changed = 0;
    float gain = 0;
    for (choice next = first; next.symbol && changed < longest;) {
        change(all, made[changed] = next, gain);
        likelihoods[changed] = changed ? likelihood(gain) : 0; // visit() knows it alone
        if (++changed > 1 && gain > 0)
            return next.symbol;
        next = changed == 1 ? second : most_likely_behind(all, next.symbol, end);
    }
    for (float sum = 0; changed--;) { // of those that the label is part of
        sum += likelihoods[changed];
        if (all.error_odds)
            all.error_odds[made[changed].symbol].together += sum;
        all.labels[made[changed].symbol] = made[changed].label;
    }
    std::copy_n(d_kept.begin(), kept, part.white);
    return 0;
}

// By the affine part; symbol 0 if none is tempting.
label_descent::choice label_descent::most_likely_behind(const stretch& all,
                                                        std::size_t symbol,
                                                        std::size_t end) const
{
    choice found{};
    float most = -std::numeric_limits<float>::max();
    for (const neighbour& each : d_pairs) {
        const std::size_t later = symbol + each.later;
        if (later >= end)
            break;
        const match its = match_of(all, later);
        for (const label_alternatives::other_label& other :
             d_alternatives.of(all.labels[later])) {
            const float prior = prior_gain(all, later, other.label);
            const float gain = other.half_gain(its) + prior;
            if (gain > most && other.is_candidate(its, prior)) {
                most = gain;
                found = { later, other.label };
            }
        }
    }
    return found;
}

} // namespace gr::adann::core
