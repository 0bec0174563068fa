/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/residual_scatter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>

namespace gr::adann::core {

namespace {

constexpr int an_octave = 16;         // bins
constexpr int least = -40, most = 24; // octaves: powers from 2^-40 on, up to 2^24
constexpr std::size_t bins = (most - least) * an_octave;
constexpr double deviations = 5;           // standard, of a normal quantile of 3e-7
constexpr double quartile_normal = 0.6745; // standard deviations

// A float's exponent and the first bits behind it are its logarithm, piecewise linear.
std::size_t bin_of(float power)
{
    constexpr int bits = 4, mantissa = 23, bias = 127;
    static_assert(1 << bits == an_octave);
    std::uint32_t word;
    std::memcpy(&word, &power, sizeof word);
    const int at =
        static_cast<int>(word >> (mantissa - bits)) - (bias + least) * an_octave;
    return static_cast<std::size_t>(std::clamp(at, 0, static_cast<int>(bins) - 1));
}

// At a position in bins.
double power_at(double position)
{
    const double octave = std::floor(position / an_octave);
    return std::ldexp(1 + position / an_octave - octave,
                      static_cast<int>(octave) + least);
}

// The quantile of chi-square over its degrees of freedom.
double chi_square(double freedom, double normal)
{
    const double variance = 2 / (9 * freedom);
    const double root = std::max(0.0, 1 - variance + normal * std::sqrt(variance));
    return root * root * root;
}

// Below it lies a part of what a histogram counts.
double quantile(const std::vector<float>& counts, double part)
{
    const double wanted = part * std::accumulate(counts.begin(), counts.end(), 0.0);
    double sum = 0;
    for (std::size_t i = 0; i < bins; ++i) {
        if (counts[i] > 0 && sum + counts[i] >= wanted)
            return power_at(static_cast<double>(i) + (wanted - sum) / counts[i]);
        sum += counts[i];
    }
    return power_at(bins);
}

// The noise whose lower quartile and median a histogram has; disturbances are above.
struct noise {
    double power, freedom;

    noise(const std::vector<float>& counts, double most_freedom)
    {
        const double median = quantile(counts, 0.5);
        // With a² = 2/(9 ν): ∛(quartile/median) = 1 - quartile_normal a / (1 - a²)
        const double below = 1 - std::cbrt(quantile(counts, 0.25) / median);
        const double half = quartile_normal / 2;
        const double a =
            below > 0 ? (std::sqrt(half * half + below * below) - half) / below : 0;
        freedom = std::clamp(2 / (9 * a * a), 1.0, most_freedom);
        power = median / chi_square(freedom, 0);
    }
};

} // namespace

residual_scatter::residual_scatter(std::size_t values)
    : d_values(values), d_symbols(bins), d_stretches(bins), d_differences(bins)
{
}

void residual_scatter::reset()
{
    for (auto* counts : { &d_symbols, &d_stretches, &d_differences })
        std::fill(counts->begin(), counts->end(), 0.0f);
}

void residual_scatter::fade(double keep)
{
    for (auto* counts : { &d_symbols, &d_stretches, &d_differences })
        for (auto& count : *counts)
            count *= static_cast<float>(keep);
}

void residual_scatter::add(const float* residual, std::size_t n)
{
    for (std::size_t first = 0; first + stretch <= n; first += stretch) {
        float whole = 0, changes = 0;
        for (std::size_t i = 0; i < stretch; ++i) {
            float power = 0;
            for (std::size_t k = 0; k < d_values; ++k, ++residual) {
                power += *residual * *residual;
                const float change = i ? *residual - *(residual - d_values) : 0;
                changes += change * change;
            }
            ++d_symbols[bin_of(power)];
            whole += power / stretch;
        }
        d_stretches[bin_of(whole)] += stretch;
        d_differences[bin_of(changes)] += stretch;
    }
}

double residual_scatter::symbols() const
{
    return std::accumulate(d_stretches.begin(), d_stretches.end(), 0.0);
}

double residual_scatter::unexplained_errors(double rate, std::size_t classes) const
{
    const double total = symbols();
    if (!(total > 0))
        return 0;
    const noise of_symbols(d_symbols, static_cast<double>(d_values));
    const auto most_freedom = static_cast<double>(stretch * d_values);
    const noise of_stretches(d_stretches, most_freedom);
    const noise of_differences(d_differences, most_freedom);
    const double by_chance = 1 - 1 / static_cast<double>(classes);
    const double beyond = std::numeric_limits<double>::infinity();
    const auto errors =
        [&](const std::vector<float>& counts, double power, double high, double low) {
            double sum = 0;
            for (std::size_t i = 0; i < bins; ++i) {
                const double ratio = power_at(static_cast<double>(i) + 0.5) / power;
                if (counts[i] > 0 && ratio > high)
                    sum += counts[i] * std::min(by_chance, std::pow(rate, 1 / ratio));
                else if (counts[i] > 0 && ratio < low)
                    sum += counts[i] * by_chance;
            }
            return sum / total;
        };
    // More symbols than stretches are undisturbed: theirs is the power.
    return std::max(
        { errors(
              d_symbols, of_symbols.power, chi_square(of_symbols.freedom, deviations), 0),
          errors(d_stretches,
                 of_symbols.power,
                 chi_square(of_stretches.freedom, deviations),
                 chi_square(of_stretches.freedom, -deviations)),
          errors(d_differences,
                 of_differences.power,
                 beyond,
                 chi_square(of_differences.freedom, -deviations)) });
}

void residual_scatter::state(archive& members)
{
    members("symbols", d_symbols, 0.0f, 1e9f);
    members("stretches", d_stretches, 0.0f, 1e9f);
    members("differences", d_differences, 0.0f, 1e9f);
}

} // namespace gr::adann::core
