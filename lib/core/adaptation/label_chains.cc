/* Labels that are refined together, where responses are alike.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_descent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr float alike = 0.25f; // product of two responses, in a pair, of one's energy
// Of least_match, for a pair: what it lacks, symbols behind it may gain.
constexpr float part_of_chain = 0.7f;
} // namespace

float label_descent::product(std::size_t later, std::size_t own, std::size_t its) const
{
    const std::size_t floats = d_length * d_planes, shift = later * d_waveform.stride();
    return d_kernels->dot(
        &d_response[own * floats + shift], &d_response[its * floats], floats - shift);
}

// Later symbols whose responses are at least a quarter as one's own.
void label_descent::find_pairs()
{
    const float energy = product(0, 0, 0);
    d_pairs.clear();
    for (std::size_t later = 1; later <= farthest; ++later) {
        neighbour found{ later, {} };
        float most = 0;
        for (std::size_t d = 0; d < d_dimensions; ++d)
            for (std::size_t e = 0; e < d_dimensions; ++e) {
                found.products[d][e] = product(later, d, e);
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
        for (const other_label& one : d_others[all.labels[symbol]])
            for (const other_label& other : d_others[all.labels[later]]) {
                float product = 0;
                for (std::size_t d = 0; d < d_dimensions; ++d)
                    for (std::size_t e = 0; e < d_dimensions; ++e)
                        product += one.step[d] * other.step[e] * each.products[d][e];
                // Where that is positive, one of the two alone is better.
                const float least = one.least + other.least + least_match * product;
                if (product < 0 &&
                    one.along(own) + other.along(its) > part_of_chain * least)
                    if (const std::size_t last = try_chain(
                            all, end, { symbol, one.label }, { later, other.label }))
                        return last;
            }
    }
    return 0;
}

// Two labels, and as long as that gains nothing the one behind that is then most likely wrong.
// Returns the last symbol if that gains, else 0.
std::size_t
label_descent::try_chain(const stretch& all, std::size_t end, choice first, choice second)
{
    const known_part part = part_of(all, first.symbol);
    float* const start = part.white;
    const float* const known = all.white + (all.last - all.first) * d_waveform.stride();
    const auto n = std::min(d_kept.size(), static_cast<std::size_t>(known - start));
    std::copy_n(start, n, d_kept.begin());
    std::array<choice, longest> before;
    std::array<float, longest> likelihoods; // of all changes up to each
    std::size_t changed = 0;
    float gain = 0;
    for (choice next = first; next.symbol && changed < longest;) {
        gain += find_gain(all, next.symbol, next.label);
        take(part_of(all, next.symbol), d_change);
        likelihoods[changed] = changed ? likelihood(gain) : 0; // visit() knows it alone
        before[changed++] = { next.symbol,
                              std::exchange(all.labels[next.symbol], next.label) };
        if (changed > 1 && gain > 0)
            return next.symbol;
        next = changed == 1 ? second : most_likely_behind(all, next.symbol, end);
    }
    for (float sum = 0; changed--;) { // of those that the label is part of
        sum += likelihoods[changed];
        if (all.error_odds)
            all.error_odds[before[changed].symbol].together += sum;
        all.labels[before[changed].symbol] = before[changed].label;
    }
    std::copy_n(d_kept.begin(), n, start);
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
        for (const other_label& other : d_others[all.labels[later]]) {
            const float gain = other.half_gain(its);
            if (gain > most && other.is_tempting(its)) {
                most = gain;
                found = { later, other.label };
            }
        }
    }
    return found;
}

} // namespace gr::adann::core
