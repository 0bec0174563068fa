/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/pattern_balance.h"

#include "core/simd/kernels.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

using simd::tile;

namespace {

constexpr float symbols_per_context = 8;
constexpr float doubtful_divergence = 0.2f;

// The levels of one dimension: all classes, or the root of a square QAM's.
std::size_t levels_of(std::size_t classes)
{
    return classes <= 8 ? classes
                        : static_cast<std::size_t>(std::lround(std::sqrt(classes)));
}

// Contexts of a dimension: two tables of three neighbours and, if there is another
// dimension, two of one neighbour and the other's level.
std::size_t contexts_of(std::size_t levels, std::size_t dimensions)
{
    return 2 * levels * levels * (dimensions == 2 ? levels + 1 : levels);
}

} // namespace

pattern_balance::pattern_balance(std::size_t classes)
    : d_levels(levels_of(classes)),
      d_dimensions(d_levels == classes ? 1 : 2),
      d_sums(d_dimensions * contexts_of(d_levels, d_dimensions) * d_levels),
      d_slopes(d_sums.size()),
      d_divergence(d_sums.size() / d_levels)
{
}

void pattern_balance::begin_step(std::size_t symbols)
{
    const std::size_t levels = d_levels;
    const float window = symbols_per_context * levels * levels * levels;
    const float memory = window / (window + static_cast<float>(symbols));
    for (std::size_t context = 0; context < d_divergence.size(); ++context) {
        float* sums = &d_sums[context * levels];
        float* slopes = &d_slopes[context * levels];
        // One symbol of each level more than was seen: an empty context pulls nowhere.
        float count = static_cast<float>(levels);
        for (std::size_t k = 0; k < levels; ++k)
            count += sums[k];
        float divergence = 0;
        for (std::size_t k = 0; k < levels; ++k) {
            const float mean = (sums[k] + 1) / count;
            slopes[k] = std::log(mean * levels);
            divergence += mean * slopes[k];
            sums[k] *= memory;
        }
        d_divergence[context] = divergence;
    }
}

/* One dimension of a tile, symbol by symbol: the K numbers of a symbol are a vector. */
template <std::size_t K>
struct pattern_balance::symbols {
    std::uint8_t level[tile];
    float posterior[tile][K] = {};
    float slope[tile][K] = {};
};

/* All contexts of the dimension whose tables start at `first`. A context's number is
 * written with its neighbours' levels as digits. \param other the levels in the other
 * dimension, or null \param doubt receives the largest divergence */
template <std::size_t K>
void pattern_balance::judge(symbols<K>& s,
                            const std::uint8_t* other,
                            std::size_t n,
                            std::size_t first,
                            float* doubt)
{
    constexpr std::size_t threes = K * K * K, twos = K * K;
    const std::uint8_t* own = s.level;
    for (std::size_t t = 2; t + 2 < n; ++t) {
        const auto use = [&](std::size_t context) {
            float* sums = &d_sums[context * K];
            const float* slopes = &d_slopes[context * K];
            for (std::size_t k = 0; k < K; ++k) {
                sums[k] += s.posterior[t][k];
                s.slope[t][k] += slopes[k];
            }
            doubt[t] = std::max(doubt[t], d_divergence[context]);
        };
        const std::size_t before = own[t - 1], after = own[t + 1];
        use(first + (own[t - 2] * K + before) * K + after);
        use(first + threes + (before * K + after) * K + own[t + 2]);
        if (other) {
            use(first + 2 * threes + before * K + other[t]);
            use(first + 2 * threes + twos + after * K + other[t]);
        }
    }
}

template <std::size_t K>
void pattern_balance::add_pam(const std::uint8_t* decided,
                              std::size_t n,
                              const float* posteriors,
                              float weight,
                              float* error)
{
    symbols<K> s;
    float doubt[tile] = {};
    std::copy_n(decided, n, s.level);
    for (std::size_t t = 0; t < n; ++t)
        for (std::size_t k = 0; k < K; ++k)
            s.posterior[t][k] = posteriors[k * tile + t];
    judge<K>(s, nullptr, n, 0, doubt);
    for (std::size_t t = 0; t < n; ++t) {
        float mean = 0;
        for (std::size_t k = 0; k < K; ++k)
            mean += s.posterior[t][k] * s.slope[t][k];
        const float trust = 1 / (1 + doubt[t] / doubtful_divergence);
        for (std::size_t k = 0; k < K; ++k) {
            float& e = error[k * tile + t];
            e = trust * e + weight * s.posterior[t][k] * (s.slope[t][k] - mean);
        }
    }
}

// A label is i·K + q: the level of I and that of Q.
template <std::size_t K>
void pattern_balance::add_qam(const std::uint8_t* decided,
                              std::size_t n,
                              const float* posteriors,
                              float weight,
                              float* error)
{
    symbols<K> in_phase, quadrature;
    float doubt[tile] = {};
    for (std::size_t t = 0; t < n; ++t) {
        in_phase.level[t] = decided[t] / K;
        quadrature.level[t] = decided[t] % K;
    }
    for (std::size_t i = 0; i < K; ++i) {
        float row[tile] = {}, column[tile] = {};
        for (std::size_t q = 0; q < K; ++q)
            for (std::size_t t = 0; t < n; ++t) {
                row[t] += posteriors[(i * K + q) * tile + t];
                column[t] += posteriors[(q * K + i) * tile + t];
            }
        for (std::size_t t = 0; t < n; ++t) {
            in_phase.posterior[t][i] = row[t];
            quadrature.posterior[t][i] = column[t];
        }
    }
    judge<K>(in_phase, quadrature.level, n, 0, doubt);
    judge<K>(quadrature, in_phase.level, n, d_divergence.size() / 2, doubt);

    float mean[tile] = {}, trust[tile] = {}, slope_i[K][tile], slope_q[K][tile];
    for (std::size_t t = 0; t < n; ++t) {
        float sum = 0;
        for (std::size_t k = 0; k < K; ++k) {
            sum += in_phase.posterior[t][k] * in_phase.slope[t][k] +
                   quadrature.posterior[t][k] * quadrature.slope[t][k];
            slope_i[k][t] = in_phase.slope[t][k];
            slope_q[k][t] = quadrature.slope[t][k];
        }
        mean[t] = sum;
        trust[t] = 1 / (1 + doubt[t] / doubtful_divergence);
    }
    for (std::size_t i = 0; i < K; ++i)
        for (std::size_t q = 0; q < K; ++q) {
            const float* p = posteriors + (i * K + q) * tile;
            float* e = error + (i * K + q) * tile;
            for (std::size_t t = 0; t < n; ++t)
                e[t] = trust[t] * e[t] +
                       weight * p[t] * (slope_i[i][t] + slope_q[q][t] - mean[t]);
        }
}

void pattern_balance::add(const std::uint8_t* decided,
                          std::size_t n,
                          const float* posteriors,
                          float weight,
                          float* error)
{
    const bool qam = d_dimensions == 2;
    switch (d_levels) {
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
