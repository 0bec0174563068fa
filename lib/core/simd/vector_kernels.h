/* -*- c++ -*- */
/*
 * The kernels on vectors: one source, included once for each instruction set.
 *
 * The including file defines ADANN_VECTOR (floats per vector) and ADANN_REGISTERS (how
 * many vectors the machine holds), and is compiled with that machine's flags.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/simd/trellis_vector.h"
#include "core/simd/vector_integers.h"
#include "core/simd/vector_narrow.h"
#include "core/simd/vector_phases.h"
#include "core/simd/vector_products.h"
#include "core/simd/vector_slide.h"

namespace gr::adann::core::simd {
namespace {

// ---- Softmax and what belongs to it ----

struct logit_column {
    vec top;    // the largest
    ivec label; // where it is
    ivec valid; // all are finite
};

logit_column survey(const float* logits, std::size_t classes)
{
    logit_column found{ load(logits), ivec{}, ivec{} };
    vec zero = found.top * 0.0f; // NaN if not finite
    for (std::size_t j = 1; j < classes; ++j) {
        const vec value = load(logits + j * tile);
        const ivec better = value > found.top;
        found.top = better ? value : found.top;
        found.label = better ? all(static_cast<std::int32_t>(j)) : found.label;
        zero += value * 0.0f;
    }
    found.valid = zero == 0.0f;
    return found;
}

void softmax(const float* logits, std::size_t classes, float* posteriors)
{
    for (std::size_t t = 0; t < tile; t += width) {
        const logit_column column = survey(logits + t, classes);
        vec sum = {};
        for (std::size_t j = 0; j < classes; ++j) {
            const vec e = exponential(load(logits + j * tile + t) - column.top);
            const vec p = column.valid ? e : all(1.0f);
            sum += p;
            store(posteriors + j * tile + t, p);
        }
        const vec scale = 1.0f / sum;
        for (std::size_t j = 0; j < classes; ++j)
            store(posteriors + j * tile + t, load(posteriors + j * tile + t) * scale);
    }
}

void argmax(const float* logits, std::size_t classes, std::uint8_t* labels)
{
    for (std::size_t t = 0; t < tile; t += width) {
        const logit_column column = survey(logits + t, classes);
        to_bytes(labels + t, column.label & column.valid);
    }
}

double cross_entropy(const float* logits,
                     const float* posteriors,
                     std::size_t classes,
                     const std::uint8_t* labels,
                     std::size_t n,
                     float* error)
{
    ivec lane;
    for (std::size_t l = 0; l < width; ++l)
        lane[l] = static_cast<std::int32_t>(l);
    vec losses = {};
    for (std::size_t t = 0; t < tile; t += width) {
        const ivec label = from_bytes(labels + t);
        const ivec counts =
            lane + static_cast<std::int32_t>(t) < static_cast<std::int32_t>(n);
        const logit_column column = survey(logits + t, classes);
        vec own = {}, top = {}, below_top = {}, other_posteriors = {};
        for (std::size_t j = 0; j < classes; ++j) {
            const ivec this_one = all(static_cast<std::int32_t>(j));
            const vec logit = load(logits + j * tile + t);
            const vec p = load(posteriors + j * tile + t);
            own = label == this_one ? logit : own;
            top = column.label == this_one ? p : top;
            below_top += column.label == this_one ? vec{} : p;
            other_posteriors += label == this_one ? vec{} : p;
            store(error + j * tile + t, counts ? p : vec{});
        }
        for (std::size_t j = 0; j < classes; ++j) {
            const ivec own_row = (label == static_cast<std::int32_t>(j)) & counts;
            const vec e = load(error + j * tile + t);
            store(error + j * tile + t, own_row ? -other_posteriors : e);
        }
        // ln(1 / top) = ln(1 + others), with what 1 + others rounds away put back.
        const vec others = below_top / top;
        const vec sum = 1.0f + others;
        const vec value =
            column.top - own + logarithm(sum) + (others - (sum - 1.0f)) / sum;
        losses += counts ? value : vec{};
    }
    double loss = 0;
    for (std::size_t l = 0; l < width; ++l)
        loss += losses[l];
    return loss;
}

void posterior_change(const float* to,
                      const float* from,
                      std::size_t classes,
                      float* change)
{
    for (std::size_t t = 0; t < tile; t += width) {
        const ivec top = survey(from + t, classes).label;
        vec others = {}, largest = {};
        for (std::size_t j = 0; j < classes; ++j) {
            const vec moved = load(to + j * tile + t) - load(from + j * tile + t);
            const vec other = top == static_cast<std::int32_t>(j) ? vec{} : moved;
            others += other;
            largest = larger(magnitude(other), largest);
            store(change + j * tile + t, moved);
        }
        const vec scale = 1.0f / larger(larger(magnitude(others), largest), all(1e-37f));
        for (std::size_t j = 0; j < classes; ++j) {
            const vec moved = load(change + j * tile + t);
            store(change + j * tile + t,
                  (top == static_cast<std::int32_t>(j) ? -others : moved) * scale);
        }
    }
}

// ---- Rows ----

void differences(
    const float* even, const float* odd, std::size_t n, float* same, float* next)
{
    for (std::size_t i = 0; i < n; i += width) {
        const vec subtrahend = load(odd + i);
        store(same + i, load(even + i) - subtrahend);
        store(next + i, load(even + i + 1) - subtrahend);
    }
}

void rectify(const float* x, std::size_t rows, float* y)
{
    for (std::size_t i = 0; i < rows * tile; i += width)
        store(y + i, rectified(load(x + i)));
}

// Rows that are none: each is this one.
alignas(64) constexpr float zeros[tile] = {};

void set_length(
    const float* x, const std::uint32_t* row, std::size_t rows, float length, float* y)
{
    // Several vectors of symbols at once: one alone would wait for its own sums.
    constexpr std::size_t block = 8;
    static_assert(tile % (block * width) == 0);
    for (std::size_t t = 0; t < tile; t += block * width) {
        vec squares[block] = {}, scale[block];
        for (std::size_t k = 0; k < rows; ++k)
            for (std::size_t v = 0; v < block; ++v) {
                const vec value = load(y + k * tile + t + v * width);
                squares[v] += value * value;
            }
        for (std::size_t v = 0; v < block; ++v)
            scale[v] = length / square_root(larger(squares[v], all(1e-37f)));
        for (std::size_t k = 0; k < rows; ++k) {
            const float* const from = (x ? x + row[k] : zeros) + t;
            float* const to = y + k * tile + t;
            for (std::size_t v = 0; v < block; ++v)
                store(to + v * width,
                      load(from + v * width) + load(to + v * width) * scale[v]);
        }
    }
}

void logarithm(const float* x, std::size_t n, float* y)
{
    for (std::size_t i = 0; i < n; i += width)
        store(y + i, logarithm(load(x + i)));
}

// ---- Noise ----

uvec rotate_left(uvec x, int bits) { return x << bits | x >> (32 - bits); }

// xoshiro128++ (Blackman and Vigna, 2019) in every lane.
struct streams {
    uvec w0, w1, w2, w3;

    uvec next()
    {
        const uvec result = rotate_left(w0 + w3, 7) + w0;
        const uvec t = w1 << 9;
        w2 ^= w0;
        w3 ^= w1;
        w1 ^= w2;
        w0 ^= w3;
        w2 ^= t;
        w3 = rotate_left(w3, 11);
        return result;
    }
};

// √(-2^23 log2 u) with a random sign: the uppermost bit, u from the others.
vec random_radius(uvec bits)
{
    const ivec scaled =
        as_bits(to_float(reinterpret_cast<ivec>((bits & 0x7fffffffu) | 1))); // 2^31 u
    // u = (2 + y) · 2^e, y from -1 to 0. A float's bits, read as a whole number, are a
    // logarithm with straight lines between the powers of two: here 2^23 (e + 1 + y),
    // exact at u = 1; the polynomial is 2^23 (1 + y - log2(2 + y)) / (y (y + 1)).
    const vec straight = to_float(scaled - ((127 + 31) << 23));
    const vec y = as_float((scaled & 0x007fffff) | 0x3f800000) - 2.0f;
    vec p = all(-293553.438f);
    p = p * y + 229098.375f;
    p = p * y - 839061.812f;
    p = p * y + 2337190.25f;
    const vec radius = square_root(p * (y * y + y) - straight);
    return as_float(as_bits(radius) | reinterpret_cast<ivec>(bits & 0x80000000u));
}

// The point at ±90 degrees on the unit circle: cosine and sine of π/2 t, t from -1 to 1.
void random_direction(uvec bits, vec& x, vec& y)
{
    const vec t = to_float(reinterpret_cast<ivec>(bits)) * 0x1p-31f;
    const vec z = t * t;
    vec s = all(-0.00436247548f);
    s = s * z + 0.0794876663f;
    s = s * z - 0.645920983f;
    y = (s * z + 1.57079485f) * t;
    vec c = all(-0.0190957693f);
    c = c * z + 0.252580299f;
    c = c * z - 1.23348453f;
    x = c * z + 0.999993298f;
}

/* Box-Muller: of three random words two give a radius each, and one both angles, each
 * from 16 bits: what the lower ones add to the first is less than the distance between
 * two of its values. */
