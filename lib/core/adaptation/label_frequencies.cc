/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_frequencies.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr std::size_t block = label_trellis::block, around = label_trellis::around;
constexpr std::size_t apart =
    8; // blocks, of those whose error probabilities are looked at
constexpr std::size_t blocks = label_frequencies::window / block;
static_assert(blocks % apart == 0);
} // namespace

label_frequencies::label_frequencies(const std::vector<float>& probabilities)
    : d_counts(probabilities)
{
}

void label_frequencies::reset()
{
    start_window();
    d_wrong_before = 0;
    d_more_noise = 1;
}

void label_frequencies::start_window()
{
    d_counts.reset();
    d_errors.fill(0);
    d_blocks = 0;
}

void label_frequencies::add(const label_trellis& decided,
                            const std::uint8_t* labels,
                            bool is_distorted)
{
    ++d_blocks;
    for (std::size_t at = around; at < around + block; ++at) {
        d_counts.add(labels[at]);
        if (d_blocks % apart == 0)
            add_errors(decided, at);
    }
    if (d_blocks < blocks)
        return;
    const float now = d_counts.least_wrong(), before = std::exchange(d_wrong_before, now);
    d_more_noise = is_distorted ? find(std::min(now, before)) : 1;
    start_window();
}

// A likelihood ratio with r times the noise is its r-th root, but for a part of unequal noise of labels.
void label_frequencies::add_errors(const label_trellis& decided, std::size_t at)
{
    std::array<float, factors.size()>
        others{}; // Σ likelihoods over that of the label decided
    for (std::size_t a = 0; a < decided.neighbours(at); ++a) {
        const float ratio = d_more_noise * decided.likelihood_ratio(at, a);
        for (std::size_t i = 0; i < factors.size(); ++i)
            others[i] += std::exp(ratio / factors[i] + decided.prior_ratio(at, a));
    }
    for (std::size_t i = 0; i < factors.size(); ++i)
        d_errors[i] += 1 - 1 / (1 + others[i]);
}

float label_frequencies::find(float wrong) const
{
    const float errors = d_errors[0] + wrong * static_cast<float>(window / apart);
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
