/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/burst_fit.h"

#include "core/common/cholesky.h"

#include <algorithm>
#include <limits>

namespace gr::adann::core {

void burst_sums::clear()
{
    std::fill(matrix.begin(), matrix.end(), 0);
    std::fill(wanted.begin(), wanted.end(), 0);
    power = symbols = 0;
}

void burst_sums::add(const number* window, number target, double weight)
{
    const std::size_t unknowns = wanted.size();
    for (std::size_t j = 0; j < unknowns; ++j) {
        const number x = weight * std::conj(window[j]);
        for (std::size_t k = 0; k <= j; ++k)
            matrix[j * unknowns + k] += times(x, window[k]);
        wanted[j] += times(x, target);
    }
    power += weight * std::norm(target);
    symbols += weight;
}

void burst_sums::add(const burst_sums& other)
{
    for (std::size_t i = 0; i < matrix.size(); ++i)
        matrix[i] += other.matrix[i];
    for (std::size_t i = 0; i < wanted.size(); ++i)
        wanted[i] += other.wanted[i];
    power += other.power;
    symbols += other.symbols;
}

void burst_sums::fade(double by)
{
    for (auto& each : matrix)
        each *= by;
    for (auto& each : wanted)
        each *= by;
    power *= by;
    symbols *= by;
}

burst_fit::burst_fit(std::size_t unknowns, std::size_t middle)
    : d_unknowns(unknowns),
      d_middle(middle),
      d_factor(unknowns * unknowns),
      d_taps(unknowns),
      d_load(unknowns)
{
}

void burst_fit::reset()
{
    std::fill(d_taps.begin(), d_taps.end(), 0);
    d_hypothesis = d_ridge = 0;
}

// Sets the diagonal of λD.
void burst_fit::set_load(const burst_sums& sums, double ridge)
{
    double mean = 0;
    for (std::size_t k = 0; k < d_unknowns; ++k)
        mean += sums.matrix[k * d_unknowns + k].real() / static_cast<double>(d_unknowns);
    std::fill(d_load.begin(), d_load.end(), ridge * mean);
    d_load[d_middle] *= 0.01;
    d_factor = sums.matrix;
    for (std::size_t k = 0; k < d_unknowns; ++k)
        d_factor[k * d_unknowns + k] += d_load[k];
}

double burst_fit::best(const burst_sums& sums,
                       const std::vector<number>& wanted,
                       std::size_t count,
                       ridge_search search)
{
    const std::size_t neighbours = search == ridge_search::near;
    const bool all = search == ridge_search::all;
    const std::size_t first = all ? 0 : d_ridge - std::min(d_ridge, neighbours);
    const std::size_t last =
        all ? ridges.size() - 1 : std::min(d_ridge + neighbours, ridges.size() - 1);

    double least = std::numeric_limits<double>::infinity();
    for (std::size_t r = first; r <= last; ++r) {
        set_load(sums, ridges[r]);
        if (!factorize(d_factor, d_unknowns))
            continue;
        d_columns = wanted;
        substitute(d_factor, d_unknowns, d_columns, count, false);
        substitute(d_factor, d_unknowns, d_columns, count, true);
        const double free = std::max(sums.symbols - freedom(), 1e-3);
        for (std::size_t c = 0; c < count; ++c) {
            double rest = sums.power;
            for (std::size_t k = 0; k < d_unknowns; ++k) {
                const number tap = d_columns[k * count + c];
                rest -= std::real(times(std::conj(tap), wanted[k * count + c])) +
                        d_load[k] * std::norm(tap);
            }
            const double error = sums.symbols * std::max(rest, 0.0) / (free * free);
            if (error < least) {
                least = error;
                d_hypothesis = c;
                d_ridge = r;
                for (std::size_t k = 0; k < d_unknowns; ++k)
                    d_taps[k] = d_columns[k * count + c];
            }
        }
    }
    return least;
}

// tr R(R + λD)⁻¹, from L of R + λD: the inverse's diagonal is the squared norms of L⁻¹'s columns.
double burst_fit::freedom()
{
    d_inverse.assign(d_unknowns * d_unknowns, 0);
    double sum = static_cast<double>(d_unknowns);
    for (std::size_t i = 0; i < d_unknowns; ++i) {
        const number* const factor = &d_factor[i * d_unknowns];
        number* const row = &d_inverse[i * d_unknowns];
        row[i] = 1;
        for (std::size_t k = 0; k < i; ++k)
            for (std::size_t c = 0; c <= k; ++c)
                row[c] -= times(factor[k], d_inverse[k * d_unknowns + c]);
        for (std::size_t c = 0; c <= i; ++c) {
            row[c] /= factor[i].real();
            sum -= d_load[c] * std::norm(row[c]);
        }
    }
    return sum;
}

bool burst_fit::solve(const burst_sums& sums, double ridge, std::vector<number>& taps)
{
    set_load(sums, ridge);
    taps = sums.wanted;
    return core::solve(d_factor, d_unknowns, taps, 1);
}

} // namespace gr::adann::core
