/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/pattern_balance.h"

#include <algorithm>

namespace gr::adann::core {

using simd::tile;

namespace {

constexpr float symbols_per_context = 8;

// Contexts of a part: two tables of three neighbours and, if there is another part, two of
// one neighbour and the other's value.
std::size_t contexts_of(const label_parts& parts)
{
    const std::size_t k = parts.values;
    return 2 * k * k * (parts.count == 2 ? k + 1 : k);
}

// A symbol's or a context's K numbers, in one vector.
template <std::size_t K>
struct vector_of {
    typedef float type __attribute__((vector_size(4 * K), aligned(4), may_alias));
};

template <std::size_t K>
float total(const typename vector_of<K>::type& v)
{
    float sum = 0;
    for (std::size_t k = 0; k < K; ++k)
        sum += v[k];
    return sum;
}

} // namespace

pattern_balance::pattern_balance(const label_parts& parts, const simd::kernels& kernels)
    : d_kernels(kernels),
      d_parts(parts),
      d_classes(parts.count == 2 ? parts.values * parts.values : parts.values),
      d_sums(parts.count * contexts_of(parts) * parts.values),
      d_means(d_sums.size()),
      d_slopes(d_sums.size())
{
}

template <std::size_t K>
void pattern_balance::begin_step_of(std::size_t symbols)
{
    using numbers = typename vector_of<K>::type;
    auto* sums = reinterpret_cast<numbers*>(d_sums.data());
    auto* means = reinterpret_cast<numbers*>(d_means.data());
    const float window = symbols_per_context * K * K * K;
    const float memory = window / (window + static_cast<float>(symbols));
    for (std::size_t context = 0; context < d_sums.size() / K; ++context) {
        // One additional symbol of each level, so that an empty context has no gradient.
        const numbers seen = sums[context] + 1.0f;
        means[context] = seen * (K / total<K>(seen));
        sums[context] *= memory;
    }
    d_kernels.logarithm(d_means.data(), d_means.size(), d_slopes.data());
}

// One part of a tile's labels: its values, and rows of K.
template <std::size_t K>
struct pattern_balance::tile_levels {
    std::uint16_t level[tile] = {};
    float posterior[K][tile] = {};
    float slope[K][tile] = {};
};

/* All contexts of the part whose tables start at `first`. A context's number is
 * written with its neighbours' values as digits. \tparam tables 2, or 4 with those of the
 * other part \param other its values */
template <std::size_t K, std::size_t tables>
void pattern_balance::judge(tile_levels<K>& s,
                            const std::uint16_t* other,
                            std::size_t n,
                            std::size_t first)
{
    using numbers = typename vector_of<K>::type;
    constexpr std::size_t threes = K * K * K, twos = K * K;
    std::uint16_t context[tables][tile];
    for (std::size_t t = 2; t + 2 < tile; ++t) {
        const std::uint16_t* own = s.level + t;
        const std::size_t before = own[-1], after = own[1];
        context[0][t] = first + (own[-2] * K + before) * K + after;
        context[1][t] = first + threes + (before * K + after) * K + own[2];
        if constexpr (tables == 4) {
            context[2][t] = first + 2 * threes + before * K + other[t];
            context[3][t] = first + 2 * threes + twos + after * K + other[t];
        }
    }

    // From here on symbol by symbol: the same context may come again at the next one.
    auto* sums = reinterpret_cast<numbers*>(d_sums.data());
    const auto* slopes = reinterpret_cast<const numbers*>(d_slopes.data());
    float column[tile][K];
    for (std::size_t t = 0; t < tile; ++t)
        for (std::size_t k = 0; k < K; ++k)
            column[t][k] = s.posterior[k][t];
    for (std::size_t t = 2; t + 2 < n; ++t) {
        auto& symbol = reinterpret_cast<numbers&>(column[t]);
        const numbers posterior = symbol;
        numbers slope = {};
        for (std::size_t table = 0; table < tables; ++table) {
            sums[context[table][t]] += posterior;
            slope += slopes[context[table][t]];
        }
        symbol = slope;
    }
    for (std::size_t k = 0; k < K; ++k)
        for (std::size_t t = 2; t + 2 < n; ++t)
            s.slope[k][t] = column[t][k];
}

template <std::size_t K>
void pattern_balance::add_pam(const std::uint8_t* decided,
                              std::size_t n,
                              const float* posteriors,
                              float weight,
                              float* error)
{
    tile_levels<K> s;
    float mean[tile] = {};
    std::copy_n(decided, n, s.level);
    std::copy_n(posteriors, K * tile, s.posterior[0]);
    judge<K, 2>(s, nullptr, n, 0);
    for (std::size_t k = 0; k < K; ++k)
        for (std::size_t t = 0; t < tile; ++t)
            mean[t] += s.posterior[k][t] * s.slope[k][t];
    for (std::size_t k = 0; k < K; ++k) {
        float* e = error + k * tile;
        for (std::size_t t = 0; t < tile; ++t)
            e[t] += weight * s.posterior[k][t] * (s.slope[k][t] - mean[t]);
    }
}

template <std::size_t K>
void pattern_balance::add_qam(const std::uint8_t* decided,
                              std::size_t n,
                              const float* posteriors,
                              float weight,
                              float* error)
{
    tile_levels<K> in_phase, quadrature;
    float mean[tile] = {};
    for (std::size_t t = 0; t < n; ++t) {
        in_phase.level[t] = d_parts.of[0][decided[t]];
        quadrature.level[t] = d_parts.of[1][decided[t]];
    }
    for (std::size_t label = 0; label < d_classes; ++label) {
        const float* p = posteriors + label * tile;
        float* i = in_phase.posterior[d_parts.of[0][label]];
        float* q = quadrature.posterior[d_parts.of[1][label]];
        for (std::size_t t = 0; t < tile; ++t) {
            i[t] += p[t];
            q[t] += p[t];
        }
    }
    judge<K, 4>(in_phase, quadrature.level, n, 0);
    judge<K, 4>(quadrature, in_phase.level, n, d_sums.size() / K / 2);

    for (const auto* s : { &in_phase, &quadrature })
        for (std::size_t k = 0; k < K; ++k)
            for (std::size_t t = 0; t < tile; ++t)
                mean[t] += s->posterior[k][t] * s->slope[k][t];
    for (std::size_t label = 0; label < d_classes; ++label) {
        const float* p = posteriors + label * tile;
        const float* i = in_phase.slope[d_parts.of[0][label]];
        const float* q = quadrature.slope[d_parts.of[1][label]];
        float* e = error + label * tile;
        for (std::size_t t = 0; t < tile; ++t)
            e[t] += weight * p[t] * (i[t] + q[t] - mean[t]);
    }
}

void pattern_balance::begin_step(std::size_t symbols)
{
    switch (d_parts.values) {
    case 2:
        return begin_step_of<2>(symbols);
    case 4:
        return begin_step_of<4>(symbols);
    case 8:
        return begin_step_of<8>(symbols);
    }
}

void pattern_balance::add(const std::uint8_t* decided,
                          std::size_t n,
                          const float* posteriors,
                          float weight,
                          float* error)
{
    const bool qam = d_parts.count == 2;
    switch (d_parts.values) {
    case 2:
        return add_pam<2>(decided, n, posteriors, weight, error);
    case 4:
        return qam ? add_qam<4>(decided, n, posteriors, weight, error)
                   : add_pam<4>(decided, n, posteriors, weight, error);
    case 8:
        return qam ? add_qam<8>(decided, n, posteriors, weight, error)
                   : add_pam<8>(decided, n, posteriors, weight, error);
    }
}

void pattern_balance::reset() { std::fill(d_sums.begin(), d_sums.end(), 0.0f); }

} // namespace gr::adann::core
