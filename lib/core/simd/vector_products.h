/* -*- c++ -*- */
/*
 * The kernels on vectors, first part: matrix products. Blocks of results stay in
 * registers over the whole inner loop. Included by vector_kernels.h only, which see.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/simd/kernels.h"
#include "core/simd/vector.h"

namespace gr::adann::core::simd {
namespace {

static_assert(lanes % width == 0 && tile % (2 * width) == 0);

// ----

// R rows of results, two vectors each, two vectors of x and one weight have to fit.
constexpr std::size_t affine_block = ADANN_REGISTERS >= 32 ? 12 : 6;
// The same for the outer product's R × C block with its R + C factors.
constexpr std::size_t outer_rows = ADANN_REGISTERS >= 32 ? 5 : 3;
constexpr std::size_t outer_columns = ADANN_REGISTERS >= 32 ? 5 : 4;

// Adds W x to R rows of sums, two vectors each; `outputs` weights lie between two of a
// row.
template <std::size_t R>
[[gnu::always_inline]] inline void add_products(const float* weight,
                                                std::size_t outputs,
                                                const float* column,
                                                const std::uint32_t* row,
                                                std::size_t inputs,
                                                vec (&sum)[R][2])
{
    for (std::size_t i = 0; i < inputs; ++i, weight += outputs) {
        const float* x = column + row[i];
        const vec x0 = load(x), x1 = load(x + width);
#pragma GCC unroll 16
        for (std::size_t r = 0; r < R; ++r) {
            const vec w = all(weight[r]);
            sum[r][0] += w * x0;
            sum[r][1] += w * x1;
        }
    }
}

struct affine_task {
    const float* weights;
    const float* biases;
    const float* start;
    std::size_t inputs;
    std::size_t outputs;
    const float* x;
    const std::uint32_t* row;
    activation then;
    const float* active;
    float* y;
};

// Rows o … o + R - 1 of y. What does not change is named outside of the loops: for all
// the compiler knows, storing y could change the task.
template <std::size_t R>
void affine_rows(const affine_task& task, std::size_t o)
{
    const std::size_t inputs = task.inputs, outputs = task.outputs;
    const std::uint32_t* const row = task.row;
    const activation then = task.then;
    const float* const biases = task.biases ? task.biases + o : nullptr;
    const float* const start = task.start ? task.start + o * tile : nullptr;
    for (std::size_t t = 0; t < tile; t += 2 * width) {
        vec sum[R][2];
#pragma GCC unroll 16
        for (std::size_t r = 0; r < R; ++r)
            sum[r][0] = sum[r][1] = all(biases ? biases[r] : 0.0f);
        if (start) {
            const float* const from = start + t;
#pragma GCC unroll 16
            for (std::size_t r = 0; r < R; ++r) {
                sum[r][0] += load(from + r * tile);
                sum[r][1] += load(from + r * tile + width);
            }
        }
        add_products(task.weights + o, outputs, task.x + t, row, inputs, sum);
        float* const y = task.y + o * tile + t;
        const float* const active =
            then == activation::masked ? task.active + o * tile + t : nullptr;
        const auto finish = [&](auto function) {
#pragma GCC unroll 16
            for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 2
                for (std::size_t at = 0; at < 2; ++at)
                    store(y + r * tile + at * width,
                          function(sum[r][at], r * tile + at * width));
        };
        if (then == activation::relu)
            finish([](vec value, std::size_t) { return rectified(value); });
        else if (then == activation::masked)
            finish([&](vec value, std::size_t at) {
                return load(active + at) > 0.0f ? value : vec{};
            });
        else
            finish([](vec value, std::size_t) { return value; });
    }
}

// affine_rows<rows>, for 1 <= rows <= R.
template <std::size_t R = affine_block>
void affine_some(const affine_task& task, std::size_t o, std::size_t rows)
{
    if constexpr (R > 1) {
        if (rows < R)
            return affine_some<R - 1>(task, o, rows);
    }
    affine_rows<R>(task, o);
}

void affine(const float* weights,
            const float* biases,
            const float* start,
            std::size_t inputs,
            std::size_t outputs,
            const float* x,
            const std::uint32_t* row,
            activation then,
            const float* active,
            float* y)
{
    const affine_task task{ weights, biases, start, inputs, outputs,
                            x,       row,    then,  active, y };
    // Blocks of nearly the same size: 16 rows are 8 + 8 rather than 12 + 4.
    for (std::size_t o = 0, left = (outputs + affine_block - 1) / affine_block; left;
         --left) {
        const std::size_t rows = (outputs - o + left - 1) / left;
        affine_some(task, o, rows);
        o += rows;
    }
}

template <std::size_t R, std::size_t C>
void outer_part(const float* dy,
                const float* x,
                const std::uint32_t* row,
                std::size_t inputs,
                float* sums)
{
    vec sum[R][C] = {};
    for (std::size_t t = 0; t < tile; t += width) {
        vec d[R];
#pragma GCC unroll 8
        for (std::size_t r = 0; r < R; ++r)
            d[r] = load(dy + r * tile + t);
#pragma GCC unroll 8
        for (std::size_t c = 0; c < C; ++c) {
            const vec column = load(x + row[c] + t);
#pragma GCC unroll 8
            for (std::size_t r = 0; r < R; ++r)
                sum[r][c] += d[r] * column;
        }
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (std::size_t c = 0; c < C; ++c) {
            float* at = sums + (r * inputs + c) * lanes;
            store(at, load(at) + sum[r][c]);
        }
}

// outer_part<rows, columns>, for 1 <= rows <= R and 1 <= columns <= C.
template <std::size_t R = outer_rows, std::size_t C = outer_columns>
void outer_some(std::size_t rows,
                std::size_t columns,
                const float* dy,
                const float* x,
                const std::uint32_t* row,
                std::size_t inputs,
                float* sums)
{
    if constexpr (R > 1) {
        if (rows < R)
            return outer_some<R - 1, C>(rows, columns, dy, x, row, inputs, sums);
    }
    if constexpr (C > 1) {
        if (columns < C)
            return outer_some<R, C - 1>(rows, columns, dy, x, row, inputs, sums);
    }
    outer_part<R, C>(dy, x, row, inputs, sums);
}

void outer(const float* dy,
           std::size_t outputs,
           const float* x,
           const std::uint32_t* row,
           std::size_t inputs,
           float* sums)
{
    // x is the larger one: the nearest cache need not keep more than some columns of it.
    for (std::size_t i = 0; i < inputs; i += outer_columns)
        for (std::size_t o = 0; o < outputs; o += outer_rows)
            outer_some(at_most(outer_rows, outputs - o),
                       at_most(outer_columns, inputs - i),
                       dy + o * tile,
                       x,
                       row + i,
                       inputs,
                       sums + (o * inputs + i) * lanes);
}

void row_sums(const float* dy, std::size_t outputs, float* sums)
{
    for (std::size_t o = 0; o < outputs; ++o) {
        vec sum = load(sums + o * lanes);
        for (std::size_t t = 0; t < tile; t += width)
            sum += load(dy + o * tile + t);
        store(sums + o * lanes, sum);
    }
}

} // namespace
} // namespace gr::adann::core::simd
