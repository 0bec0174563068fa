/* -*- c++ -*- */
/*
 * Complex samples, multiplied with numbers of absolute value 1.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>

namespace gr::adann::core {

inline constexpr double whole_turn = 2 * M_PI; //!< radians

//! re + i im, times c + i s, in place.
inline void rotate(float& re, float& im, float c, float s)
{
    const float before = re;
    re = before * c - im * s;
    im = im * c + before * s;
}
//! By so many radians.
inline void rotate(float& re, float& im, double by)
{
    rotate(re, im, static_cast<float>(std::cos(by)), static_cast<float>(std::sin(by)));
}

//! n samples back by a carrier, in place: sample i by its phase + growth · (first + i) radians.
inline void rotate_back(
    float* re, float* im, std::size_t n, double phase, double growth, double first = 0)
{
    for (std::size_t i = 0; i < n; ++i) {
        const double by = phase + growth * (first + static_cast<double>(i));
        // The sine of -by would be another call than the cosine of by.
        rotate(re[i],
               im[i],
               static_cast<float>(std::cos(by)),
               -static_cast<float>(std::sin(by)));
    }
}

//! n interleaved samples, each times `by`; in place or not.
inline void rotate(const float* samples, std::complex<float> by, std::size_t n, float* to)
{
    for (std::size_t i = 0; i < 2 * n; i += 2) {
        const auto turned = std::complex<float>(samples[i], samples[i + 1]) * by;
        to[i] = turned.real();
        to[i + 1] = turned.imag();
    }
}

//! n interleaved samples, each times i.
inline void times_i(const float* samples, std::size_t n, float* to)
{
    for (std::size_t i = 0; i < 2 * n; i += 2) {
        to[i] = -samples[i + 1];
        to[i + 1] = samples[i];
    }
}

} // namespace gr::adann::core
