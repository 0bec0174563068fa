/* -*- c++ -*- */
/*
 * The Viterbi algorithm's inner loop on vectors: lanes are new states.
 *
 * Included by the kernels' translation units only, as vector_kernels.h is.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/simd/trellis_kernels.h"
#include "core/simd/vector.h"

namespace gr::adann::core::simd {
namespace {

static_assert(trellis_lanes % width == 0);

template <std::size_t n>
struct number {
    static constexpr std::size_t value = n;
};

template <std::size_t... lane>
struct lane_list {
};
template <std::size_t n, std::size_t... lane>
struct make_lanes : make_lanes<n - 1, n - 1, lane...> {
};
template <std::size_t... lane>
struct make_lanes<0, lane...> {
    using list = lane_list<lane...>;
};

//! Lane l of the result is lane first + ⌊l / M⌋ of v.
template <std::size_t M, std::size_t first, std::size_t... lane>
inline vec spread(vec v, lane_list<lane...>)
{
    return __builtin_shufflevector(v, v, (first + lane / M)...);
}

//! Lane l is p[⌊l / M⌋].
template <std::size_t M>
inline vec load_spread(const float* p)
{
    if constexpr (M >= width)
        return all(*p);
    else
        return spread<M, 0>(load(p), typename make_lanes<width>::list{});
}

#if defined(__AVX2__) && !defined(__AVX512F__)
template <std::size_t... byte>
inline ivec gather_bytes(ivec v, lane_list<byte...>)
{
    // Within each 16 bytes, which is as far as one instruction reaches.
    typedef std::uint8_t bytes __attribute__((vector_size(4 * width)));
    const bytes b = reinterpret_cast<bytes>(v);
    return reinterpret_cast<ivec>(
        __builtin_shufflevector(b, b, (byte / 16 * 16 + 4 * (byte % 4))...));
}
#endif

//! Writes the lanes' low bytes, one after the other.
inline void store_bytes(std::uint8_t* p, ivec v)
{
#if defined(__AVX2__) && !defined(__AVX512F__)
    // GCC 12 does the general case element by element here.
    typedef std::int32_t loose __attribute__((aligned(1), may_alias));
    const ivec fours = gather_bytes(v, make_lanes<4 * width>::list{});
    for (std::size_t l = 0; l < width; l += 4)
        *reinterpret_cast<loose*>(p + l) = fours[l];
#else
    typedef std::uint8_t bytes __attribute__((vector_size(width), aligned(1), may_alias));
    *reinterpret_cast<bytes*>(p) = __builtin_convertvector(v, bytes);
#endif
}

struct survivor {
    vec metric;
    ivec branch;
};

//! The best of the branches B … B + count - 1; the lowest of equals.
template <std::size_t B, std::size_t count, typename Candidate>
inline survivor best_of(const Candidate& candidate)
{
    if constexpr (count == 1) {
        return { candidate(number<B>{}), all(static_cast<std::int32_t>(B)) };
    } else {
        const survivor low = best_of<B, count / 2>(candidate);
        const survivor high = best_of<B + count / 2, count / 2>(candidate);
        const ivec better = high.metric < low.metric;
        return { better ? high.metric : low.metric, better ? high.branch : low.branch };
    }
}

//! What all states share, in registers where they suffice: the stores cannot change it.
template <std::size_t M, std::size_t A>
struct shared_terms {
    explicit shared_terms(const trellis_tables& tables) : t(tables)
    {
        for (std::size_t axis = 0; axis < A; ++axis)
            for (std::size_t b = 0; b < M; ++b)
                point[axis][b] = all(t.points[axis * M + b]);
    }
    void begin_step(const float* samples)
    {
        x = samples;
        first = all(x[0]);
        for (std::size_t axis = 0; axis < A; ++axis) {
            slope[axis] = vec{};
            for (std::size_t c = 0; c < t.floats; ++c)
                slope[axis] -= all(t.last_tap[axis * t.floats + c]) * all(x[c]);
        }
    }
    const trellis_tables t;
    vec point[A][M];
    const float* x;
    vec first;    // sample
    vec slope[A]; // the samples' part of w
};

/*! New states s … s + width - 1.
 * \param now now(number<b>) gives the metrics of their predecessors over branch b */
template <std::size_t M, std::size_t A, typename Now>
inline vec new_states(const shared_terms<M, A>& shared,
                      std::size_t s,
                      const Now& now,
                      std::uint8_t* survivors)
{
    const trellis_tables& t = shared.t;
    vec w[A];
    for (std::size_t axis = 0; axis < A; ++axis)
        w[axis] = load(t.slope + axis * t.states + s) + shared.slope[axis];
    const survivor best = best_of<0, M>([&](auto b) {
        vec metric = now(b);
        for (std::size_t axis = 0; axis < A; ++axis)
            metric += shared.point[axis][b.value] * w[axis];
        return metric;
    });
    vec own = load(t.energy + s) + shared.first * load(t.correlator + s);
    for (std::size_t c = 1; c < t.floats; ++c)
        own += all(shared.x[c]) * load(t.correlator + c * t.states + s);
    store_bytes(survivors + s, best.branch);
    return best.metric + own;
}

