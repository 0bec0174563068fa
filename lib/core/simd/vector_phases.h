/* -*- c++ -*- */
/*
 * The kernels on vectors, another part: the stream by phases. Included by vector_kernels.h
 * only, which see.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/simd/vector.h"

#include <utility>

namespace gr::adann::core::simd {
namespace {

// The even or the odd elements of a and b, one after the other: first is 0 or 1.
template <int first, int... l>
vec every_other(vec a, vec b, std::integer_sequence<int, l...>)
{
    return __builtin_shufflevector(a, b, 2 * l + first...);
}
template <int first>
vec every_other(vec a, vec b)
{
    return every_other<first>(a, b, std::make_integer_sequence<int, width>());
}

// S vectors of interleaved phases become one vector of each: halves of halves.
template <std::size_t S>
[[gnu::always_inline]] inline void
split_vectors(const vec* in, vec* out, std::size_t step)
{
    if constexpr (S == 1) {
        out[0] = in[0];
    } else {
        vec even[S / 2], odd[S / 2];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < S / 2; ++i) {
            even[i] = every_other<0>(in[2 * i], in[2 * i + 1]);
            odd[i] = every_other<1>(in[2 * i], in[2 * i + 1]);
        }
        split_vectors<S / 2>(even, out, 2 * step);
        split_vectors<S / 2>(odd, out + step, 2 * step);
    }
}

// One vector of each of S phases, from S vectors at a distance of `step` floats.
template <std::size_t S>
[[gnu::always_inline]] inline void
split_block(const float* samples, std::size_t step, float* phases, std::size_t pitch)
{
    vec in[S], out[S];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < S; ++i)
        in[i] = load(samples + i * step);
    split_vectors<S>(in, out, 1);
#pragma GCC unroll 16
    for (std::size_t p = 0; p < S; ++p)
        store(phases + p * pitch, out[p]);
}

// At stride S a block is so many whole vectors; the last one may overlap the one before.
template <std::size_t S>
void split_stream(const float* samples,
                  std::size_t columns,
                  float* phases,
                  std::size_t pitch)
{
    for (std::size_t s = 0; s < columns; s += width) {
        s = at_most(s, columns - width);
        split_block<S>(samples + s * S, width, phases + s, pitch);
    }
}

// At longer strides it is `width` phases of `width` columns: a transposition.
void split_wide(const float* samples,
                std::size_t stride,
                std::size_t columns,
                float* phases,
                std::size_t pitch)
{
    for (std::size_t s = 0; s < columns; s += width) {
        s = at_most(s, columns - width);
        for (std::size_t p = 0; p < stride; p += width) {
            p = at_most(p, stride - width);
            split_block<width>(
                samples + s * stride + p, stride, phases + p * pitch + s, pitch);
        }
    }
}

void split(const float* samples,
           std::size_t available,
           std::size_t stride,
           std::size_t columns,
           float* phases,
           std::size_t pitch)
{
    const std::size_t whole = at_most(columns, available / stride);
    std::size_t s = whole < width ? 0 : whole;
    if (s == 0)
        ;
    else if (stride == 1)
        split_stream<1>(samples, whole, phases, pitch);
    else if (stride == 2)
        split_stream<2>(samples, whole, phases, pitch);
    else if (stride == 4)
        split_stream<4>(samples, whole, phases, pitch);
    else if (stride == 8)
        split_stream<8>(samples, whole, phases, pitch);
    else if (stride >= width)
        split_wide(samples, stride, whole, phases, pitch);
    else
        s = 0;
    for (; s < columns; ++s)
        for (std::size_t p = 0; p < stride; ++p)
            phases[p * pitch + s] =
                s * stride + p < available ? samples[s * stride + p] : 0.0f;
}

} // namespace
} // namespace gr::adann::core::simd
