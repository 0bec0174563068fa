/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_frequencies.h"

#include "core/adaptation/time_constants.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gr::adann::core {

namespace {
constexpr std::size_t block = label_trellis::block, around = label_trellis::around;
// Blocks: from one whose error probabilities are looked at to the next one, and until the noise is found anew.
constexpr std::size_t apart = 8, found_every = 64;
constexpr double deviations = 3;
} // namespace

label_frequencies::label_frequencies(const std::vector<float>& probabilities)
    : d_probabilities(probabilities), d_counts(probabilities.size())
{
}

void label_frequencies::add(const label_trellis& decided,
                            const std::uint8_t* labels,
                            bool is_distorted)
{
    ++d_blocks;
    for (std::size_t at = around; at < around + block; ++at) {
        d_counts[labels[at]] += 1;
        if (d_blocks % apart == 0)
            add_errors(decided, at);
    }
    if (d_blocks % found_every)
        return;
    d_more_noise = is_distorted ? find() : 1;
    const auto keep =
        static_cast<float>(std::exp(-double{ found_every * block } / statistics_memory));
    for (float& count : d_counts)
        count *= keep;
    for (float& sum : d_errors)
        sum *= keep;
    d_symbols *= keep;
}

// A likelihood ratio with r times the noise is its r-th root.
void label_frequencies::add_errors(const label_trellis& decided, std::size_t at)
{
    std::array<float, factors.size()>
        others{}; // Σ likelihoods over that of the label decided
    for (std::size_t a = 0; a < decided.neighbours(at); ++a) {
        const float logarithm = d_more_noise * std::log(decided.likelihood(at, a));
        for (std::size_t i = 0; i < factors.size(); ++i)
            others[i] += std::exp(logarithm / factors[i]);
    }
    for (std::size_t i = 0; i < factors.size(); ++i)
        d_errors[i] += 1 - 1 / (1 + others[i]);
    ++d_symbols;
}

// The least part of the labels that is wrong.
double label_frequencies::wrong() const
{
    const double all = std::accumulate(d_counts.begin(), d_counts.end(), 0.0);
    double sum = 0;
    for (std::size_t label = 0; label < d_counts.size(); ++label) {
        const double p = d_probabilities[label];
        sum += std::max(std::abs(d_counts[label] / all - p) -
                            deviations * std::sqrt(p * (1 - p) / all),
                        0.0);
    }
    return sum / 2;
}

float label_frequencies::find() const
{
    const auto errors =
        static_cast<float>(d_errors[0] + wrong() * static_cast<double>(d_symbols));
    std::size_t i = 0;
    while (i < factors.size() && d_errors[i] < errors)
        ++i;
    if (i == 0 || i == factors.size())
        return 1;
    const float less = std::max(d_errors[i - 1], std::numeric_limits<float>::min());
    const float part = std::log(errors / less) / std::log(d_errors[i] / less);
    return factors[i - 1] * std::pow(factors[i] / factors[i - 1], part);
}

} // namespace gr::adann::core
