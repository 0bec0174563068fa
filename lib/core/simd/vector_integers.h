/* -*- c++ -*- */
/*
 * The kernels of quantised networks on vectors. Included by vector_kernels.h only, which
 * see.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/simd/vector_products.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace gr::adann::core::simd {
namespace {

inline ivec load(const std::int32_t* p)
{
    return reinterpret_cast<ivec>(load(reinterpret_cast<const std::uint32_t*>(p)));
}
inline void store(std::int32_t* p, ivec v)
{
    store(reinterpret_cast<std::uint32_t*>(p), reinterpret_cast<uvec>(v));
}

// The product of the words' lower halves plus that of their upper halves.
inline ivec pair_products(ivec a, ivec b)
{
#if defined(__AVX512BW__) && ADANN_VECTOR == 16
    return reinterpret_cast<ivec>(
        _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__) && ADANN_VECTOR == 8
    return reinterpret_cast<ivec>(
        _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__) && ADANN_VECTOR == 4
    return reinterpret_cast<ivec>(
        _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
    return (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

void quantise_samples(
    const float* x, std::size_t n, float scale, std::int32_t largest, std::int32_t* y)
{
    const vec limit = all(static_cast<float>(largest));
    for (std::size_t i = 0; i < n; i += width) {
        vec v = load(x + i) * scale;
        v = v == v ? v : vec{};
        v = v < limit ? v : limit;
        v = v > -limit ? v : -limit;
        const ivec whole = __builtin_convertvector(v, ivec);
        const vec rest = v - to_float(whole);
        store(y + i, whole - (rest >= 0.5f) + (rest <= -0.5f)); // true is -1
    }
}

// Calls finish(row, at, sums) with R rows from o on, two vectors of each in turn.
template <std::size_t R, typename Finish>
[[gnu::always_inline]] inline void integer_rows(const integer_layer& layer,
                                                const std::int32_t* x,
                                                const std::uint32_t* row,
                                                std::size_t o,
                                                Finish finish)
{
    const std::size_t pairs = layer.pairs, outputs = layer.outputs;
    for (std::size_t t = 0; t < tile; t += 2 * width) {
        ivec sum[R][2];
#pragma GCC unroll 16
        for (std::size_t r = 0; r < R; ++r)
            sum[r][0] = sum[r][1] = all(layer.biases[o + r]);
        const std::int32_t* weight = layer.weights + o;
        for (std::size_t i = 0; i < pairs; ++i, weight += outputs) {
            const ivec x0 = load(x + row[i] + t), x1 = load(x + row[i] + t + width);
#pragma GCC unroll 16
            for (std::size_t r = 0; r < R; ++r) {
                const ivec w = all(weight[r]);
                sum[r][0] += pair_products(w, x0);
                sum[r][1] += pair_products(w, x1);
            }
        }
        finish(t, sum);
    }
}

template <std::size_t R>
void hidden_rows(const integer_layer& layer,
                 const std::int32_t* x,
                 const std::uint32_t* row,
                 std::size_t o,
                 std::int32_t* y)
{
    const ivec largest = all(layer.largest);
    const auto requantised = [&](ivec sum, std::size_t output) {
        const int shift = layer.shifts[output];
        sum = sum > 0 ? sum : ivec{};
        sum = (sum + (shift ? 1 << (shift - 1) : 0)) >> shift;
        return sum < largest ? sum : largest;
    };
    integer_rows<R>(layer, x, row, o, [&](std::size_t t, const ivec(&sum)[R][2]) {
#pragma GCC unroll 16
        for (std::size_t r = 0; r < R; r += 2)
            for (std::size_t at = 0; at < 2; ++at) {
                ivec word = requantised(sum[r][at], o + r);
                if (r + 1 < R)
                    word |= requantised(sum[r + 1][at], o + r + 1) << 16;
                store(y + (o + r) / 2 * tile + t + at * width, word);
            }
    });
}

template <std::size_t R>
void sum_rows(const integer_layer& layer,
              const std::int32_t* x,
              const std::uint32_t* row,
              std::size_t o,
              std::int32_t* y)
{
    integer_rows<R>(layer, x, row, o, [&](std::size_t t, const ivec(&sum)[R][2]) {
#pragma GCC unroll 16
        for (std::size_t r = 0; r < R; ++r)
            for (std::size_t at = 0; at < 2; ++at)
                store(y + (o + r) * tile + t + at * width, sum[r][at]);
    });
}

// function<rows>(…), for 1 <= rows <= R. R is even, so that each block starts a pair.
template <template <std::size_t> class Rows, std::size_t R = affine_block>
void some_rows(const integer_layer& layer,
               const std::int32_t* x,
               const std::uint32_t* row,
               std::size_t o,
               std::size_t rows,
               std::int32_t* y)
{
    static_assert(affine_block % 2 == 0);
    if constexpr (R > 1) {
        if (rows < R)
            return some_rows<Rows, R - 1>(layer, x, row, o, rows, y);
    }
    Rows<R>::run(layer, x, row, o, y);
}

template <std::size_t R>
struct hidden_block {
    static constexpr auto run = hidden_rows<R>;
};
template <std::size_t R>
struct sum_block {
    static constexpr auto run = sum_rows<R>;
};

template <template <std::size_t> class Rows>
void all_rows(const integer_layer& layer,
              const std::int32_t* x,
              const std::uint32_t* row,
              std::int32_t* y)
{
    for (std::size_t o = 0; o < layer.outputs; o += affine_block)
        some_rows<Rows>(layer, x, row, o, at_most(layer.outputs - o, affine_block), y);
}

void integer_argmax(const std::int32_t* logits, std::size_t classes, std::uint8_t* labels)
{
    for (std::size_t t = 0; t < tile; t += width) {
        ivec best = load(logits + t), label{};
        for (std::size_t j = 1; j < classes; ++j) {
            const ivec other = load(logits + j * tile + t);
            const ivec larger = other > best;
            best = larger ? other : best;
            label = larger ? all(static_cast<std::int32_t>(j)) : label;
        }
        to_bytes(labels + t, label);
    }
}

constexpr integer_kernels vector_integers{
    quantise_samples, all_rows<hidden_block>, all_rows<sum_block>, integer_argmax
};

} // namespace
} // namespace gr::adann::core::simd
