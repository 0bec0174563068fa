/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_trellis.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace gr::adann::core {

namespace {
// Negative ln of the likelihood ratio of a label that no later change makes likely.
constexpr float hopeless = 28;
// ln of the likelihood ratio by which changes of two labels interact: that is considered at all, and that
// distinguishes states.
constexpr float meeting = 0.3f, parting = 1;
// Products of two responses of a pair, of one's energy: that both may change though neither does alone, and
// that both cost hardly more, 2 (1 - product), than one.
constexpr float strong = 0.25f, coupled = 0.4f;
// Of d_depth: more finds no more on the partial-response links of docs/results/refinement.md.
constexpr float deepest = 25;
} // namespace

label_trellis::label_trellis(const constellation& symbols)
    : d_classes(symbols.size()),
      d_dimensions(symbols.dimensions()),
      d_changes(symbols.size()),
      d_steps(window + 1),
      d_reached(2)
{
    const auto& points = symbols.points();
    std::vector<float> distances(d_classes);
    for (std::size_t now = 0; now < d_classes; ++now) {
        std::transform(points.begin(), points.end(), distances.begin(), [&](auto point) {
            return std::abs(point - points[now]);
        });
        label_changes& own = d_changes[now];
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

void label_trellis::find_products(const label_descent& signal, bool is_deep, float least)
{
    d_power = signal.power();
    d_reach = d_distinct = d_strong = 0;
    float own = 0, raised = 0;
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
        if (later > 0 && d_most[later] > meeting * d_power) {
            d_reach = later;
            raised = std::max(raised, d_most[later] / d_power);
        }
        if (later > 0 && d_most[later] > parting * d_power)
            d_distinct = later;
        if (later > 0 && most > strong * own)
            d_strong = later;
    }
    d_energy_along = signal.alternatives().energy_along();
    d_depth = is_deep || is_coupled() ? std::min(least + raised, deepest) : least;
}

bool label_trellis::is_coupled() const
{
    return *std::max_element(d_most.begin() + 1, d_most.end()) > coupled * d_most[0];
}

void label_trellis::use(const label_descent& signal,
                        bool is_deep,
                        float least,
                        float noise)
{
    find_products(signal, is_deep, least);
    const auto inverse = [&](std::size_t label) {
        return 1 / signal.label_noise()[label];
    };
    for (std::size_t now = 0; now < d_classes; ++now) {
        label_changes& of = d_changes[now];
        of.noise = inverse(now);
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
            if (next.loss < 4 * unlikely * noise * d_power)
                ++of.all;
        }
        for (std::size_t i = 0; i < of.all; ++i) {
            of.of[i].noise = inverse(of.of[i].label);
            of.bias[i] = static_cast<float>(d_dimensions) / 2 *
                         std::log(of.of[i].noise / of.noise);
        }
    }
}

// At the likeliest alternatives of what is fresh.
void label_trellis::look(std::size_t fresh)
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
        const label_changes& own = of(i);
        d_residuals[i] = d_energy_along(d_matches[i]);
        float best = posterior_ratio(own, i, 0, d_matches[i], d_residuals[i], 0);
        for (std::size_t k = 1; k < own.near; ++k)
            best = std::max(best,
                            posterior_ratio(own, i, k, d_matches[i], d_residuals[i], 0));
        d_best[i] = best;
    }
    for (std::size_t i = 0; i < window; ++i)
        d_unsure[i] = d_best[i] > -d_depth;
}

// Where both together are likely, though neither is alone.
void label_trellis::look_at_pairs()
{
    for (std::size_t later = 1; later <= d_strong; ++later)
        for (std::size_t i = 0; i + later < window; ++i) {
            const std::size_t k = i + later;
            if ((d_unsure[i] && d_unsure[k]) ||
                d_best[i] + d_best[k] + 2 * d_scale * d_most[later] < -d_depth)
                continue;
            const label_changes &own = of(i), &its = of(k);
            for (std::size_t a = 0; a < own.near; ++a) {
                const auto matched = less(d_matches[k], product(own.of[a].step, later));
                const float left = d_energy_along(matched);
                const float alone =
                    posterior_ratio(own, i, a, d_matches[i], d_residuals[i], 0);
                for (std::size_t b = 0; b < its.near; ++b)
                    if (alone + posterior_ratio(its, k, b, matched, left, 0) > -d_depth)
                        d_unsure[i] = d_unsure[k] = true;
            }
        }
}

