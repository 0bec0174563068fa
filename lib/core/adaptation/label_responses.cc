/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_responses.h"

#include "core/common/complex.h"
#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>
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

label_responses::label_responses(const constellation& symbols,
                                 const expected_waveform& waveform)
    : d_waveform(waveform),
      d_dimensions(symbols.dimensions()),
      d_planes(waveform.is_complex() ? 2 : 1),
      d_lags(refinement::predicted_from * waveform.sps()),
      d_taps(2 * filter_reach * waveform.sps() + 1),
      d_length((2 * waveform.reach() + 1) * waveform.sps() + d_taps - 1 + d_lags),
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
    d_response.resize(d_dimensions * floats());
    const std::size_t samples = (2 * waveform.reach() + 1) * waveform.sps();
    d_factors.resize(d_planes * samples);
    d_sliding_change.resize(d_planes *
                            (simd::whole_lanes(floats()) + (samples - 1) * d_planes));
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

void label_responses::use(const refinement& signal)
{
    d_gain_weights = signal.gain_weights;
    if (std::exchange(d_waveform_number, signal.waveform_number) !=
        signal.waveform_number)
        d_waveform.set_nonlinear(signal.table, signal.polynomial);
    if (d_planes == 2)
        find_responses<std::complex<float>>(signal);
    else
        find_responses<float>(signal);
    find_filters(signal);
}

float label_responses::product(std::size_t later, std::size_t own, std::size_t its) const
{
    const std::size_t floats = d_length * d_planes, shift = later * d_waveform.stride();
    return d_kernels->dot(
        &d_response[own * floats + shift], &d_response[its * floats], floats - shift);
}

// Responses of the whitened samples to a unit of each dimension, by the affine part.
template <typename sample>
void label_responses::find_responses(const refinement& signal)
{
    auto* whitening = as<sample>(d_whitening.data());
    for (std::size_t k = 0; k <= d_lags; ++k)
        whitening[k] = number<sample>(signal.whitening[k]);
    // Whitened sample i is the sum of combined(q) times expected sample i + q - (taps/2 + lags).
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
            // This row is the response to the symbol `place - affine_reach` after the present one.
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

// Factors of the kernels' sliding products: by planes,
// and reversed where a filter uses earlier samples.
void label_responses::find_filters(const refinement& signal)
{
    const std::size_t taps = d_taps + d_lags, planes = d_planes;
    for (std::size_t plane = 0; plane < planes; ++plane) {
        for (std::size_t q = 0; q < taps; ++q)
            d_sliding_wave[plane * taps + q] = d_combined[q * planes + plane];
        for (std::size_t k = 0; k <= d_lags; ++k)
            d_sliding_samples[plane * (d_lags + 1) + d_lags - k] =
                d_whitening[k * planes + plane];
    }
    // A change of a sample reaches as far as the filter does, in reversed order.
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

void label_responses::whiten(const float* rest, std::size_t n, float* white) const
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

void label_responses::subtract_waveform(const std::uint8_t* labels,
                                        const float* samples,
                                        residual_gains& gains,
                                        float* white)
{
    const std::size_t stride = d_waveform.stride(), planes = d_planes;
    const std::size_t n = simd::lanes * stride, from = d_lags * planes;
    // The combined filter reaches `lags` samples further back than the filter.
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
        times_i(d_expected.data(), symbols * stride / 2, d_turned.data());
        slide(d_sliding_wave, 1, d_taps + d_lags, d_turned.data(), white);
        times_i(samples - from, (n + from) / 2, d_turned.data());
        slide(d_sliding_samples, 1, d_lags + 1, d_turned.data(), received);
    }
    multiply(received,
             n / planes,
             planes,
             gains.take(white, received, n / planes, planes, d_gain_weights));
    for (std::size_t i = 0; i < n; ++i)
        white[i] = received[i] - white[i];
}

void label_responses::find_matches(const float* white, std::size_t count, match* matches)
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

void label_responses::find_change(std::uint8_t* labels,
                                  std::size_t count,
                                  std::size_t symbol,
                                  std::uint8_t other,
                                  aligned_floats& change)
{
    // Symbols whose waveform depends on it, and whose own neighbours are there.
    const std::size_t reach = d_waveform.reach(), sps = d_waveform.sps();
    const std::size_t low = std::max(symbol, 2 * reach) - reach;
    const std::size_t high = std::min(symbol + 2 * reach + 1, count) - reach;
    d_waveform.expect(labels + low, high - low, d_before.data());
    const std::uint8_t now = std::exchange(labels[symbol], other);
    d_waveform.expect(labels + low, high - low, d_after.data());
    labels[symbol] = now;

    // In reversed order: the first sample is multiplied last.
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
        float* const to = change.data();
        d_kernels->slide(&a,
                         1,
                         samples,
                         &d_sliding_change[p * d_sliding_change.size() / planes],
                         planes,
                         change.size(),
                         p ? 1 : 0,
                         &to);
    }
}

} // namespace gr::adann::core
