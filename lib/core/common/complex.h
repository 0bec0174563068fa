/* -*- c++ -*- */
/*
 * Arithmetic of numbers that are real or complex.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <complex>
#include <cstddef>

namespace gr::adann::core {

template <typename T>
T times(T a, T b)
{
    return a * b;
}
// std::complex's own looks for infinities.
template <typename T>
std::complex<T> times(std::complex<T> a, std::complex<T> b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

//! The n-th power, n at least 1.
template <typename T>
std::complex<T> power(std::complex<T> v, std::size_t n)
{
    std::complex<T> product = v;
    while (--n)
        product *= v;
    return product;
}

template <typename T>
T conjugate(T v)
{
    return v;
}
template <typename T>
std::complex<T> conjugate(std::complex<T> v)
{
    return std::conj(v);
}

} // namespace gr::adann::core
