/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_descent.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::adann::core {

namespace {

constexpr float remembered = 64; // changes of a label to another, of their energies
constexpr float most = 4;        // of what the affine part says, or as many times less

} // namespace

void refinement::assign(const refinement& other)
{
    known = other.known;
    number = other.number;
    taps = other.taps;
    whitening = other.whitening;
    power = other.power;
    power_along = other.power_along;
    phase_weights = other.phase_weights;
    energies = other.energies;
    trials = other.trials;
    if (waveform_number != other.waveform_number) {
        table = other.table;
        polynomial = other.polynomial;
    }
    waveform_number = other.waveform_number;
}

label_descent::label_descent(const constellation& symbols,
                             const expected_waveform& waveform)
    : d_symbols(symbols),
      d_waveform(waveform),
      d_dimensions(symbols.dimensions()),
      d_planes(waveform.is_complex() ? 2 : 1),
      d_lags(refinement::predicted_from * waveform.sps()),
      d_taps(2 * filter_reach * waveform.sps() + 1),
      d_length((2 * waveform.reach() + 1) * waveform.sps() + d_taps - 1 + d_lags),
      d_contexts(refinement::contexts(symbols.size())),
      d_kernels(&simd::active())
{
    float power = 0;
    for (const auto& point : symbols.points())
        power += std::norm(point) / static_cast<float>(symbols.size());
    for (const auto& point : symbols.points())
        for (std::size_t d = 0; d < d_dimensions; ++d)
            d_points.push_back((d ? point.imag() : point.real()) / std::sqrt(power));
    d_whitening.resize((d_lags + 1) * d_planes);
    d_combined.resize((d_taps + d_lags) * d_planes);
    d_response.resize(d_dimensions * d_length * d_planes);
    d_others.resize(symbols.size());
    for (std::size_t label = 0; label < symbols.size(); ++label)
        d_others[label].resize(symbols.neighbours(label).size());
    d_energies.assign(symbols.size() * symbols.size(), 1.0f);
    d_affine_energies.resize(d_energies.size());
    d_trials.resize(d_contexts * symbols.size() * refinement::most_others);
    d_least_matches.resize(d_trials.size());
    d_change.resize(simd::whole_lanes(d_length * d_planes));
    d_best = d_change;
    d_kept.resize(d_change.size() + longest * farthest * waveform.stride());
    d_pairs.reserve(farthest);
    const std::size_t samples = (2 * waveform.reach() + 1) * waveform.sps();
    d_factors.resize(d_planes * samples);
    d_sliding_change.resize(d_planes * (d_change.size() + (samples - 1) * d_planes));
    d_before.resize((2 * waveform.reach() + 1) * waveform.stride());
    d_after = d_before;

    const std::size_t together = simd::lanes + behind() + before();
    d_sliding_wave.resize(d_planes * (d_taps + d_lags));
    d_sliding_samples.resize(d_planes * (d_lags + 1));
    d_sliding_response.resize(d_response.size());
    d_expected.resize(together * waveform.stride());
    if (d_planes == 2)
        d_turned.resize(d_expected.size());
    d_received.resize(simd::lanes * waveform.stride());
    d_phases.resize((most_matched + before() + behind()) * waveform.stride());
    d_found.resize(d_dimensions * most_matched);
}

void label_descent::subtract_waveform(const std::uint8_t* labels,
                                      const float* samples,
                                      residual_phases& phases,
                                      float* white)
{
    const std::size_t stride = d_waveform.stride(), planes = d_planes;
    const std::size_t n = simd::lanes * stride, from = d_lags * planes;
    // The combined filter looks at lags before the filter's taps.
    const std::size_t back = refinement::predicted_from + filter_reach;
    const std::size_t symbols = simd::lanes + back + filter_reach;
    d_waveform.expect(labels - back, symbols, d_expected.data());
    for (std::size_t plane = 0; plane < planes; ++plane)
        for (std::size_t i = plane; i < n; i += planes)
            white[i] = d_offset[plane];
    std::fill_n(d_received.begin(), n, 0.0f);
    const auto slide = [&](const aligned_floats& factors,
                           std::size_t plane,
                           std::size_t taps,
                           const float* x,
                           float* sum) {
        const float* const a = &factors[plane * taps];
        d_kernels->slide(&a, 1, taps, x, planes, n, 1, &sum);
    };
    float* const received = d_received.data();
    slide(d_sliding_wave, 0, d_taps + d_lags, d_expected.data(), white);
    slide(d_sliding_samples, 0, d_lags + 1, samples - from, received);
    if (planes == 2) {
        const auto turn = [&](const float* values, std::size_t count) {
            for (std::size_t i = 0; i < count; i += 2) {
                d_turned[i] = -values[i + 1];
                d_turned[i + 1] = values[i];
            }
        };
        turn(d_expected.data(), symbols * stride);
        slide(d_sliding_wave, 1, d_taps + d_lags, d_turned.data(), white);
        turn(samples - from, n + from);
        slide(d_sliding_samples, 1, d_lags + 1, d_turned.data(), received);
        turn_back(received, n / 2, phases.take(white, received, n / 2, d_phase_weights));
    }
    for (std::size_t i = 0; i < n; ++i)
        white[i] = received[i] - white[i];
}

void label_descent::find_matches(const float* white, std::size_t count, match* matches)
{
    const std::size_t stride = d_waveform.stride();
    const std::size_t symbols = before() + behind() + 1; // of a response
    const std::size_t all = count + symbols - 1;
    const float* const first = white - before() * stride;
    for (std::size_t i = 0; i < all; ++i)
        for (std::size_t j = 0; j < stride; ++j)
            d_phases[j * all + i] = first[i * stride + j];
    float* const found[] = { d_found.data(),
                             d_found.data() + (d_dimensions - 1) * count };
    for (std::size_t j = 0; j < stride; ++j) {
        const float* const response = &d_sliding_response[j * d_dimensions * symbols];
        const float* const responses[] = { response,
                                           response + (d_dimensions - 1) * symbols };
        d_kernels->slide(responses,
                         d_dimensions,
                         symbols,
                         &d_phases[j * all],
                         1,
                         count,
                         j ? 1 : 0,
                         found);
    }
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t d = 0; d < d_dimensions; ++d)
            matches[i].along[d] = found[d][i];
}

