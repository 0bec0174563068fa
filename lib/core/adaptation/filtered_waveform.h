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

} // namespace gr::adann::core
