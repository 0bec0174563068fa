/* -*- c++ -*- */
/*
 * What an expected waveform leaves of samples that went through a filter since.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/expected_waveform.h"

#include <complex>
#include <type_traits>
#include <vector>

namespace gr::adann::core {

//! Symbols on each side that the filter looks at.
inline constexpr std::size_t filter_reach = 3;

// std::complex's own looks for infinities.
inline float times(float a, float b) { return a * b; }
inline std::complex<float> times(std::complex<float> a, std::complex<float> b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

//! Σ a b, in eight sums.
inline float sum_of_products(const float* a, const float* b, std::size_t n)
{
    constexpr std::size_t lanes = 8;
    float sums[lanes] = {}, total = 0;
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l)
            sums[l] += a[i + l] * b[i + l];
    for (; i < n; ++i)
        total += a[i] * b[i];
    for (const float sum : sums)
        total += sum;
    return total;
}

/*! The samples of some symbols less their waveform, sent through a filter.
 *
 * \param taps 2·filter_reach·sps + 1, what the expected samples are multiplied with, in their
 * order; then the offset
 * \param labels of the first symbol; as many lie before it and behind the last as the
 * waveform and the filter reach
 * \param samples,rest count · stride() floats
 * \param expected room for the waveform of count + 2·filter_reach symbols */
template <typename sample>
void subtract_filtered(const expected_waveform& waveform,
                       const std::vector<std::complex<float>>& taps,
                       const std::uint8_t* labels,
                       const sample* samples,
                       std::size_t count,
                       float* expected,
                       sample* rest)
{
    waveform.expect(labels - filter_reach, count + 2 * filter_reach, expected);
    const auto* z = reinterpret_cast<const sample*>(expected);
    const std::size_t n = taps.size() - 1;
    sample own[2 * filter_reach * 64 + 2];
    for (std::size_t k = 0; k <= n; ++k)
        if constexpr (std::is_same_v<sample, float>)
            own[k] = taps[k].real();
        else
            own[k] = taps[k];
    // Tap by tap: the inner loop becomes vectors.
    const std::size_t all = count * waveform.sps();
    for (std::size_t i = 0; i < all; ++i)
        rest[i] = samples[i] - own[n];
    for (std::size_t k = 0; k < n; ++k)
        for (std::size_t i = 0; i < all; ++i)
            rest[i] -= times(own[k], z[i + k]);
}

} // namespace gr::adann::core
