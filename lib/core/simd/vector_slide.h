/* -*- c++ -*- */
/*
 * The kernels on vectors, third part: products with a sliding row. Included by
 * vector_kernels.h only, which see.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/simd/kernels.h"
#include "core/simd/vector.h"

namespace gr::adann::core::simd {
namespace {

// Enough sums at a time to hide how long an addition takes.
constexpr std::size_t sliding_sums = ADANN_REGISTERS >= 32 ? 16 : 8;

struct slide_task {
    const float* const* a;
    std::size_t n;
    const float* x;
    std::size_t step;
    float keep;
    float* const* y;
};

// C vectors of R rows, from column l on.
template <std::size_t R, std::size_t C>
void slide_part(const slide_task& task, std::size_t l)
{
    const std::size_t n = task.n, step = task.step;
    const float* a[R];
    vec sum[R][C];
    for (std::size_t r = 0; r < R; ++r) {
        a[r] = task.a[r];
#pragma GCC unroll 16
        for (std::size_t c = 0; c < C; ++c)
            sum[r][c] =
                task.keep != 0 ? task.keep * load(task.y[r] + l + c * width) : vec{};
    }
    const float* x = task.x + l;
    for (std::size_t i = 0; i < n; ++i, x += step) {
        vec factor[R];
#pragma GCC unroll 4
        for (std::size_t r = 0; r < R; ++r)
            factor[r] = all(a[r][i]);
#pragma GCC unroll 16
        for (std::size_t c = 0; c < C; ++c) {
            const vec column = load(x + c * width);
#pragma GCC unroll 4
            for (std::size_t r = 0; r < R; ++r)
                sum[r][c] += factor[r] * column;
        }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 16
        for (std::size_t c = 0; c < C; ++c)
            store(task.y[r] + l + c * width, sum[r][c]);
}

// The last vectors, up to C of them.
template <std::size_t R, std::size_t C>
void slide_rest(const slide_task& task, std::size_t l, std::size_t left)
{
    if constexpr (C > 0) {
        if (left == C)
            slide_part<R, C>(task, l);
        else
            slide_rest<R, C - 1>(task, l, left);
    }
}

template <std::size_t R>
void slide_rows(const slide_task& task, std::size_t columns)
{
    constexpr std::size_t block = R < 3 ? sliding_sums / 2 / R : sliding_sums / 4;
    std::size_t l = 0;
    for (; l + block * width <= columns; l += block * width)
        slide_part<R, block>(task, l);
    slide_rest<R, block - 1>(task, l, (columns - l) / width);
}

void slide(const float* const* a,
           std::size_t rows,
           std::size_t n,
           const float* x,
           std::size_t step,
           std::size_t columns,
           float keep,
           float* const* y)
{
    const slide_task task{ a, n, x, step, keep, y };
    switch (rows) {
    case 1:
        return slide_rows<1>(task, columns);
    case 2:
        return slide_rows<2>(task, columns);
    case 3:
        return slide_rows<3>(task, columns);
    default:
        return slide_rows<4>(task, columns);
    }
}

} // namespace
} // namespace gr::adann::core::simd
