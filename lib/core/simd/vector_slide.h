/* -*- c++ -*- */
/*
 * The kernels on vectors, third part: products with a sliding row, and what least squares of
 * such rows need. Included by vector_kernels.h only, which see.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/simd/kernels.h"
#include "core/simd/trellis_vector.h"
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

// Of all lanes, by halves.
template <std::size_t half, std::size_t... lane>
float total(vec v, lane_list<lane...> lanes)
{
    if constexpr (half == 0)
        return v[0];
    else
        return total<half / 2>(
            v + __builtin_shufflevector(v, v, ((lane + half) % width)...), lanes);
}

float dot(const float* a, const float* b, std::size_t n)
{
    constexpr std::size_t sums = 4;
    vec sum[sums] = {};
    std::size_t i = 0;
    const auto product = [&](std::size_t at) {
        return b ? load(a + at) * load(b + at) : load(a + at);
    };
    for (; i + sums * width <= n; i += sums * width)
#pragma GCC unroll 4
        for (std::size_t s = 0; s < sums; ++s)
            sum[s] += product(i + s * width);
    for (; i + width <= n; i += width)
        sum[0] += product(i);
    float rest = 0;
    for (; i < n; ++i)
        rest += b ? a[i] * b[i] : a[i];
    return total<width / 2>((sum[0] + sum[1]) + (sum[2] + sum[3]),
                            make_lanes<width>::list()) +
           rest;
}

// The last lane of `before`, then all but the last of v.
template <std::size_t... lane>
vec move_on(vec before, vec v, lane_list<lane...>)
{
    return __builtin_shufflevector(before, v, (width - 1 + lane)...);
}

// C vectors of each row, from column l on.
template <std::size_t C>
void covariance_part(const float* x,
                     std::size_t n,
                     std::size_t taps,
                     std::size_t pitch,
                     std::size_t l,
                     float* matrix)
{
    vec row[C], leaves[C], comes[C], last = {};
#pragma GCC unroll 4
    for (std::size_t c = 0; c < C; ++c) {
        row[c] = load(matrix + l + c * width);
        leaves[c] = load(x + l + c * width);
        comes[c] = load(x + n + l + c * width);
    }
    const vec before_leaves = all(l ? x[l - 1] : 0),
              before_comes = all(l ? x[n + l - 1] : 0);
    for (std::size_t k = 1; k < taps; ++k) {
        const vec first = all(x[k - 1]), end = all(x[k - 1 + n]);
        last = l ? all(matrix[(k - 1) * pitch + l - 1]) - first * before_leaves +
                       end * before_comes
                 : all(matrix[k]);
#pragma GCC unroll 4
        for (std::size_t c = 0; c < C; ++c)
            row[c] = row[c] - first * leaves[c] + end * comes[c];
#pragma GCC unroll 4
        for (std::size_t left = C; left > 0; --left) {
            const std::size_t c = left - 1;
            row[c] = move_on(c ? row[c - 1] : last, row[c], make_lanes<width>::list());
            store(matrix + k * pitch + l + c * width, row[c]);
        }
    }
}

void covariance_rows(
    const float* x, std::size_t n, std::size_t taps, std::size_t pitch, float* matrix)
{
    constexpr std::size_t block = ADANN_REGISTERS >= 32 ? 4 : 2;
    const std::size_t columns = (taps + width - 1) / width * width;
    std::size_t l = 0;
    for (; l + block * width <= columns; l += block * width)
        covariance_part<block>(x, n, taps, pitch, l, matrix);
    for (; l < columns; l += width)
        covariance_part<1>(x, n, taps, pitch, l, matrix);
    for (std::size_t k = 1; k < taps; ++k)
        for (std::size_t j = taps; j < pitch; ++j)
            matrix[k * pitch + j] = 0;
}

} // namespace
} // namespace gr::adann::core::simd
