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

typedef std::uint8_t bytes __attribute__((vector_size(width), aligned(1), may_alias));

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

//! What a step's samples put into the branch metrics.
template <std::size_t A>
struct step_terms {
    step_terms(const trellis_tables& t, const float* x)
    {
        for (std::size_t axis = 0; axis < A; ++axis) {
            slope[axis] = 0;
            for (std::size_t c = 0; c < t.floats; ++c)
                slope[axis] -= t.last_tap[axis * t.floats + c] * x[c];
        }
        for (std::size_t c = 0; c < t.floats; ++c)
            twice[c] = -2 * x[c];
    }
    float slope[A];
    float twice[128]; // 64 complex samples
};

/*! New states s … s + width - 1.
 * \param now now(number<b>) tells the metrics of their predecessors over branch b */
template <std::size_t M, std::size_t A, typename Now>
inline vec new_states(const trellis_tables& t,
                      const step_terms<A>& terms,
                      std::size_t s,
                      const Now& now,
                      std::uint8_t* survivors)
{
    vec w[A];
    for (std::size_t axis = 0; axis < A; ++axis)
        w[axis] = load(t.slope + axis * t.states + s) + all(terms.slope[axis]);
    const survivor best = best_of<0, M>([&](auto b) {
        vec metric = now(b);
        for (std::size_t axis = 0; axis < A; ++axis)
            metric += all(t.points[axis * M + b.value]) * w[axis];
        return metric;
    });
    vec own = load(t.energy + s);
    for (std::size_t c = 0; c < t.floats; ++c)
        own += all(terms.twice[c]) * load(t.expected + c * t.states + s);
    *reinterpret_cast<bytes*>(survivors + s) =
        __builtin_convertvector(best.branch, bytes);
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
    for (; steps > 0; --steps, x += t.floats, survivors += t.states) {
        const step_terms<A> terms(t, x);
        const float* now = metrics[0];
        float* next = metrics[1];
        for (std::size_t s = 0; s < t.states; s += width) {
            const float* first = now + s / M;
            const auto before = [&](auto b) {
                return load_spread<M>(first + b.value * t.oldest_stride);
            };
            store(next + s, new_states<M, A>(t, terms, s, before, survivors));
        }
        metrics[0] = next;
        metrics[1] = const_cast<float*>(now);
    }
}

//! Exactly V vectors of states, V and M at most `width`: the metrics stay in registers,
//! as a step is too short for their way through memory.
template <std::size_t M, std::size_t A, std::size_t V>
void run_in_registers(const trellis_tables& t,
                      const float* x,
                      std::size_t steps,
                      float* metrics[2],
                      std::uint8_t* survivors)
{
    constexpr std::size_t group = width / M; // predecessors of a vector over one branch
    vec now[V];
    for (std::size_t v = 0; v < V; ++v)
        now[v] = load(metrics[0] + v * width);
    const bool odd = steps % 2;
    for (; steps > 0; --steps, x += t.floats, survivors += t.states) {
        const step_terms<A> terms(t, x);
        vec next[V];
        const auto fill = [&](auto v) {
            const auto before = [&](auto b) {
                constexpr std::size_t at = b.value * V + v.value; // in groups
                return spread<M, at % M * group>(now[at / M],
                                                 typename make_lanes<width>::list{});
            };
            next[v.value] =
                new_states<M, A>(t, terms, v.value * width, before, survivors);
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
    }
    if (odd) {
        float* const last = metrics[0];
        metrics[0] = metrics[1];
        metrics[1] = last;
    }
    for (std::size_t v = 0; v < V; ++v)
        store(metrics[0] + v * width, now[v]);
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
    // PAM has real points, QAM complex ones.
    if (t.axes == 1 && t.label_bits == 1)
        run(run_trellis<2, 1>);
    else if (t.axes == 1 && t.label_bits == 2)
        run(run_trellis<4, 1>);
    else if (t.axes == 1)
        run(run_trellis<8, 1>);
    else if (t.label_bits == 2)
        run(run_trellis<4, 2>);
    else if (t.label_bits == 4)
        run(run_trellis<16, 2>);
    else
        run(run_trellis<64, 2>);
}

} // namespace
} // namespace gr::adann::core::simd
