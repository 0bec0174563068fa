/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/residual_scatter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

namespace gr::adann::core {

namespace {

constexpr int an_octave = 16;         // bins
constexpr int least = -40, most = 24; // octaves: powers from 2^-40 on, up to 2^24
constexpr std::size_t bins = (most - least) * an_octave;
constexpr double quartile_normal = 0.6745; // standard deviations
constexpr double heavier =
    0.85;                  // deviations of a Gaussian variable, over those of real noise
constexpr double sure = 4; // standard deviations of a count
constexpr double overlap =
    2; // stretches that a symbol is in, but for those of one symbol
// Added to the limit of a count, for each stretch that a single peak is in: counts are whole, but fade.
constexpr double rounding = 0.25;
// Symbols at each edge of a disturbance that may be wrong without being detected.
constexpr double an_edge = 16;
constexpr double levels[] = { 3, 3.5, 4, 5, 6 }; // standard deviations of a power
constexpr std::size_t difference_length = 4;     // 2^4 symbols

// The exponent and the first mantissa bits of a float are its logarithm, piecewise linear.
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

// The power at a position in bins, not necessarily whole.
double power_at(double position)
{
    const double octave = std::floor(position / an_octave);
    return std::ldexp(1 + position / an_octave - octave,
                      static_cast<int>(octave) + least);
}

// The quantile of chi-squared over its degrees of freedom, by that of a Gaussian variable.
double chi_square(double freedom, double normal)
{
    const double variance = 2 / (9 * freedom);
    const double root = std::max(0.0, 1 - variance + normal * std::sqrt(variance));
    return root * root * root;
}

// Cumulative counts of a histogram.
struct cumulated {
    std::array<double, bins + 1> below;

    explicit cumulated(const std::vector<float>& counts)
    {
        below[0] = 0;
        constexpr std::size_t together = an_octave;
        for (std::size_t first = 0; first < bins; first += together) { // most are empty
            const float* const own = &counts[first];
            float any = 0;
            for (std::size_t i = 0; i < together; ++i)
                any += own[i];
            double* const sums = &below[first];
            if (any == 0)
                std::fill_n(sums + 1, together, sums[0]);
            else
                for (std::size_t i = 0; i < together; ++i)
                    sums[i + 1] = sums[i] + own[i];
        }
    }
    double all() const { return below[bins]; }
    // The position below which this part of the counts lies.
    double quantile(double part) const
    {
        const double wanted = part * all();
        const auto next = std::lower_bound(below.begin() + 1, below.end() - 1, wanted);
        const auto i = next - below.begin() - 1;
        const double own = *next - below[i];
        return power_at(static_cast<double>(i) +
                        (own > 0 ? (wanted - below[i]) / own : 0));
    }
};

// The noise with the lower quartile and the median of a histogram, which
// disturbances hardly change.
struct noise {
    double power, freedom;

