/* -*- c++ -*- */
/*
 * The kernels on vectors, another part: networks so narrow that a layer's outputs stay in
 * registers while the next one is computed. Included by vector_kernels.h only, which see.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/simd/kernels.h"
#include "core/simd/vector_products.h"

namespace gr::adann::core::simd {
namespace {

template <std::size_t H>
[[gnu::always_inline]] inline void
add_rows(const weighted_rows& rows, std::size_t t, vec (&sum)[H][2])
{
    add_products(rows.weights, H, rows.x + t, rows.row, rows.inputs, sum);
}

// Sums o … o + R - 1 of a layer with H inputs.
template <std::size_t R, std::size_t H>
[[gnu::always_inline]] inline void layer_sums(const dense_layer& layer,
                                              std::size_t outputs,
                                              std::size_t o,
                                              const vec (&x)[H][2],
                                              vec (&sum)[R][2])
{
#pragma GCC unroll 16
    for (std::size_t r = 0; r < R; ++r)
        sum[r][0] = sum[r][1] = all(layer.biases[o + r]);
    const float* weight = layer.weights + o;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < H; ++i, weight += outputs)
#pragma GCC unroll 16
        for (std::size_t r = 0; r < R; ++r) {
            const vec w = all(weight[r]);
            sum[r][0] += w * x[i][0];
            sum[r][1] += w * x[i][1];
        }
}

template <std::size_t H>
[[gnu::always_inline]] inline void rectify_all(vec (&x)[H][2])
{
#pragma GCC unroll 16
    for (std::size_t r = 0; r < H; ++r)
#pragma GCC unroll 2
        for (std::size_t v = 0; v < 2; ++v)
            x[r][v] = rectified(x[r][v]);
}

// A layer with as many outputs as inputs: one half of them after the other, as not all
// would fit with the inputs.
template <std::size_t H>
[[gnu::always_inline]] inline void hidden_layer(const dense_layer& layer, vec (&x)[H][2])
{
    constexpr std::size_t half = H / 2;
    vec first[half][2], second[H - half][2];
    layer_sums(layer, H, 0, x, first);
    rectify_all(first);
    layer_sums(layer, H, half, x, second);
    rectify_all(second);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < H; ++r)
#pragma GCC unroll 2
        for (std::size_t v = 0; v < 2; ++v)
            x[r][v] = r < half ? first[r][v] : second[r - half][v];
}

struct decision {
    vec top;
    ivec label;
};

// Rows o … of the last layer, 1 <= rows <= R of them.
template <std::size_t R, std::size_t H>
[[gnu::always_inline]] inline void last_rows(const dense_layer& layer,
                                             std::size_t o,
                                             std::size_t rows,
                                             const vec (&x)[H][2],
                                             decision (&decided)[2],
                                             float* logits)
{
    if constexpr (R > 1) {
        if (rows < R)
            return last_rows<R - 1>(layer, o, rows, x, decided, logits);
    }
    vec sum[R][2];
    layer_sums(layer, layer.outputs, o, x, sum);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < R; ++r) {
        const ivec label = all(static_cast<std::int32_t>(o + r));
#pragma GCC unroll 2
        for (std::size_t v = 0; v < 2; ++v) {
            auto& [top, at] = decided[v];
            at = sum[r][v] > top ? label : at;
            top = larger(sum[r][v], top);
            if (logits)
                store(logits + (o + r) * tile + v * width, sum[r][v]);
        }
    }
}

// So many outputs at a time leave room for the inputs.
constexpr std::size_t last_block = 4;

template <std::size_t H>
void narrow_pairs(const weighted_rows& common,
                  const float* biases,
                  const weighted_rows* own,
                  const dense_layer* rest,
                  std::size_t count,
                  std::size_t columns,
                  std::uint8_t (*labels)[tile],
                  float* const* logits)
{
    const dense_layer& last = rest[count - 1];
    for (std::size_t t = 0; t < columns; t += 2 * width) {
        vec sum[H][2];
#pragma GCC unroll 16
        for (std::size_t r = 0; r < H; ++r)
            sum[r][0] = sum[r][1] = all(biases[r]);
        add_rows(common, t, sum);
        for (std::size_t odd = 0; odd < 2; ++odd) {
            vec x[H][2];
            __builtin_memcpy(x, sum, sizeof x);
            add_rows(own[odd], t, x);
            rectify_all(x);
            for (std::size_t k = 0; k + 1 < count; ++k)
                hidden_layer(rest[k], x);
            decision decided[2] = { { all(-__builtin_inff()), {} },
                                    { all(-__builtin_inff()), {} } };
            for (std::size_t o = 0; o < last.outputs; o += last_block)
                last_rows<last_block>(last,
                                      o,
                                      at_most(last_block, last.outputs - o),
                                      x,
                                      decided,
                                      logits ? logits[odd] + t : nullptr);
            to_bytes(labels[odd] + t, decided[0].label);
            to_bytes(labels[odd] + t + width, decided[1].label);
        }
    }
}

template <std::size_t... H>
struct narrow_table {
    static_assert(sizeof...(H) == widest_narrow - narrowest + 1);
    static constexpr narrow_kernel* kernels[] = { narrow_pairs<H>... };
};

constexpr narrow_kernel* const* narrow_kernels()
{
    // Two vectors of inputs, one of sums and a weight have to fit.
    if constexpr (ADANN_REGISTERS > 3 * widest_narrow)
        return narrow_table<2, 3, 4, 5, 6, 7, 8, 9, 10>::kernels;
    else
        return nullptr;
}

} // namespace
} // namespace gr::adann::core::simd
