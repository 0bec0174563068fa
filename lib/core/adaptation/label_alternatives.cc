/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_alternatives.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {

constexpr float remembered = 64; // changes of a label to another, of their energies
constexpr float most = 4;        // of what the affine part says, or as many times less

} // namespace

label_alternatives::label_alternatives(const constellation& symbols)
    : d_symbols(symbols),
      d_others(symbols.size()),
      d_energies(symbols.size() * symbols.size(), 1.0f),
      d_affine_energies(d_energies.size()),
      d_contexts(refinement::contexts(symbols.size())),
      d_trials(d_contexts * symbols.size() * refinement::most_others),
      d_least_matches(d_trials.size())
{
    for (std::size_t label = 0; label < symbols.size(); ++label)
        d_others[label].resize(symbols.neighbours(label).size());
}

// Worth a try is a label whose gain, 2 d·r - |d|² by the affine part, is not far below zero. Where
// changes of this label to that were shorter than it says, or longer, d is as long as they were.
void label_alternatives::use(const refinement& signal, const label_responses& responses)
{
    const std::size_t dimensions = responses.dimensions();
    const float power = power_of(signal);
    d_energies = signal.energies;
    d_trials = signal.trials;
    float energy[2][2] = {}; // products of two responses
    for (std::size_t d = 0; d < dimensions; ++d)
        for (std::size_t e = 0; e < dimensions; ++e)
            energy[d][e] = responses.product(0, d, e);
    d_least_energy = std::numeric_limits<float>::max();
    d_energy_along = responses.find_energy_along();
    const auto& noise = signal.label_noise;
    d_is_weighted =
        std::any_of(noise.begin(), noise.end(), [](float factor) { return factor != 1; });
    for (std::size_t now = 0; now < d_others.size(); ++now)
        for (std::size_t i = 0; i < d_others[now].size(); ++i) {
            other_label& other = d_others[now][i];
            other = { d_symbols.neighbours(now)[i], {}, 0, 0 };
            for (std::size_t d = 0; d < dimensions; ++d)
                other.step[d] = responses.difference(now, other.label, d);
            const std::size_t change = now * d_others.size() + other.label;
            float& affine = d_affine_energies[change] = 0;
            for (std::size_t d = 0; d < dimensions; ++d)
                for (std::size_t e = 0; e < dimensions; ++e)
                    affine += other.step[d] * other.step[e] * energy[d][e];
            other.least = least_match / 2 * d_energies[change] * affine;
            for (float& step : other.step)
                step *= std::sqrt(d_energies[change]);
            other.whole = std::sqrt(d_energies[change]) * affine;
            if (d_is_weighted) {
                other.weight = 1 / noise[other.label];
                other.less_weight = 1 / noise[now] - other.weight;
                other.bias = power * static_cast<float>(dimensions) *
                             std::log(noise[now] / noise[other.label]);
            }
            for (std::size_t context = 0; context < d_contexts; ++context) {
                const std::size_t trial =
                    (context * d_others.size() + now) * refinement::most_others + i;
                const change_trials& tries = d_trials[trial];
                d_least_matches[trial] =
                    tries.known() ? other.whole * tries.least_match(2 * least_log_odds *
                                                                    power / affine)
                                  : other.least;
            }
            d_least_energy = std::min(d_least_energy, d_energies[change] * affine);
        }
}

void label_alternatives::learn_trial(const std::uint8_t* there,
                                     std::size_t i,
                                     const label_responses::match& found,
                                     float gain)
{
    const other_label& other = d_others[*there][i];
    const float affine = d_affine_energies[*there * d_others.size() + other.label];
    const float along = other.along(found);
    if (affine > 0 && std::isfinite(gain) && std::isfinite(along))
        d_trials[trials_of(there) + i].add(along / other.whole, gain / affine);
}

void label_alternatives::learn_energy(std::uint8_t now, std::uint8_t other, float energy)
{
    const std::size_t there = now * d_others.size() + other;
    const float affine = d_affine_energies[there];
    if (!(affine > 0 && std::isfinite(energy)))
        return;
    const float ratio = std::clamp(energy / affine, 1 / most, most);
    for (const std::size_t each : { there, other * d_others.size() + now })
        d_energies[each] += (ratio - d_energies[each]) / remembered;
}

bool label_alternatives::knows_trials() const
{
    float count = 0, most = 0;
    for (const change_trials& each : d_trials)
        count += each.count - change_trials::believed;
    for (const auto& others : d_others)
        most += static_cast<float>(d_contexts * others.size()) *
                (change_trials::remembered - change_trials::believed);
    return count > most / 2;
}

} // namespace gr::adann::core