// The last of those that hang together with a symbol that is unsure.
std::size_t label_trellis::last_near(std::size_t first) const
{
    const std::size_t apart = std::max<std::size_t>(d_reach, 1);
    std::size_t last = first;
    for (std::size_t k = first + 1; k < window && k <= last + apart; ++k)
        if (d_unsure[k])
            last = k;
    return last;
}

// ln of the likelihood of an alternative over that of the label decided.
float label_trellis::ratio(const label_changes& of,
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

void label_trellis::find_prior_ratios(std::size_t at)
{
    const label_changes& own = of(at);
    const float* const logarithms = d_priors + at * d_classes;
    for (std::size_t a = 0; a < own.all; ++a)
        d_prior_ratios[at][a] = logarithms[own.of[a].label] - logarithms[d_labels[at]];
}

float label_trellis::likelihood(float ratio) // within the floats
{
    return std::exp(std::min(ratio, 40.0f));
}

void label_trellis::reached::clear()
{
    count = numbered = 0;
    least = 0;
    places.fill(0);
}

// The state of a key, or null; its slot, or a free one.
label_trellis::survivor* label_trellis::reached::find(std::uint64_t key,
                                                      std::size_t& slot)
{
    static_assert((slots & (slots - 1)) == 0 && slots > most_branches);
    // Knuth's multiplicative hash, by the golden ratio.
    for (slot = key * 0x9e3779b97f4a7c15u >> 32 & (slots - 1); places[slot];
         slot = (slot + 1) & (slots - 1))
        if (survivor& there = states[places[slot] - 1u]; there.key == key)
            return &there;
    return nullptr;
}

// Where `from` leads with the symbol as decided, or an alternative: the number of the state; `dropped` if
// others are likelier.
template <bool has_priors>
std::uint16_t label_trellis::reach(const survivor& from,
                                   std::size_t at,
                                   std::size_t alternative,
                                   float forward,
                                   float extrinsic,
                                   std::size_t due)
{
    reached& next = d_reached[(at + 1) % 2];
    const label_changes& own = of(at);
    const label_trellis::alternative* const other =
        alternative ? &own.of[alternative - 1] : nullptr;
    const std::uint64_t kept =
        d_distinct ? ~std::uint64_t{} >> 8 * (memory - d_distinct) : 0;
    const std::uint8_t changed = other ? other->label ^ d_labels[at] : 0;
    const std::uint64_t key = (from.key << 8 | changed) & kept;
    const auto weight = [](const survivor& state) {
        return has_priors ? state.forward * state.extrinsic : state.forward;
    };
    std::size_t slot = 0;
    survivor* to = next.find(key, slot);
    if (to) {
        to->forward += forward;
        if (has_priors)
            to->extrinsic = std::max(to->extrinsic, extrinsic);
        to->due = std::max(to->due, due);
        if (to->likeliest >= forward)
            return to->number;
    } else {
        if (next.count < most_states)
            to = &next.states[next.count++];
        else { // instead of the weakest, whose weight may have grown since it was found
            const float own_weight = has_priors ? forward * extrinsic : forward;
            if (next.least >= own_weight)
                return dropped;
            to = &*std::min_element(next.states.begin(),
                                    next.states.end(),
                                    [&](const survivor& one, const survivor& another) {
                                        return weight(one) < weight(another);
                                    });
            next.least = weight(*to);
            if (next.least >= own_weight)
                return dropped;
        }
        next.places[slot] = static_cast<std::uint8_t>(to - next.states.data() + 1);
        to->key = key;
        to->forward = forward;
        to->extrinsic = extrinsic;
        to->due = due;
        to->number = next.numbered++;
    }
    to->likeliest = forward;
    std::copy(from.taken.begin() + 1, from.taken.end(), to->taken.begin());
    to->taken.back() = {};
    if (has_priors) {
        std::copy(from.lost.begin() + 1, from.lost.end(), to->lost.begin());
        to->lost.back() = other ? prior_loss(at, alternative - 1) : 0;
    }
    if (other)
        for (std::size_t later = 1; later <= d_reach; ++later) {
            const vector more = product(other->step, later);
            to->taken[later - 1][0] += more[0];
            to->taken[later - 1][1] += more[1];
        }
    return to->number;
}

// The most that a further change of a later label would gain after a change.
template <bool has_priors>
label_trellis::promise label_trellis::promise_of(const survivor& from,
                                                 std::size_t at,
                                                 const alternative& other,
                                                 std::size_t last) const
{
    promise most;
    for (std::size_t k = at + 1; k <= std::min(at + d_strong, last); ++k) {
        if (!d_unsure[k])
            continue;
        const std::size_t later = k - at;
        auto matched = less(d_matches[k], product(other.step, later));
        if (later < memory)
            matched = less(matched, from.taken[later]);
        const label_changes& its = of(k);
        const float left = d_energy_along(matched);
        for (std::size_t a = 0; a < its.near; ++a)
            if (const float more = posterior_ratio<has_priors>(its, k, a, matched, left);
                more > most.ratio)
                most = { more, k };
    }
    return most;
}

template <bool has_priors>
void label_trellis::go_forward(std::size_t first, std::size_t last)
{
    // Of the likeliest path, whose probability is 1 but for rounding.
    const float improbable = std::exp(-d_depth) * (1 - 1e-6f);
    reached& start = d_reached[first % 2];
    start.count = 1;
    start.states[0] = { 0, 1, 1, 1, 0, 0, {}, {} };
    for (std::size_t k = first; k <= last; ++k) {
        step& now = d_steps[k];
        const reached& here = d_reached[k % 2];
        reached& next = d_reached[(k + 1) % 2];
        const label_changes& own = of(k);
        next.clear();
        now.states = here.count;
        now.branches = 0;
        for (std::size_t s = 0; s < here.count; ++s) {
            const survivor& from = here.states[s];
            now.forward[s] = from.forward;
            if ((has_priors ? from.forward * from.extrinsic : from.forward) <
                    improbable &&
                k > from.due)
                continue;
            // By one label whose change meets this symbol.
            const float lost =
                has_priors && d_reach > 1
                    ? *std::max_element(from.lost.end() - (d_reach - 1), from.lost.end())
                    : 0;
            const auto go =
                [&](std::size_t a, float probability, float extrinsic, std::size_t due) {
                    const std::uint16_t to = reach<has_priors>(
                        from, k, a, from.forward * probability, extrinsic, due);
                    if (to != dropped)
                        now.branch_of[now.branches++] = { to,
                                                          static_cast<std::uint8_t>(s),
                                                          static_cast<std::uint8_t>(a),
                                                          probability };
                };
            go(0, 1, has_priors ? likelihood(lost) : 1, from.due);
            const auto matched = less(d_matches[k], from.taken[0]);
            const float left = d_energy_along(matched);
            for (std::size_t a = 0; a < own.all; ++a) {
                const float larger =
                    posterior_ratio<has_priors>(own, k, a, matched, left, 0);
                const float loss = has_priors ? prior_loss(k, a) : 0;
                const float probability = likelihood(larger - loss);
                const float extrinsic = has_priors ? likelihood(std::max(lost, loss)) : 1;
                const float weight = from.forward * probability * extrinsic;
                promise later;
                if (!(weight > improbable && larger > -d_depth)) {
                    if (!d_strong || !d_unsure[k] || larger < -hopeless)
                        continue;
                    later = promise_of<has_priors>(from, k, own.of[a], last);
                    if (larger + later.ratio < -d_depth ||
                        weight * likelihood(later.ratio) < improbable)
                        continue;
                }
                go(a + 1, probability, extrinsic, std::max(from.due, later.due));
            }
        }
        std::array<std::uint16_t, most_branches> places;
        std::fill_n(places.begin(), next.numbered, dropped);
        float most = 0;
        for (std::size_t s = 0; s < next.count; ++s) {
            places[next.states[s].number] = static_cast<std::uint16_t>(s);
            most = std::max(most, next.states[s].forward);
        }
        for (std::size_t i = 0; i < now.branches; ++i)
            now.branch_of[i].to = places[now.branch_of[i].to];
        const float scale = 1 / most;
        for (std::size_t s = 0; s < next.count; ++s)
            next.states[s].forward *= scale;
    }
    d_steps[last + 1].states = d_reached[(last + 1) % 2].count;
}

void label_trellis::go_back(std::size_t first, std::size_t last)
{
    step& end = d_steps[last + 1];
    std::fill_n(end.backward.begin(), end.states, 1.0f);
    for (std::size_t k = last + 1; k-- > first;) {
        step& now = d_steps[k];
        const step& next = d_steps[k + 1];
        auto& found = d_found[k];
        found.fill(0);
        std::fill_n(now.backward.begin(), now.states, 0.0f);
        float most = 0, sum = 0;
        for (std::size_t i = 0; i < now.branches; ++i) {
            const branch& each = now.branch_of[i];
            if (each.to == dropped)
                continue;
            const float p = each.probability * next.backward[each.to];
            float& backward = now.backward[each.from];
            backward += p;
            found[each.alternative] += now.forward[each.from] * p;
            sum += now.forward[each.from] * p;
            most = std::max(most, backward);
        }
        for (float& each : found)
            each /= sum;
        for (std::size_t s = 0; s < now.states; ++s)
            now.backward[s] /= most;
    }
}

// Symbols that none is unsure near.
void label_trellis::decide_alone(std::size_t at)
{
    const label_changes& own = of(at);
    auto& found = d_found[at];
    float sum = found[0] = 1;
    for (std::size_t a = 0; a < own.all; ++a)
        sum += found[a + 1] = likelihood(at, a);
    for (std::size_t a = 0; a <= own.all; ++a)
        found[a] /= sum;
}

void label_trellis::decide_together(std::size_t first, std::size_t last)
{
    d_priors ? go_forward<true>(first, last) : go_forward<false>(first, last);
    go_back(first, last);
    for (std::size_t k = first; k <= last; ++k) {
        auto& found = d_found[k];
        d_unsure[k] = true;
        // No state may be left that has it.
        const label_changes& own = of(k);
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

std::uint8_t label_trellis::most_probable(std::size_t at) const
{
    if (!d_unsure[at])
        return d_labels[at];
    const auto& found = d_found[at];
    const auto best = static_cast<std::size_t>(
        std::max_element(found.begin(), found.begin() + of(at).all + 1) - found.begin());
    return best ? label(at, best - 1) : d_labels[at];
}

void label_trellis::find(const std::uint8_t* labels,
                         const label_descent::match* matches,
                         std::size_t fresh,
                         float noise,
                         std::size_t end,
                         const float* priors)
{
    d_labels = labels;
    d_matches = matches;
    if (d_priors && !priors)
        d_prior_ratios = {};
    d_priors = priors;
    d_scale = 1 / std::max(noise * d_power, std::numeric_limits<float>::min());
    look(fresh);
    if (d_strong)
        look_at_pairs();
    for (std::size_t i = 0, last; i < end; i = last + 1) {
        last = i;
        if (!d_unsure[i])
            continue;
        last = last_near(i);
        if (last == i)
            decide_alone(i);
        else if (last >= around)
            decide_together(i, last);
    }
}

} // namespace gr::adann::core