// How the whitened samples change with the label of a symbol, from its response's start.
void label_descent::find_change(const stretch& all,
                                std::size_t symbol,
                                std::uint8_t other)
{
    std::uint8_t* const labels = all.labels;
    // Symbols that it is part of, and whose own neighbours are there.
    const std::size_t reach = d_waveform.reach(), sps = d_waveform.sps();
    const std::size_t low = std::max(symbol, 2 * reach) - reach;
    const std::size_t high = std::min(symbol + 2 * reach + 1, all.count) - reach;
    d_waveform.expect(labels + low, high - low, d_before.data());
    const std::uint8_t now = std::exchange(labels[symbol], other);
    d_waveform.expect(labels + low, high - low, d_after.data());
    labels[symbol] = now;

    // Backwards: the first sample's filter slides last.
    const std::size_t samples = (2 * reach + 1) * sps, planes = d_planes;
    const std::size_t first = low + reach - symbol;
    float* const factors = d_factors.data();
    std::fill_n(factors, planes * samples, 0.0f);
    for (std::size_t k = 0; k < (high - low) * sps; ++k)
        for (std::size_t p = 0; p < planes; ++p)
            factors[(p + 1) * samples - 1 - first * sps - k] =
                d_after[k * planes + p] - d_before[k * planes + p];
    for (std::size_t p = 0; p < planes; ++p) {
        const float* const a = factors + p * samples;
        float* const change = d_change.data();
        d_kernels->slide(&a,
                         1,
                         samples,
                         &d_sliding_change[p * d_sliding_change.size() / planes],
                         planes,
                         d_change.size(),
                         p ? 1 : 0,
                         &change);
    }
}

label_descent::known_part label_descent::part_of(const stretch& all,
                                                 std::size_t symbol) const
{
    const std::size_t stride = d_waveform.stride(), lead = before() * stride;
    const std::size_t middle = (symbol - all.first) * stride;
    // Nothing is known of the first samples, which whitening looks back to.
    const std::size_t skipped = std::max(lead + d_lags * d_planes, middle) - middle;
    const std::size_t start = middle + skipped - lead;
    const std::size_t known = (all.last - all.first) * stride;
    return { skipped,
             std::min(d_length * d_planes - skipped, known - start),
             all.white + start };
}

label_descent::match label_descent::match_of(const stretch& all, std::size_t symbol) const
{
    const known_part part = part_of(all, symbol);
    match found;
    for (std::size_t d = 0; d < d_dimensions; ++d)
        found.along[d] = d_kernels->dot(
            &d_response[d * d_length * d_planes + part.skipped], part.white, part.n);
    return found;
}

// Of another label, which d_change is then for: by how much less is left of the samples.
float label_descent::find_gain(const stretch& all, std::size_t symbol, std::uint8_t other)
{
    const known_part part = part_of(all, symbol);
    ++d_tries;
    find_change(all, symbol, other);
    const float* const change = &d_change[part.skipped];
    const float energy = d_kernels->dot(change, change, part.n);
    if (part.n == d_length * d_planes)
        learn_energy(all.labels[symbol], other, energy);
    return 2 * d_kernels->dot(change, part.white, part.n) - energy;
}

// There and back it is the same change.
void label_descent::learn_energy(std::uint8_t now, std::uint8_t other, float energy)
{
    const std::size_t there = now * d_others.size() + other;
    const float affine = d_affine_energies[there];
    if (!(affine > 0 && std::isfinite(energy)))
        return;
    const float ratio = std::clamp(energy / affine, 1 / most, most);
    for (const std::size_t each : { there, other * d_others.size() + now })
        d_energies[each] += (ratio - d_energies[each]) / remembered;
}

bool label_descent::knows_trials() const
{
    float count = 0, most = 0;
    for (const change_trials& each : d_trials)
        count += each.count - change_trials::believed;
    for (const auto& others : d_others)
        most += static_cast<float>(d_contexts * others.size()) *
                (change_trials::remembered - change_trials::believed);
    return count > most / 2;
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
    const std::size_t trials = trials_of(all.labels + symbol);
    const std::uint8_t now = all.labels[symbol];
    std::uint8_t best = now;
    float most = 0, likelihoods = 1; // beside that of the label as it was
    for (std::size_t i = 0; i < d_others[now].size(); ++i) {
        const other_label& other = d_others[now][i];
        const float along = other.along(found);
        if (!explores && !(along > d_least_matches[trials + i]))
            continue;
        const float gain = find_gain(all, symbol, other.label);
        const float affine = d_affine_energies[now * d_others.size() + other.label];
        if (explores && affine > 0 && std::isfinite(gain) && std::isfinite(along))
            d_trials[trials + i].add(along / other.whole, gain / affine);
        if (all.error_odds)
            likelihoods += likelihood(gain);
        if (gain > most) {
            most = gain;
            best = other.label;
            std::swap(d_best, d_change);
        }
    }
    if (all.error_odds)
        all.error_odds[symbol].alone = likelihoods / likelihood(most) - 1;
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

} // namespace gr::adann::core
