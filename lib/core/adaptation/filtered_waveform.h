/* -*- c++ -*- */
/*
 * What it takes to filter an expected waveform.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <complex>
#include <cstddef>

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

//! Σ a, in as many.
inline float sum_of(const float* a, std::size_t n)
{
    constexpr std::size_t lanes = 8;
    float sums[lanes] = {}, total = 0;
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l)
            sums[l] += a[i + l];
    for (; i < n; ++i)
        total += a[i];
    for (const float sum : sums)
        total += sum;
    return total;
}

} // namespace gr::adann::core
