/* -*- c++ -*- */
/*
 * How often each label was decided.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace gr::adann::core {

/*! Counts labels, and compares their frequencies f(m) with the probabilities p(m) that they are sent with.
 *
 * At least ½ Σ |f(m) - p(m)| of the labels are wrong if the data is random (the total variation distance; Levin, Peres,
 * Wilmer, Markov Chains and Mixing Times, 2009, Proposition 4.7). */
class label_counts
{
public:
    //! \param probabilities p, (M)
    explicit label_counts(std::vector<float> probabilities)
        : d_probabilities(std::move(probabilities)), d_counts(d_probabilities.size())
    {
    }
    void add(std::uint8_t label) { ++d_counts[label]; }
    //! Labels counted.
    std::size_t all() const
    {
        return std::accumulate(d_counts.begin(), d_counts.end(), std::size_t{ 0 });
    }
    //! The total variation distance, 0 to 1; 0 of no labels.
    float distance() const { return distance(0); }
    //! The least part of the labels that is wrong: three standard deviations of each f(m) do not count. By chance one
    //! of 16 labels is further off in one of 23 counts.
    float least_wrong() const { return distance(3); }
    void reset() { std::fill(d_counts.begin(), d_counts.end(), 0); }
    void state(archive& members) { members("counts", d_counts); }

private:
    float distance(float deviations) const
    {
        const auto n = static_cast<float>(all());
        if (n == 0)
            return 0;
        float sum = 0;
        for (std::size_t label = 0; label < d_counts.size(); ++label) {
            const float p = d_probabilities[label];
            const float found = static_cast<float>(d_counts[label]) / n;
            const float chance = deviations * std::sqrt(p * (1 - p) / n);
            sum += std::max(std::abs(found - p) - chance, 0.0f);
        }
        return sum / 2;
    }

    std::vector<float> d_probabilities;
    std::vector<std::size_t> d_counts;
};

} // namespace gr::adann::core
