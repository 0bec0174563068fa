/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/residual_scatter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>

namespace gr::adann::core {

namespace {

constexpr int an_octave = 16;          // bins
constexpr int least = -40, most = 24;  // octaves: powers from 2^-40 on, up to 2^24
constexpr std::size_t bins = (most - least) * an_octave;
constexpr double deviations = 5;       // standard, of a normal quantile of 3e-7
constexpr double median_deviation = 0.6745; // of a normal variable, over its standard one

// A float's exponent and the first bits behind it are its logarithm, piecewise linear.
std::size_t bin_of(float power)
{
    constexpr int bits = 4, mantissa = 23, bias = 127;
    static_assert(1 << bits == an_octave);
    std::uint32_t word;
    std::memcpy(&word, &power, sizeof word);
    const int at = static_cast<int>(word >> (mantissa - bits)) - (bias + least) * an_octave;
    return static_cast<std::size_t>(std::clamp(at, 0, static_cast<int>(bins) - 1));
}

// At a position in bins.
double power_at(double position)
{
    const double octave = std::floor(position / an_octave);
    return std::ldexp(1 + position / an_octave - octave, static_cast<int>(octave) + least);
}

// The quantile of chi-square over its degrees of freedom.
double chi_square(double freedom, double normal)
{
    const double variance = 2 / (9 * freedom);
    const double root = std::max(0.0, 1 - variance + normal * std::sqrt(variance));
    return root * root * root;
}

// Where half of what a histogram counts lies below.
double position_of_median(const std::vector<float>& counts, double total)
{
    double sum = 0;
    for (std::size_t i = 0; i < bins; ++i) {
        if (sum + counts[i] >= total / 2)
            return static_cast<double>(i) + (counts[i] > 0 ? (total / 2 - sum) / counts[i] : 0);
        sum += counts[i];
    }
    return bins;
}

} // namespace

residual_scatter::residual_scatter(std::size_t values)
    : d_values(values), d_symbols(bins), d_stretches(bins)
{
}

void residual_scatter::reset()
{
    for (auto* counts : { &d_symbols, &d_stretches })
        std::fill(counts->begin(), counts->end(), 0.0f);
}

void residual_scatter::fade(double keep)
{
    for (auto* counts : { &d_symbols, &d_stretches })
        for (auto& count : *counts)
            count *= static_cast<float>(keep);
}

void residual_scatter::add(const float* residual, std::size_t n)
{
    for (std::size_t first = 0; first + stretch <= n; first += stretch) {
        float whole = 0;
        for (std::size_t i = 0; i < stretch; ++i) {
            float power = 0;
            for (std::size_t k = 0; k < d_values; ++k, ++residual)
                power += *residual * *residual;
            ++d_symbols[bin_of(power)];
            whole += power / stretch;
        }
        d_stretches[bin_of(whole)] += stretch;
    }
}

residual_scatter::noise residual_scatter::usual() const
{
    const double total = std::accumulate(d_stretches.begin(), d_stretches.end(), 0.0);
    const double median = position_of_median(d_stretches, total);
    // Half of the stretches are within the median deviation: bin by bin away from the median.
    double within = 0, distance = 0;
    for (double step = 0.25; distance < bins && within < total / 2; distance += step) {
        const auto part = [&](double at) {
            return at >= 0 && at < bins ? step * d_stretches[static_cast<std::size_t>(at)] : 0;
        };
        within += part(median + distance) + part(median - distance - step / 2);
    }
    const double deviation = std::max(distance, 0.5) * std::log(2.0) / an_octave;
    const double spread = deviation / median_deviation;
    const double freedom =
        std::clamp(2 / (spread * spread), 2.0, static_cast<double>(stretch * d_values));
    return { power_at(median) / chi_square(freedom, 0), freedom };
}

double residual_scatter::unexplained_errors(double rate, std::size_t classes) const
{
    const double total = std::accumulate(d_stretches.begin(), d_stretches.end(), 0.0);
    if (!(total > 0))
        return 0;
    const noise own = usual();
    const double by_chance = 1 - 1 / static_cast<double>(classes);
    const auto errors = [&](const std::vector<float>& counts, double freedom, double low) {
        const double high = chi_square(freedom, deviations);
        double sum = 0;
        for (std::size_t i = 0; i < bins; ++i) {
            const double ratio = power_at(static_cast<double>(i) + 0.5) / own.power;
            if (counts[i] > 0 && ratio > high)
                sum += counts[i] * std::min(by_chance, std::pow(rate, 1 / ratio));
            else if (counts[i] > 0 && ratio < low)
                sum += counts[i] * by_chance;
        }
        return sum / total;
    };
    return std::max(errors(d_symbols, own.freedom / stretch, 0),
                    errors(d_stretches, own.freedom, chi_square(own.freedom, -deviations)));
}

void residual_scatter::state(archive& members)
{
    members("symbols", d_symbols, 0.0f, 1e9f);
    members("stretches", d_stretches, 0.0f, 1e9f);
}

} // namespace gr::adann::core
