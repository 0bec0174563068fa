/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_posteriors.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <utility>

namespace gr::adann::core {

namespace {
// Negative ln of the likelihood ratio of a label, or of several, that is ignored; of one that no later
// change makes likely.
constexpr float unlikely = 7, hopeless = 28;
constexpr float least = 1e-6f; // posterior
constexpr float least_ln = -13.8f;
// ln of the likelihood ratio by which changes of two labels interact: that is considered at all, and that
// distinguishes states.
constexpr float meeting = 0.3f, parting = 1;
constexpr float strong = 0.25f; // product of two responses of a pair, of one's energy
// Of the noise's power: Gaussian noise of the mean power is too sure by that, as measured on the links of
// docs/results/refinement.md.
constexpr float margin = 1.03f;
// Of a symbol's noise, over the mean, else it is disturbed; of the mean, over that of refinement.
constexpr float most_power = 10, least_noise = 0.01f;
constexpr float remembered = 512;            // blocks, of the noise
constexpr float labels_remembered = 1 << 16; // symbols, of the noise of each label
constexpr float prior = 64;                  // symbols of each label, of the mean noise
} // namespace

label_posteriors::label_posteriors(const constellation& symbols)
    : d_classes(symbols.size()),
      d_dimensions(symbols.dimensions()),
      d_alternatives(symbols.size()),
      d_energies(symbols.size()),
      d_counts(symbols.size()),
      d_steps(window + 1)
{
    find_alternatives(symbols);
}

// Their labels; which of the farther ones are worth a look depends on the noise.
void label_posteriors::find_alternatives(const constellation& symbols)
{
    const auto& points = symbols.points();
    std::vector<float> distances(d_classes);
    for (std::size_t now = 0; now < d_classes; ++now) {
        std::transform(points.begin(), points.end(), distances.begin(), [&](auto point) {
            return std::abs(point - points[now]);
        });
        alternatives& own = d_alternatives[now];
        const auto& near = symbols.neighbours(now);
        own.near = own.all = near.size();
        for (std::size_t i = 0; i < own.near; ++i)
            own.of[i].label = near[i];
        for (std::size_t other = 0; other < d_classes; ++other)
            if (other != now && std::find(near.begin(), near.end(), other) == near.end())
                own.farther.push_back(static_cast<std::uint8_t>(other));
        std::stable_sort(own.farther.begin(), own.farther.end(), [&](auto one, auto two) {
            return distances[one] < distances[two];
        });
    }
}

void label_posteriors::use(const label_descent& signal)
{
    d_power = signal.power();
    d_reach = d_distinct = d_strong = 0;
    float own = 0;
    for (std::size_t later = 0; later <= memory; ++later) {
        float most = 0;
        for (std::size_t d = 0; d < d_dimensions; ++d)
            for (std::size_t e = 0; e < d_dimensions; ++e) {
                const float product = signal.responses().product(later, d, e);
                d_products[later][2 * d + e] = product;
                most = std::max(most, std::abs(product));
            }
        if (later == 0)
            own = most;
        // Of the smallest change of a label, whose energy is least_energy.
        d_most[later] = own > 0 ? most / own * signal.alternatives().least_energy() : 0;
        if (later > 0 && d_most[later] > meeting * d_power)
            d_reach = later;
        if (later > 0 && d_most[later] > parting * d_power)
            d_distinct = later;
        if (later > 0 && most > strong * own)
            d_strong = later;
    }
    for (std::size_t d = 0; d < 2; ++d)
        d_inverse[d] = d < d_dimensions ? 1 / d_products[0][3 * d] : 0;
    // Of the powers of labels, over the mean.
    const float all = std::accumulate(d_counts.begin(), d_counts.end(), 0.0f);
    const float mean =
        std::accumulate(d_energies.begin(), d_energies.end(), 0.0f) / std::max(all, 1.0f);
    const auto part = [&](std::size_t label) {
        return mean > 0 ? (d_energies[label] / mean + prior) / (d_counts[label] + prior)
                        : 1;
    };
    const float keep = std::min(1.0f, labels_remembered / std::max(all, 1.0f));
    for (std::size_t now = 0; now < d_classes; ++now) {
        alternatives& of = d_alternatives[now];
        of.noise = 1 / part(now);
        for (std::size_t i = 0; i < of.near; ++i) {
            const auto& other =
                signal.alternatives().of(static_cast<std::uint8_t>(now))[i];
            of.of[i].step[0] = other.step[0];
            of.of[i].step[1] = other.step[1];
            of.of[i].loss = -other.half_gain({});
        }
        of.all = of.near;
        for (const std::uint8_t other : of.farther) {
            if (of.all == most_alternatives)
                break;
            alternative& next = of.of[of.all];
            next.label = other;
            next.loss = 0;
            for (std::size_t d = 0; d < d_dimensions; ++d)
                next.step[d] = signal.responses().difference(now, other, d);
            for (std::size_t d = 0; d < d_dimensions; ++d)
                for (std::size_t e = 0; e < d_dimensions; ++e)
                    next.loss +=
                        next.step[d] * d_products[0][2 * d + e] * next.step[e] / 2;
            // Noise that hides it lies half-way, at a quarter of the energy.
            if (next.loss < 4 * unlikely * d_noise * d_power)
                ++of.all;
        }
        for (std::size_t i = 0; i < of.all; ++i) {
            of.of[i].noise = 1 / part(of.of[i].label);
            of.bias[i] = static_cast<float>(d_dimensions) / 2 *
                         std::log(of.of[i].noise / of.noise);
        }
    }
    for (std::size_t label = 0; label < d_classes; ++label) {
        d_energies[label] *= keep;
        d_counts[label] *= keep;
    }
}

// At the likeliest alternatives of what is fresh.
void label_posteriors::look(std::size_t fresh)
{
    std::copy(d_best.begin() + block, d_best.end(), d_best.begin());
    std::copy(d_residuals.begin() + block, d_residuals.end(), d_residuals.begin());
    if (d_priors) {
        std::copy(
            d_prior_ratios.begin() + block, d_prior_ratios.end(), d_prior_ratios.begin());
        for (std::size_t i = window - fresh; i < window; ++i)
            find_prior_ratios(i);
    }
    for (std::size_t i = window - fresh; i < window; ++i) {
        const alternatives& own = d_alternatives[d_labels[i]];
        d_residuals[i] = residual_of(d_matches[i]);
        float best = posterior_ratio(own, i, 0, d_matches[i], d_residuals[i], 0);
        for (std::size_t k = 1; k < own.near; ++k)
            best = std::max(best,
                            posterior_ratio(own, i, k, d_matches[i], d_residuals[i], 0));
        d_best[i] = best;
    }
    for (std::size_t i = 0; i < window; ++i)
        d_unsure[i] = d_best[i] > -unlikely;
}

// Where both together are likely, though neither is alone.
void label_posteriors::look_at_pairs()
{
    for (std::size_t later = 1; later <= d_strong; ++later)
        for (std::size_t i = 0; i + later < window; ++i) {
            const std::size_t k = i + later;
            if ((d_unsure[i] && d_unsure[k]) ||
                d_best[i] + d_best[k] + 2 * d_scale * d_most[later] < -unlikely)
                continue;
            const alternatives &own = d_alternatives[d_labels[i]],
                               &its = d_alternatives[d_labels[k]];
            for (std::size_t a = 0; a < own.near; ++a) {
                label_descent::match matched = d_matches[k];
                take(matched, own.of[a].step, d_products[later]);
                const float left = residual_of(matched);
                const float alone =
                    posterior_ratio(own, i, a, d_matches[i], d_residuals[i], 0);
                for (std::size_t b = 0; b < its.near; ++b)
                    if (alone + posterior_ratio(its, k, b, matched, left, 0) > -unlikely)
                        d_unsure[i] = d_unsure[k] = true;
            }
        }
}

// The last of those that hang together with a symbol that is unsure.
std::size_t label_posteriors::last_near(std::size_t first) const
{
    const std::size_t apart = std::max<std::size_t>(d_reach, 1);
    std::size_t last = first;
    for (std::size_t k = first + 1; k < window && k <= last + apart; ++k)
        if (d_unsure[k])
            last = k;
    return last;
}

// What a symbol is matched by with a state's changes before it.
label_descent::match label_posteriors::matched_by(const state& of, std::size_t at) const
{
    label_descent::match matched = d_matches[at];
    for (std::size_t i = 0; i < of.count; ++i) {
        const change& each = of.changes[i];
        if (at - each.at <= d_reach)
            take(matched, each.step, d_products[at - each.at]);
    }
    return matched;
}

// A change of an earlier label out of what a symbol is matched by.
void label_posteriors::take(label_descent::match& matched,
                            const float* step,
                            const block_matrix& products)
{
    matched.along[0] -= step[0] * products[0] + step[1] * products[2];
    matched.along[1] -= step[0] * products[1] + step[1] * products[3];
}

// The residual along a symbol's response, squared: noise, where the label is right.
float label_posteriors::residual_of(const label_descent::match& matched) const
{
    return matched.along[0] * matched.along[0] * d_inverse[0] +
           matched.along[1] * matched.along[1] * d_inverse[1];
}

// ln of the likelihood of an alternative over that of the label decided.
float label_posteriors::ratio(const alternatives& of,
                              std::size_t which,
                              const label_descent::match& matched,
                              float left) const
{
    const alternative& other = of.of[which];
    const float found = d_scale * (other.gain(matched) * other.noise +
                                   left / 2 * (of.noise - other.noise)) +
                        of.bias[which];
    // Squares of a sample that is far too large are no numbers, and say nothing.
    return std::isnan(found) ? -std::numeric_limits<float>::infinity() : found;
}

void label_posteriors::find_prior_ratios(std::size_t at)
{
    const alternatives& own = d_alternatives[d_labels[at]];
    const float* const logarithms = d_priors + at * d_classes;
    for (std::size_t a = 0; a < own.all; ++a)
        d_prior_ratios[at][a] = logarithms[own.of[a].label] - logarithms[d_labels[at]];
}

// Of the changes of a state that reach a symbol.
float label_posteriors::most_prior_loss(const state& of, std::size_t at) const
{
    float most = 0;
    for (std::size_t i = 0; i < of.count; ++i)
        if (of.changes[i].at + d_reach > at)
            most =
                std::max(most, prior_loss(of.changes[i].at, of.changes[i].alternative));
    return most;
}

float label_posteriors::likelihood(float ratio) // within the floats
{
    return std::exp(std::min(ratio, 40.0f));
}

// Where `from` leads with the symbol as decided, or another label; `dropped` if others are likelier.
template <bool has_priors>
std::uint8_t label_posteriors::reach_state(step& now,
                                           step& next,
                                           const state& from,
                                           std::size_t at,
                                           const alternative* other,
                                           float forward,
                                           float extrinsic,
                                           std::size_t due) const
{
    const std::uint64_t kept =
        d_distinct ? ~std::uint64_t{} >> 8 * (memory - d_distinct) : 0;
    const std::uint8_t changed = other ? other->label ^ d_labels[at] : 0;
    const std::uint64_t key = (from.key << 8 | changed) & kept;
    std::size_t place = 0;
    while (place < next.states && next.state_of[place].key != key)
        ++place;
    const bool known = place < next.states;
    if (known) {
        state& to = next.state_of[place];
        to.forward += forward;
        if (has_priors)
            to.extrinsic = std::max(to.extrinsic, extrinsic);
        to.due = std::max(to.due, due);
        if (to.likeliest >= forward)
            return static_cast<std::uint8_t>(place);
    } else if (place == most_states) {
        const auto weight = [](const state& of) {
            return has_priors ? of.forward * of.extrinsic : of.forward;
        };
        const auto weakest = std::min_element(next.state_of.begin(),
                                              next.state_of.end(),
                                              [&](const state& one, const state& other) {
                                                  return weight(one) < weight(other);
                                              });
        if (weight(*weakest) >= (has_priors ? forward * extrinsic : forward))
            return dropped;
        place = static_cast<std::size_t>(weakest - next.state_of.begin());
        for (std::size_t i = 0; i < now.branches; ++i)
            if (now.branch_of[i].to == place)
                now.branch_of[i].to = dropped;
    } else
        ++next.states;
    state& to = next.state_of[place];
    if (!known) {
        to.key = key;
        to.forward = forward;
        to.extrinsic = extrinsic;
        to.due = due;
    }
    to.likeliest = forward;
    to.count = 0;
    for (std::size_t i = 0; i < from.count; ++i)
        if (from.changes[i].at + d_reach > at)
            to.changes[to.count++] = from.changes[i];
    if (other && d_reach)
        to.changes[to.count++] = { static_cast<std::uint8_t>(at),
                                   static_cast<std::uint8_t>(
                                       other - d_alternatives[d_labels[at]].of.data()),
                                   { other->step[0], other->step[1] } };
    return static_cast<std::uint8_t>(place);
}

// The most that a further change of a later label would gain after a change.
template <bool has_priors>
label_posteriors::promise label_posteriors::promise_of(const state& from,
                                                       std::size_t at,
                                                       const alternative& other,
                                                       std::size_t last) const
{
    promise most;
    for (std::size_t k = at + 1; k <= std::min(at + d_strong, last); ++k) {
        if (!d_unsure[k])
            continue;
        label_descent::match matched = matched_by(from, k);
        take(matched, other.step, d_products[k - at]);
        const alternatives& its = d_alternatives[d_labels[k]];
        const float left = residual_of(matched);
        for (std::size_t a = 0; a < its.near; ++a)
            if (const float more = posterior_ratio<has_priors>(its, k, a, matched, left);
                more > most.ratio)
                most = { more, k };
    }
    return most;
}

template <bool has_priors>
void label_posteriors::go_forward(std::size_t first, std::size_t last)
{
    const float improbable = std::exp(-unlikely);
    d_steps[first].states = 1;
    d_steps[first].state_of[0].key = 0;
    d_steps[first].state_of[0].forward = d_steps[first].state_of[0].extrinsic = 1;
    d_steps[first].state_of[0].due = 0;
    d_steps[first].state_of[0].count = 0;
    for (std::size_t k = first; k <= last; ++k) {
        step &now = d_steps[k], &next = d_steps[k + 1];
        const alternatives& own = d_alternatives[d_labels[k]];
        next.states = now.branches = 0;
        float most = 0;
        for (std::size_t s = 0; s < now.states; ++s) {
            const state& from = now.state_of[s];
            if ((has_priors ? from.forward * from.extrinsic : from.forward) <
                    improbable &&
                k > from.due)
                continue;
            const float lost = has_priors ? most_prior_loss(from, k) : 0;
            const auto go =
                [&](std::size_t a, float probability, float extrinsic, std::size_t due) {
                    const std::uint8_t to =
                        reach_state<has_priors>(now,
                                                next,
                                                from,
                                                k,
                                                a ? &own.of[a - 1] : nullptr,
                                                from.forward * probability,
                                                extrinsic,
                                                due);
                    if (to == dropped)
                        return;
                    most = std::max(most, next.state_of[to].forward);
                    now.branch_of[now.branches++] = { static_cast<std::uint8_t>(s),
                                                      to,
                                                      static_cast<std::uint8_t>(a),
                                                      probability };
                };
            go(0, 1, has_priors ? likelihood(lost) : 1, from.due);
            const auto matched = matched_by(from, k);
            const float left = residual_of(matched);
            for (std::size_t a = 0; a < own.all; ++a) {
                const float larger =
                    posterior_ratio<has_priors>(own, k, a, matched, left, 0);
                const promise later =
                    d_strong && d_unsure[k] && larger > -hopeless
                        ? promise_of<has_priors>(from, k, own.of[a], last)
                        : promise{};
                if (larger + later.ratio < -unlikely)
                    continue;
                const float loss = has_priors ? prior_loss(k, a) : 0;
                const float probability = likelihood(larger - loss);
                const float extrinsic = has_priors ? likelihood(std::max(lost, loss)) : 1;
                if (from.forward * probability * likelihood(later.ratio) * extrinsic >
                    improbable)
                    go(a + 1, probability, extrinsic, std::max(from.due, later.due));
            }
        }
        const float scale = 1 / most;
        for (std::size_t s = 0; s < next.states; ++s)
            next.state_of[s].forward *= scale;
    }
}

void label_posteriors::go_back(std::size_t first, std::size_t last)
{
    step& end = d_steps[last + 1];
    for (std::size_t s = 0; s < end.states; ++s)
        end.state_of[s].backward = 1;
    for (std::size_t k = last + 1; k-- > first;) {
        step& now = d_steps[k];
        const step& next = d_steps[k + 1];
        auto& found = d_found[k];
        found.fill(0);
        for (std::size_t s = 0; s < now.states; ++s)
            now.state_of[s].backward = 0;
        float most = 0, sum = 0;
        for (std::size_t i = 0; i < now.branches; ++i) {
            const branch& each = now.branch_of[i];
            if (each.to == dropped)
                continue;
            state& from = now.state_of[each.from];
            const float p = each.probability * next.state_of[each.to].backward;
            from.backward += p;
            found[each.alternative] += from.forward * p;
            sum += from.forward * p;
            most = std::max(most, from.backward);
        }
        for (float& each : found)
            each /= sum;
        for (std::size_t s = 0; s < now.states; ++s)
            now.state_of[s].backward /= most;
    }
}

// Symbols that none is unsure near.
void label_posteriors::decide_alone(std::size_t at)
{
    const alternatives& own = d_alternatives[d_labels[at]];
    auto& found = d_found[at];
    float sum = found[0] = 1;
    for (std::size_t a = 0; a < own.all; ++a)
        sum += found[a + 1] =
            likelihood(posterior_ratio(own, at, a, d_matches[at], d_residuals[at]));
    for (std::size_t a = 0; a <= own.all; ++a)
        found[a] /= sum;
}

void label_posteriors::decide_together(std::size_t first, std::size_t last)
{
    d_priors ? go_forward<true>(first, last) : go_forward<false>(first, last);
    go_back(first, last);
    for (std::size_t k = first; k <= last; ++k) {
        auto& found = d_found[k];
        d_unsure[k] = true;
        // No state may be left that has it.
        const alternatives& own = d_alternatives[d_labels[k]];
        for (std::size_t a = 0; a < own.all; ++a)
            if (found[a + 1] == 0)
                found[a + 1] =
                    found[0] *
                    likelihood(std::min(posterior_ratio(
                                            own, k, a, d_matches[k], d_residuals[k], 0),
                                        -unlikely) -
                               prior_loss(k, a));
    }
}

void label_posteriors::write(std::size_t symbol, float* posteriors) const
{
    const std::size_t at = around + symbol;
    const alternatives& own = d_alternatives[d_labels[at]];
    std::fill_n(posteriors, d_classes, least);
    if (d_priors) {
        const float* const logarithms = d_priors + at * d_classes;
        for (std::size_t m = 0; m < d_classes; ++m)
            posteriors[m] *=
                std::exp(std::min(logarithms[m] - logarithms[d_labels[at]], 0.0f));
    }
    if (!d_unsure[at]) {
        // Its neighbours as decided: what is likelier than the least one. They are more likely than unsure
        // ones where the noise has risen since they were looked at.
        posteriors[d_labels[at]] = 1;
        if (d_best[at] <= least_ln)
            return;
        float sum = 1;
        for (std::size_t a = 0; a < own.near; ++a) {
            const float p =
                likelihood(posterior_ratio(own, at, a, d_matches[at], d_residuals[at]));
            float& its = posteriors[own.of[a].label];
            sum += its = std::max(p, its);
        }
        for (std::size_t m = 0; m < d_classes; ++m)
            posteriors[m] /= sum;
        make_consistent_with_decision(d_labels[at], posteriors, d_classes);
        return;
    }
    const auto& found = d_found[at];
    float sum = static_cast<float>(d_classes - own.all - 1) * least;
    for (std::size_t a = 0; a <= own.all; ++a) {
        float& p = posteriors[a ? own.of[a - 1].label : d_labels[at]];
        p = std::max(found[a], p);
        sum += p;
    }
    for (std::size_t m = 0; m < d_classes; ++m)
        posteriors[m] /= sum;
    make_consistent_with_decision(d_labels[at], posteriors, d_classes);
}

void label_posteriors::make_consistent_with_decision(std::uint8_t label,
                                                     float* posteriors,
                                                     std::size_t classes)
{
    // Once for each of those that are larger; no more often where they are no numbers.
    for (std::size_t i = 1; i < classes; ++i) {
        float* const most = std::max_element(posteriors, posteriors + classes);
        if (most == posteriors + label)
            return;
        const float mean = (*most + posteriors[label]) / 2;
        *most = mean * (1 - 1e-6f);
        posteriors[label] = mean * (1 + 1e-6f);
    }
}

float label_posteriors::noise() const { return margin * std::max(d_noise, least_noise); }

void label_posteriors::find(const std::uint8_t* labels,
                            const label_descent::match* matches,
                            std::size_t fresh,
                            const float* priors)
{
    d_labels = labels;
    d_matches = matches;
    if (d_priors && !priors)
        d_prior_ratios = {};
    d_priors = priors;
    d_scale = 1 / std::max(noise() * d_power, std::numeric_limits<float>::min());
    look(fresh);
    if (d_strong)
        look_at_pairs();
    for (std::size_t i = 0, last; i < around + block; i = last + 1) {
        last = i;
        if (!d_unsure[i])
            continue;
        last = last_near(i);
        if (last == i)
            decide_alone(i);
        else if (last >= around)
            decide_together(i, last);
    }
    learn_noise();
}

/* The power of the residual along symbols' responses, averaged over the labels' posteriors
 * (expectation maximization): of a block, and of each label. */
void label_posteriors::learn_noise()
{
    const float dimensions = static_cast<float>(d_dimensions);
    float sum = 0;
    for (std::size_t i = around; i < around + block; ++i) {
        if (!std::isfinite(d_residuals[i]))
            continue;
        const auto add = [&](std::uint8_t label, float part, float gain) {
            const float left = (d_residuals[i] - 2 * gain) / (dimensions * d_power);
            const float energy = left > 0 ? part * std::min(left, most_power) : 0;
            sum += energy;
            d_energies[label] += energy;
            d_counts[label] += part;
        };
        if (!d_unsure[i]) {
            add(d_labels[i], 1, 0);
            continue;
        }
        const alternatives& own = d_alternatives[d_labels[i]];
        add(d_labels[i], d_found[i][0], 0);
        for (std::size_t a = 0; a < own.all; ++a)
            add(own.of[a].label, d_found[i][a + 1], own.of[a].gain(d_matches[i]));
    }
    d_blocks = std::min(d_blocks + 1, remembered);
    d_noise += (sum / static_cast<float>(block) - d_noise) / d_blocks;
}

} // namespace gr::adann::core