void add_noise(noise_state& state,
               const float* x,
               const std::uint32_t* row,
               std::size_t rows,
               float scale,
               float* y)
{
    const float unit = scale * 4.06520806e-4f; // √(2^-23 · 2 ln 2)
    auto& words = state.words;
    for (std::size_t l = 0; l < lanes; l += width) {
        streams random{
            load(words[0] + l), load(words[1] + l), load(words[2] + l), load(words[3] + l)
        };
        for (std::size_t k = 0; k < rows; ++k) {
            const float* from = (x ? x + row[k] : zeros) + l;
            float* to = y + k * tile + l;
            for (std::size_t t = 0; t < tile; t += 4 * lanes) {
                const vec first = random_radius(random.next()) * unit;
                const vec second = random_radius(random.next()) * unit;
                const uvec angles = random.next();
                vec cosine, sine;
                random_direction(angles, cosine, sine);
                store(to + t, load(from + t) + first * cosine);
                store(to + t + lanes, load(from + t + lanes) + first * sine);
                random_direction(angles << 16, cosine, sine);
                store(to + t + 2 * lanes, load(from + t + 2 * lanes) + second * cosine);
                store(to + t + 3 * lanes, load(from + t + 3 * lanes) + second * sine);
            }
        }
        store(words[0] + l, random.w0);
        store(words[1] + l, random.w1);
        store(words[2] + l, random.w2);
        store(words[3] + l, random.w3);
    }
}

constexpr kernels vector_table(const char* name)
{
    kernels all{};
    all.name = name;
    all.split = split;
    all.affine = affine;
    all.narrow_pairs = narrow_kernels();
    all.outer = outer;
    all.row_sums = row_sums;
    all.softmax = softmax;
    all.argmax = argmax;
    all.cross_entropy = cross_entropy;
    all.posterior_change = posterior_change;
    all.differences = differences;
    all.rectify = rectify;
    all.set_length = set_length;
    all.logarithm = logarithm;
    all.add_noise = add_noise;
    all.slide = slide;
    all.dot = dot;
    all.covariance_rows = covariance_rows;
    all.add_compare_select = add_compare_select;
    all.integers = &vector_integers;
    return all;
}

} // namespace
} // namespace gr::adann::core::simd
