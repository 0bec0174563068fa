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

#if defined(__AVX512VNNI__) && ADANN_VECTOR == 16
#define ADANN_QUADS
#endif

// sum + the products of the words' values.
template <unsigned values>
inline ivec add_products(ivec sum, ivec weights, ivec x)
{
#ifdef ADANN_QUADS
    const auto into = reinterpret_cast<__m512i>(sum), a = reinterpret_cast<__m512i>(x),
               b = reinterpret_cast<__m512i>(weights);
    return reinterpret_cast<ivec>(values == 4 ? _mm512_dpbusd_epi32(into, a, b)
                                              : _mm512_dpwssd_epi32(into, a, b));
#elif defined(__AVX512BW__) && ADANN_VECTOR == 16
    return sum + reinterpret_cast<ivec>(_mm512_madd_epi16(
                     reinterpret_cast<__m512i>(weights), reinterpret_cast<__m512i>(x)));
#elif defined(__AVX2__) && ADANN_VECTOR == 8
    return sum + reinterpret_cast<ivec>(_mm256_madd_epi16(
                     reinterpret_cast<__m256i>(weights), reinterpret_cast<__m256i>(x)));
#elif defined(__SSE2__) && ADANN_VECTOR == 4
    return sum + reinterpret_cast<ivec>(_mm_madd_epi16(reinterpret_cast<__m128i>(weights),
                                                       reinterpret_cast<__m128i>(x)));
#else
    return sum + (weights << 16 >> 16) * (x << 16 >> 16) + (weights >> 16) * (x >> 16);
#endif
}

inline ivec quantised(vec v, float scale, vec limit)
{
    v *= scale;
    v = v == v ? v : vec{};
    v = v < limit ? v : limit;
    v = v > -limit ? v : -limit;
    // Halves go away from zero. The float below a half: what lies below one stays there.
    const ivec sign = as_bits(v) & static_cast<std::int32_t>(0x80000000);
    return __builtin_convertvector(v + as_float(as_bits(all(0.49999997f)) | sign), ivec);
}

template <unsigned values>
void quantise_samples(
    const float* x, std::size_t n, float scale, std::int32_t largest, void* y)
{
    const vec limit = all(static_cast<float>(largest));
    const auto write = [&](std::size_t i, vec v) {
        const ivec whole = quantised(v, scale, limit);
        if constexpr (values == 4)
            to_bytes(static_cast<std::uint8_t*>(y) + i, whole + word_kernels::offset);
        else
            to_shorts(static_cast<std::int16_t*>(y) + i, whole);
    };
    std::size_t i = 0;
    for (; i + width <= n; i += width)
        write(i, load(x + i));
    if (i < n) {
        float last[width] = {};
        __builtin_memcpy(last, x + i, (n - i) * sizeof(float));
        write(i, load(last));
    }
}

// Calls finish(at, sums) with R rows from o on, two vectors of each in turn.
template <unsigned values, std::size_t R, typename Finish>
[[gnu::always_inline]] inline void integer_rows(const integer_layer& layer,
                                                const std::int32_t* x,
                                                const std::uint32_t* row,
                                                std::size_t o,
                                                Finish finish)
{
    const std::size_t groups = layer.groups, outputs = layer.outputs;
    for (std::size_t t = 0; t < tile; t += 2 * width) {
        ivec sum[R][2];
#pragma GCC unroll 16
        for (std::size_t r = 0; r < R; ++r)
            sum[r][0] = sum[r][1] = all(layer.biases[o + r]);
        const std::int32_t* weight = layer.weights + o;
        for (std::size_t i = 0; i < groups; ++i, weight += outputs) {
            const ivec x0 = load(x + row[i] + t), x1 = load(x + row[i] + t + width);
#pragma GCC unroll 16
            for (std::size_t r = 0; r < R; ++r) {
                const ivec w = all(weight[r]);
                sum[r][0] = add_products<values>(sum[r][0], w, x0);
                sum[r][1] = add_products<values>(sum[r][1], w, x1);
            }
        }
        finish(t, sum);
    }
}

inline ivec shifted(ivec v, std::int32_t by)
{
#ifdef ADANN_QUADS
    // One instruction, where a shift that all lanes share takes two. (GCC 12 warns of the
    // version without a mask.)
    return reinterpret_cast<ivec>(_mm512_maskz_srav_epi32(
        0xffff, reinterpret_cast<__m512i>(v), reinterpret_cast<__m512i>(all(by))));
#else
    return v >> by;
#endif
}