//! Any number of states; their metrics are in memory.
template <std::size_t M, std::size_t A>
void run_in_memory(const trellis_tables& t,
                   const float* x,
                   std::size_t steps,
                   float* metrics[2],
                   std::uint8_t* survivors)
{
    shared_terms<M, A> shared(t);
    float* now = metrics[0];
    float* next = metrics[1];
    for (std::size_t i = 0; i < steps; ++i) {
        shared.begin_step(x + i * shared.t.floats);
        for (std::size_t s = 0; s < shared.t.states; s += width) {
            const auto before = [&](auto b) {
                return load_spread<M>(now + b.value * shared.t.oldest_stride + s / M);
            };
            store(next + s, new_states(shared, s, before, survivors));
        }
        survivors += shared.t.states;
        float* const last = now;
        now = next;
        next = last;
    }
    metrics[0] = now;
    metrics[1] = next;
}

//! Exactly V vectors of states, M at most `width`: the metrics stay in registers, as a
//! step is too short for their way through memory.
template <std::size_t M, std::size_t A, std::size_t V>
void run_in_registers(const trellis_tables& t,
                      const float* x,
                      std::size_t steps,
                      float* metrics[2],
                      std::uint8_t* survivors)
{
    constexpr std::size_t group = width / M; // predecessors of a vector over one branch
    shared_terms<M, A> shared(t);
    vec now[V];
    for (std::size_t v = 0; v < V; ++v)
        now[v] = load(metrics[0] + v * width);
    for (std::size_t i = 0; i < steps; ++i) {
        shared.begin_step(x + i * shared.t.floats);
        vec next[V];
        const auto fill = [&](auto v) {
            const auto before = [&](auto b) {
                constexpr std::size_t at = b.value * V + v.value; // in groups
                return spread<M, at % M * group>(now[at / M],
                                                 typename make_lanes<width>::list{});
            };
            next[v.value] = new_states(shared, v.value * width, before, survivors);
        };
        fill(number<0>{});
        if constexpr (V > 1)
            fill(number<1>{});
        if constexpr (V > 2) {
            fill(number<2>{});
            fill(number<3>{});
        }
        for (std::size_t v = 0; v < V; ++v)
            now[v] = next[v];
        survivors += shared.t.states;
    }
    for (std::size_t v = 0; v < V; ++v)
        store(metrics[steps % 2] + v * width, now[v]);
    if (steps % 2) {
        float* const last = metrics[0];
        metrics[0] = metrics[1];
        metrics[1] = last;
    }
}

template <std::size_t M, std::size_t A>
void run_trellis(const trellis_tables& t,
                 const float* x,
                 std::size_t steps,
                 float* metrics[2],
                 std::uint8_t* survivors)
{
    if constexpr (M <= width) {
        // Unpadded: the states that differ in their oldest symbol fill the vectors.
        const std::size_t vectors =
            t.oldest_stride * M == t.states ? t.states / width : 0;
        if (vectors == 1)
            return run_in_registers<M, A, 1>(t, x, steps, metrics, survivors);
        if (vectors == 2)
            return run_in_registers<M, A, 2>(t, x, steps, metrics, survivors);
        if (vectors == 4)
            return run_in_registers<M, A, 4>(t, x, steps, metrics, survivors);
    }
    run_in_memory<M, A>(t, x, steps, metrics, survivors);
}

void add_compare_select(const trellis_tables& t,
                        const float* samples,
                        std::size_t steps,
                        float* metrics[2],
                        std::uint8_t* survivors)
{
    const auto run = [&](auto function) {
        function(t, samples, steps, metrics, survivors);
    };
    switch (10 * t.axes + t.label_bits) {
    case 11:
        return run(run_trellis<2, 1>);
    case 12:
        return run(run_trellis<4, 1>);
    case 13:
        return run(run_trellis<8, 1>);
    case 21:
        return run(run_trellis<2, 2>);
    case 22:
        return run(run_trellis<4, 2>);
    case 23:
        return run(run_trellis<8, 2>);
    case 24:
        return run(run_trellis<16, 2>);
    case 25:
        return run(run_trellis<32, 2>);
    case 26:
        return run(run_trellis<64, 2>);
    }
}

} // namespace
} // namespace gr::adann::core::simd
