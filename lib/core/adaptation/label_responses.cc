/* What a label changes of the samples of the present signal: filters and responses, from which
 * labels are then tried.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_descent.h"

#include "core/common/complex.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gr::adann::core {

namespace {

template <typename sample>
sample number(std::complex<float> v)
{
    if constexpr (std::is_same_v<sample, float>)
        return v.real();
    else
        return v;
}
template <typename sample, typename floats>
auto* as(floats* values)
{
    if constexpr (std::is_const_v<floats>)
        return reinterpret_cast<const sample*>(values);
    else
        return reinterpret_cast<sample*>(values);
}

} // namespace

void label_descent::use(const refinement& signal)
{
    d_power = std::max(signal.power_along, std::numeric_limits<float>::min());
    d_phase_weights = signal.phase_weights;
    d_energies = signal.energies;
    d_trials = signal.trials;
    if (std::exchange(d_waveform_number, signal.waveform_number) !=
        signal.waveform_number)
        d_waveform.set_nonlinear(signal.table, signal.polynomial);
    if (d_planes == 2)
        find_responses<std::complex<float>>(signal);
    else
        find_responses<float>(signal);
    find_filters(signal);
    find_others();
    find_pairs();
}

// What a unit of each dimension of a symbol is, in whitened samples, by the affine part.
template <typename sample>
void label_descent::find_responses(const refinement& signal)
{
    auto* whitening = as<sample>(d_whitening.data());
    for (std::size_t k = 0; k <= d_lags; ++k)
        whitening[k] = number<sample>(signal.whitening[k]);
    // Sample i takes from the expected one i + q - (taps/2 + lags) combined(q) times that.
    auto* combined = as<sample>(d_combined.data());
    std::fill(combined, combined + d_taps + d_lags, sample{});
    for (std::size_t m = 0; m <= d_lags; ++m)
        for (std::size_t k = 0; k < d_taps; ++k)
            combined[k + d_lags - m] +=
                times(whitening[m], number<sample>(signal.taps[k]));

    const std::size_t sps = d_waveform.sps(), reach = d_waveform.reach();
    auto* response = as<sample>(d_response.data());
    std::fill(response, response + d_dimensions * d_length, sample{});
    for (std::size_t d = 0; d < d_dimensions; ++d)
        for (std::size_t place = 0; place <= 2 * d_waveform.affine_reach(); ++place) {
            // A symbol takes this row times the one `place - affine_reach` after it.
            const auto* row = as<sample>(
                &d_waveform
                     .affine()[(1 + place * d_dimensions + d) * d_waveform.stride()]);
            auto* start = &response[d * d_length +
                                    (reach + d_waveform.affine_reach() - place) * sps];
            for (std::size_t j = 0; j < sps; ++j)
                for (std::size_t q = 0; q < d_taps + d_lags; ++q)
                    start[j + d_taps + d_lags - 1 - q] += times(combined[q], row[j]);
        }
}

// What the kernels slide: plane by plane, and backwards where the filters look back.
void label_descent::find_filters(const refinement& signal)
{
    const std::size_t taps = d_taps + d_lags, planes = d_planes;
    for (std::size_t plane = 0; plane < planes; ++plane) {
        for (std::size_t q = 0; q < taps; ++q)
            d_sliding_wave[plane * taps + q] = d_combined[q * planes + plane];
        for (std::size_t k = 0; k <= d_lags; ++k)
            d_sliding_samples[plane * (d_lags + 1) + d_lags - k] =
                d_whitening[k * planes + plane];
    }
    // A sample's change reaches as far as the filter does, turned around.
    const std::size_t size = d_sliding_change.size() / planes;
    const std::size_t start = d_factors.size() - planes;
    for (std::size_t q = 0; q < taps; ++q) {
        const std::size_t at = start + (taps - 1 - q) * planes;
        for (std::size_t p = 0; p < planes; ++p)
            d_sliding_change[at + p] = d_combined[q * planes + p];
        if (planes == 2) {
            d_sliding_change[size + at] = -d_combined[2 * q + 1];
            d_sliding_change[size + at + 1] = d_combined[2 * q];
        }
    }
    std::complex<float> offset;
    for (const auto& factor : signal.whitening)
        offset += times(factor, signal.taps[d_taps]);
    d_offset[0] = offset.real();
    d_offset[1] = offset.imag();

    const std::size_t stride = d_waveform.stride(), floats = d_length * planes;
    const std::size_t symbols = floats / stride;
    for (std::size_t j = 0; j < stride; ++j)
        for (std::size_t d = 0; d < d_dimensions; ++d)
            for (std::size_t k = 0; k < symbols; ++k)
                d_sliding_response[(j * d_dimensions + d) * symbols + k] =
                    d_response[d * floats + k * stride + j];
}

// Worth a try is a label whose gain, 2 d·r - |d|² by the affine part, is not far below zero. Where
// changes of this label to that were shorter than it says, or longer, d is as long as they were.
void label_descent::find_others()
{
    float energy[2][2] = {}; // products of two responses
    for (std::size_t d = 0; d < d_dimensions; ++d)
        for (std::size_t e = 0; e < d_dimensions; ++e)
            energy[d][e] = product(0, d, e);
    d_least_energy = std::numeric_limits<float>::max();
    for (std::size_t now = 0; now < d_others.size(); ++now)
        for (std::size_t i = 0; i < d_others[now].size(); ++i) {
            other_label& other = d_others[now][i];
            other = { d_symbols.neighbours(now)[i], {}, 0, 0 };
            for (std::size_t d = 0; d < d_dimensions; ++d)
                other.step[d] = difference(now, other.label, d);
            const std::size_t change = now * d_others.size() + other.label;
            float& affine = d_affine_energies[change] = 0;
            for (std::size_t d = 0; d < d_dimensions; ++d)
                for (std::size_t e = 0; e < d_dimensions; ++e)
                    affine += other.step[d] * other.step[e] * energy[d][e];
            other.least = least_match / 2 * d_energies[change] * affine;
            for (float& step : other.step)
                step *= std::sqrt(d_energies[change]);
            other.whole = std::sqrt(d_energies[change]) * affine;
            for (std::size_t context = 0; context < d_contexts; ++context) {
                const std::size_t trial =
                    (context * d_others.size() + now) * refinement::most_others + i;
                const change_trials& tries = d_trials[trial];
                d_least_matches[trial] =
                    tries.known() ? other.whole * tries.least_match(2 * least_log_odds *
                                                                    d_power / affine)
                                  : other.least;
            }
            d_least_energy = std::min(d_least_energy, d_energies[change] * affine);
        }
}

void label_descent::whiten(const float* rest, std::size_t n, float* white) const
{
    const auto work = [&](const auto* in, auto* out) {
        using sample = std::decay_t<decltype(*out)>;
        const auto* whitening = as<sample>(d_whitening.data());
        std::fill(out, out + d_lags, sample{});
        std::copy(in + d_lags, in + n, out + d_lags);
        for (std::size_t k = 1; k <= d_lags; ++k)
            for (std::size_t i = d_lags; i < n; ++i)
                out[i] += times(whitening[k], in[i - k]);
    };
    if (d_planes == 2)
        work(as<std::complex<float>>(rest), as<std::complex<float>>(white));
    else
        work(rest, white);
}

} // namespace gr::adann::core