// Four or two outputs as words: 0 to `largest` each, shifted already.
inline ivec word_of(const ivec (&value)[2], ivec largest)
{
    ivec limited[2];
    for (std::size_t i = 0; i < 2; ++i) {
        limited[i] = value[i] > 0 ? value[i] : ivec{};
        limited[i] = limited[i] < largest ? limited[i] : largest;
    }
    return limited[0] | limited[1] << 16;
}
#ifdef ADANN_QUADS
inline ivec word_of(const ivec (&value)[4], ivec largest)
{
    const auto of = [&](std::size_t i) { return reinterpret_cast<__m512i>(value[i]); };
    // Both limit what does not fit; each quarter of the vector is packed on its own.
    __m512i bytes = _mm512_packus_epi16(_mm512_packs_epi32(of(0), of(1)),
                                        _mm512_packs_epi32(of(2), of(3)));
    bytes = _mm512_shuffle_epi8(
        bytes, _mm512_set4_epi32(0x0f0b0703, 0x0e0a0602, 0x0d090501, 0x0c080400));
    return reinterpret_cast<ivec>(
        _mm512_min_epu8(bytes, reinterpret_cast<__m512i>(largest)));
}
#endif

template <unsigned values, std::size_t R>
void hidden_rows(const integer_layer& layer,
                 const std::int32_t* x,
                 const std::uint32_t* row,
                 std::size_t o,
                 std::int32_t* y)
{
    // In words of four: the same byte four times.
    const ivec largest =
        all(values == 4 ? static_cast<std::int32_t>(layer.largest * 0x01010101u)
                        : layer.largest);
    integer_rows<values, R>(layer, x, row, o, [&](std::size_t t, const ivec(&sum)[R][2]) {
#pragma GCC unroll 16
        for (std::size_t r = 0; r < R; r += values)
            for (std::size_t at = 0; at < 2; ++at) {
                ivec value[values] = {};
#pragma GCC unroll 4
                for (std::size_t i = 0; i < values; ++i)
                    if (r + i < R)
                        value[i] = shifted(sum[r + i][at], layer.shifts[o + r + i]);
                store(y + (o + r) / values * tile + t + at * width,
                      word_of(value, largest));
            }
    });
}

template <unsigned values, std::size_t R>
void sum_rows(const integer_layer& layer,
              const std::int32_t* x,
              const std::uint32_t* row,
              std::size_t o,
              std::int32_t* y)
{
    integer_rows<values, R>(layer, x, row, o, [&](std::size_t t, const ivec(&sum)[R][2]) {
#pragma GCC unroll 16
        for (std::size_t r = 0; r < R; ++r)
            for (std::size_t at = 0; at < 2; ++at)
                store(y + (o + r) * tile + t + at * width, sum[r][at]);
    });
}

// Rows at a time: whole words of outputs.
constexpr std::size_t integer_block = affine_block / 4 * 4;

// function<rows>(…), for 1 <= rows <= R.
template <template <unsigned, std::size_t> class Rows,
          unsigned values,
          std::size_t R = integer_block>
void some_rows(const integer_layer& layer,
               const std::int32_t* x,
               const std::uint32_t* row,
               std::size_t o,
               std::size_t rows,
               std::int32_t* y)
{
    if constexpr (R > 1) {
        if (rows < R)
            return some_rows<Rows, values, R - 1>(layer, x, row, o, rows, y);
    }
    Rows<values, R>::run(layer, x, row, o, y);
}

template <unsigned values, std::size_t R>
struct hidden_block {
    static constexpr auto run = hidden_rows<values, R>;
};
template <unsigned values, std::size_t R>
struct sum_block {
    static constexpr auto run = sum_rows<values, R>;
};

template <template <unsigned, std::size_t> class Rows, unsigned values>
void all_rows(const integer_layer& layer,
              const std::int32_t* x,
              const std::uint32_t* row,
              std::int32_t* y)
{
    for (std::size_t o = 0; o < layer.outputs; o += integer_block)
        some_rows<Rows, values>(
            layer, x, row, o, at_most(layer.outputs - o, integer_block), y);
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

template <unsigned values>
constexpr word_kernels vector_words{ values,
                                     quantise_samples<values>,
                                     all_rows<hidden_block, values>,
                                     all_rows<sum_block, values> };

constexpr integer_kernels vector_integers{ vector_words<2>,
#ifdef ADANN_QUADS
                                           vector_words<4>,
#else
                                           { 4, nullptr, nullptr, nullptr },
#endif
                                           integer_argmax };

} // namespace
} // namespace gr::adann::core::simd
