/* -*- c++ -*- */
/*
 * Vectors of ADANN_VECTOR floats by GCC's and Clang's vector extensions, and the
 * functions on them that the language has no operators for.
 *
 * Included by the kernels' translation units only, inside their own namespace: nothing
 * here, nor any inline function of the standard library, may be shared with files built
 * for other machines.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#ifndef ADANN_VECTOR
#error "ADANN_VECTOR: floats per vector"
#endif

#include <cstddef>
#include <cstdint>

namespace gr::adann::core::simd {
namespace {

constexpr std::size_t width = ADANN_VECTOR;

constexpr std::size_t at_most(std::size_t a, std::size_t b) { return a < b ? a : b; }

typedef float vec __attribute__((vector_size(4 * width)));
typedef std::int32_t ivec __attribute__((vector_size(4 * width)));
typedef std::uint32_t uvec __attribute__((vector_size(4 * width)));
typedef float loose_vec __attribute__((vector_size(4 * width), aligned(4), may_alias));
typedef std::uint32_t loose_uvec
    __attribute__((vector_size(4 * width), aligned(4), may_alias));

inline vec load(const float* p) { return *reinterpret_cast<const loose_vec*>(p); }
inline void store(float* p, vec v) { *reinterpret_cast<loose_vec*>(p) = v; }
inline uvec load(const std::uint32_t* p)
{
    return *reinterpret_cast<const loose_uvec*>(p);
}
inline void store(std::uint32_t* p, uvec v) { *reinterpret_cast<loose_uvec*>(p) = v; }

// x - 0 is x for every x, so this is a broadcast and no arithmetic; 0 + x would turn -0
// into 0.
inline vec all(float x) { return x - vec{}; }
inline ivec all(std::int32_t x) { return ivec{} + x; }

inline vec as_float(ivec bits) { return reinterpret_cast<vec>(bits); }
inline ivec as_bits(vec v) { return reinterpret_cast<ivec>(v); }
typedef std::uint8_t bytes __attribute__((vector_size(width)));
inline ivec from_bytes(const std::uint8_t* p)
{
    bytes loaded;
    __builtin_memcpy(&loaded, p, sizeof loaded);
    return __builtin_convertvector(loaded, ivec);
}
inline void to_bytes(std::uint8_t* p, ivec v)
{
    const bytes narrowed = __builtin_convertvector(v, bytes);
    __builtin_memcpy(p, &narrowed, sizeof narrowed);
}
typedef std::int16_t shorts __attribute__((vector_size(2 * width)));
inline void to_shorts(std::int16_t* p, ivec v)
{
    const shorts narrowed = __builtin_convertvector(v, shorts);
    __builtin_memcpy(p, &narrowed, sizeof narrowed);
}
inline vec to_float(ivec v) { return __builtin_convertvector(v, vec); }

inline vec larger(vec a, vec b) { return a > b ? a : b; }
//! max(v, 0), but a NaN without sign stays one. A float above zero has bits above zero,
//! and the maximum of whole numbers is one instruction, that of floats with AVX-512 two.
inline vec rectified(vec v)
{
    const ivec bits = as_bits(v);
    return as_float(bits > 0 ? bits : ivec{});
}
inline vec magnitude(vec v) { return as_float(as_bits(v) & 0x7fffffff); }

inline vec square_root(vec v)
{
    vec result;
    for (std::size_t l = 0; l < width; ++l)
        result[l] = __builtin_sqrtf(v[l]);
    return result;
}

// Polynomials below: minimax or Cephes' (S. Moshier), relative error about 1e-7.

//! e^x for x <= 0; below -60 it is 1e-26: what gradients multiply it with would otherwise
//! become denormal, which costs a hundred cycles each.
inline vec exponential(vec x)
{
    x = larger(x, all(-60.0f));
    const vec magic = all(12582912.0f); // 1.5 · 2^23: adding it rounds to a whole number
    const vec shifted = x * 1.44269504f + magic;
    const vec n = shifted - magic;
    x -= n * 0.693359375f;
    x -= n * -2.12194440e-4f;
    vec p = all(1.9875691500e-4f);
    p = p * x + 1.3981999507e-3f;
    p = p * x + 8.3334519073e-3f;
    p = p * x + 4.1665795894e-2f;
    p = p * x + 1.6666665459e-1f;
    p = p * x + 5.0000001201e-1f;
    p = p * x * x + x + 1.0f;
    return as_float(as_bits(p) + (as_bits(shifted) << 23));
}

//! ln x for a normal number x > 0.
inline vec logarithm(vec x)
{
    // x = m · 2^e with m from sqrt(1/2) to sqrt(2).
    const ivec bits = as_bits(x) - 0x3f3504f3;
    const vec e = to_float(bits >> 23);
    const vec m = as_float((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    const vec square = m * m;
    vec p = all(7.0376836292e-2f);
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * square - 2.12194440e-4f * e - 0.5f * square;
    return m + p + 0.693359375f * e;
}

} // namespace
} // namespace gr::adann::core::simd
