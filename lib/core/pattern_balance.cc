/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/pattern_balance.h"

#include "core/symbol_levels.h"

#include <algorithm>
#include <cstdlib>

namespace gr::adann::core {

using simd::tile;

namespace {

constexpr float symbols_per_context = 8;
constexpr float doubtful_divergence = 0.2f;
constexpr float telling_count = 32;
static const float raise = getenv("RAISE") ? atof(getenv("RAISE")) : 16;

// Contexts of a dimension: two tables of three neighbours and, if there is another
// dimension, two of one neighbour and the other's level.
std::size_t contexts_of(std::size_t levels, std::size_t dimensions)
{
    return 2 * levels * levels * (dimensions == 2 ? levels + 1 : levels);
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

pattern_balance::pattern_balance(std::size_t classes, const simd::kernels& kernels)
    : d_kernels(kernels),
      d_logits(classes * tile),
      d_levels(symbol_levels(classes).levels),
      d_dimensions(symbol_levels(classes).dimensions),
      d_sums(d_dimensions * contexts_of(d_levels, d_dimensions) * d_levels),
      d_means(d_sums.size()),
      d_slopes(d_sums.size()),
      d_divergence(d_sums.size() / d_levels),
      d_raised(classes),
      d_labelled(classes)
{
}

template <std::size_t K>
void pattern_balance::begin_step_of(std::size_t symbols)
{
    using numbers = typename vector_of<K>::type;
    auto* sums = reinterpret_cast<numbers*>(d_sums.data());
    auto* means = reinterpret_cast<numbers*>(d_means.data());
    const auto* slopes = reinterpret_cast<const numbers*>(d_slopes.data());
    const float window = symbols_per_context * K * K * K;
    const float memory = window / (window + static_cast<float>(symbols));
    for (std::size_t context = 0; context < d_divergence.size(); ++context) {
        // One symbol of each level more than was seen: an empty context pulls nowhere.
        const numbers seen = sums[context] + 1.0f;
        means[context] = seen * (K / total<K>(seen));
        sums[context] *= memory;
    }
    d_kernels.logarithm(d_means.data(), d_means.size(), d_slopes.data());
    for (std::size_t context = 0; context < d_divergence.size(); ++context)
        d_divergence[context] = total<K>(means[context] * slopes[context]) / K;
}

// One dimension of a tile: levels, and rows of K.
template <std::size_t K>
struct pattern_balance::tile_levels {
    std::uint16_t level[tile] = {};
    float posterior[K][tile] = {};
    float slope[K][tile] = {};
};

/* All contexts of the dimension whose tables start at `first`. A context's number is
 * written with its neighbours' levels as digits. \tparam tables 2, or 4 with those of the
 * other dimension \param other the levels there \param doubt the largest divergence
 * becomes at least that of these contexts */
template <std::size_t K, std::size_t tables>
void pattern_balance::judge(tile_levels<K>& s,
                            const std::uint16_t* other,
                            std::size_t n,
                            std::size_t first,
                            float* doubt)
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
    const float* divergence = d_divergence.data();
    float column[tile][K];
    for (std::size_t t = 0; t < tile; ++t)
        for (std::size_t k = 0; k < K; ++k)
            column[t][k] = s.posterior[k][t];
    for (std::size_t t = 2; t + 2 < n; ++t) {
        auto& symbol = reinterpret_cast<numbers&>(column[t]);
        const numbers posterior = symbol;
        numbers slope = {};
        float largest = doubt[t];
        for (std::size_t table = 0; table < tables; ++table) {
            const std::size_t c = context[table][t];
            sums[c] += posterior;
            slope += slopes[c];
            largest = std::max(largest, divergence[c]);
        }
        symbol = slope;
        doubt[t] = largest;
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
    float doubt[tile] = {}, mean[tile] = {}, trust[tile];
    std::copy_n(decided, n, s.level);
    std::copy_n(posteriors, K * tile, s.posterior[0]);
    judge<K, 2>(s, nullptr, n, 0, doubt);
    for (std::size_t k = 0; k < K; ++k)
        for (std::size_t t = 0; t < tile; ++t)
            mean[t] += s.posterior[k][t] * s.slope[k][t];
    for (std::size_t t = 0; t < tile; ++t)
        trust[t] = doubtful_divergence / (doubtful_divergence + doubt[t]);
    for (std::size_t k = 0; k < K; ++k) {
        float* e = error + k * tile;
        for (std::size_t t = 0; t < tile; ++t)
            e[t] =
                trust[t] * e[t] + weight * s.posterior[k][t] * (s.slope[k][t] - mean[t]);
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
    tile_levels<K> in_phase, quadrature;
    float doubt[tile] = {}, mean[tile] = {}, trust[tile];
    for (std::size_t t = 0; t < n; ++t) {
        in_phase.level[t] = decided[t] / K;
        quadrature.level[t] = decided[t] % K;
    }
    for (std::size_t i = 0; i < K; ++i)
        for (std::size_t q = 0; q < K; ++q) {
            const float* p = posteriors + (i * K + q) * tile;
            for (std::size_t t = 0; t < tile; ++t) {
                in_phase.posterior[i][t] += p[t];
                quadrature.posterior[q][t] += p[t];
            }
        }
    judge<K, 4>(in_phase, quadrature.level, n, 0, doubt);
    judge<K, 4>(quadrature, in_phase.level, n, d_divergence.size() / 2, doubt);

    for (const auto* s : { &in_phase, &quadrature })
        for (std::size_t k = 0; k < K; ++k)
            for (std::size_t t = 0; t < tile; ++t)
                mean[t] += s->posterior[k][t] * s->slope[k][t];
    for (std::size_t t = 0; t < tile; ++t)
        trust[t] = doubtful_divergence / (doubtful_divergence + doubt[t]);
    for (std::size_t i = 0; i < K; ++i)
        for (std::size_t q = 0; q < K; ++q) {
            const float* p = posteriors + (i * K + q) * tile;
            float* e = error + (i * K + q) * tile;
            for (std::size_t t = 0; t < tile; ++t)
                e[t] = trust[t] * e[t] +
                       weight * p[t] *
                           (in_phase.slope[i][t] + quadrature.slope[q][t] - mean[t]);
        }
}

void pattern_balance::label(const float* logits, std::size_t n, std::uint8_t* labels)
{
    const std::size_t classes = d_raised.size();
    if (d_raises) {
        for (std::size_t k = 0; k < classes; ++k)
            for (std::size_t t = 0; t < tile; ++t)
                d_logits[k * tile + t] = logits[k * tile + t] + d_raised[k];
        logits = d_logits.data();
    }
    d_kernels.argmax(logits, classes, labels);
    for (std::size_t t = 0; t < n; ++t)
        ++d_labelled[labels[t]];
    d_labels += n;
}

void pattern_balance::raise_missing()
{
    const float usual = static_cast<float>(d_labels) / d_raised.size();
    if (usual < telling_count)
        return;
    d_raises = false;
    for (std::size_t k = 0; k < d_raised.size(); ++k) {
        d_raised[k] += raise * (0.5f - d_labelled[k] / usual);
        d_raised[k] = std::max(d_raised[k], 0.0f);
        d_raises |= d_raised[k] > 0;
        d_labelled[k] = 0;
    }
    d_labels = 0;
}

void pattern_balance::begin_step(std::size_t symbols)
{
    raise_missing();
    switch (d_levels) {
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

void pattern_balance::reset()
{
    std::fill(d_sums.begin(), d_sums.end(), 0.0f);
    std::fill(d_raised.begin(), d_raised.end(), 0.0f);
    std::fill(d_labelled.begin(), d_labelled.end(), 0.0f);
    d_labels = 0;
    d_raises = false;
}

void pattern_balance::state(archive& members)
{
    members("sums", d_sums);
    members("raised", d_raised);
    members("labelled", d_labelled);
    members("labels", d_labels);
    d_raises = std::any_of(d_raised.begin(), d_raised.end(), [](float nats) { return nats > 0; });
}

} // namespace gr::adann::core