    noise(const cumulated& counts, double most_freedom)
    {
        const double median = counts.quantile(0.5);
        // With a² = 2/(9 ν): ∛(quartile/median) = 1 - quartile_normal a / (1 - a²)
        const double below = 1 - std::cbrt(counts.quantile(0.25) / median);
        const double half = quartile_normal / 2;
        const double a =
            below > 0 ? (std::sqrt(half * half + below * below) - half) / below : 0;
        freedom = std::clamp(2 / (9 * a * a), 1.0, most_freedom);
        power = median / chi_square(freedom, 0);
    }
    std::size_t bin(double deviations) const
    {
        return bin_of(static_cast<float>(power * chi_square(freedom, deviations)));
    }
};

// By how much a count significantly exceeds the `part` of `total` that noise has. A single peak of noise is in
// `overlap` of them.
double surplus(double count, double total, double part, double overlap)
{
    const double usual = part * total;
    return count > usual + sure * std::sqrt(usual) + overlap * rounding ? count - usual
                                                                        : 0;
}

enum class side { both, low };

// Number of a histogram's stretches that noise does not explain.
double unexplained(const std::vector<float>& counts,
                   double most_freedom,
                   double overlap,
                   side which)
{
    const cumulated found(counts);
    const double total = found.all();
    if (!(total > 0))
        return 0;
    const noise usual(found, most_freedom);
    double above = 0, below = 0;
    for (const double level : levels) {
        const double part = std::erfc(heavier * level / std::sqrt(2)) / 2;
        const double higher = total - found.below[usual.bin(level) + 1];
        if (which == side::both)
            above = std::max(above, surplus(higher, total, part, overlap));
        below = std::max(below,
                         surplus(found.below[usual.bin(-level)], total, part, overlap));
    }
    return above + below;
}

// Symbols between the starts of stretches of 2^k symbols.
constexpr std::size_t half(std::size_t k) { return k ? std::size_t{ 1 } << (k - 1) : 1; }

} // namespace

residual_scatter::residual_scatter(std::size_t values)
    : d_values(values), d_differences(bins), d_last(values)
{
    for (auto& counts : d_stretches)
        counts.resize(bins);
}

void residual_scatter::reset()
{
    for (auto& counts : d_stretches)
        std::fill(counts.begin(), counts.end(), 0.0f);
    std::fill(d_differences.begin(), d_differences.end(), 0.0f);
    d_count = 0;
    interrupt();
}

void residual_scatter::interrupt()
{
    d_run = 0;
    d_halves = {};
    d_changes = {};
}

void residual_scatter::fade(double keep)
{
    const auto faded = static_cast<float>(keep);
    for (auto& counts : d_stretches)
        for (auto& count : counts)
            count *= faded;
    for (auto& count : d_differences)
        count *= faded;
    d_count *= keep;
}

void residual_scatter::add(const float* residual, std::size_t n)
{
    for (std::size_t i = 0; i < n; ++i, residual += d_values) {
        float power = 0, change = 0;
        for (std::size_t k = 0; k < d_values; ++k) {
            power += residual[k] * residual[k];
            change += (residual[k] - d_last[k]) * (residual[k] - d_last[k]);
        }
        std::copy_n(residual, d_values, d_last.begin());
        ++d_run;
        ++d_stretches[0][bin_of(power)];
        for (std::size_t k = 1; k < lengths; ++k) { // `power` is that of half(k) symbols
            const float before = std::exchange(d_halves[k], power);
            if (d_run > half(k))
                ++d_stretches[k][bin_of(before + power)];
            if (d_run % (2 * half(k)))
                break;
            power += before;
        }
        if (d_run > 1)
            add_change(change);
    }
    d_count += static_cast<double>(n);
}

void residual_scatter::add_change(float change)
{
    constexpr std::size_t length = half(difference_length);
    d_changes.now += change;
    if (d_run % length)
        return;
    if (d_run > length)
        ++d_differences[bin_of(d_changes.before + d_changes.now)];
    d_changes = { 0, d_changes.now };
}

double residual_scatter::unexplained_errors(std::size_t classes) const
{
    if (!(d_count > 0))
        return 0;
    const auto values = static_cast<double>(d_values);
    const auto symbols_of = [](double stretches, std::size_t k) {
        return stretches > 0 ? std::max(an_edge, stretches * static_cast<double>(half(k)))
                             : 0;
    };
    const double most_changes = 2 * static_cast<double>(half(difference_length)) * values;
    double symbols = symbols_of(
        unexplained(d_differences, most_changes, overlap, side::low), difference_length);
    for (std::size_t k = 0; k < lengths; ++k) {
        const double most_freedom = static_cast<double>(std::size_t{ 1 } << k) * values;
        symbols = std::max(
            symbols,
            symbols_of(
                unexplained(d_stretches[k], most_freedom, k ? overlap : 1, side::both),
                k));
    }
    return (1 - 1 / static_cast<double>(classes)) * symbols / d_count;
}

void residual_scatter::state(archive& members)
{
    members("count", d_count, 0.0, 1e9);
    for (std::size_t k = 0; k < lengths; ++k)
        members("stretches" + std::to_string(k), d_stretches[k], 0.0f, 1e9f);
    members("differences", d_differences, 0.0f, 1e9f);
}

} // namespace gr::adann::core
