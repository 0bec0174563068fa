/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/carrier_line.h"

#include "core/common/split_mix.h"
#include "core/signal/peak.h"
#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gr::adann::core {

namespace {

constexpr double most_turned = 0.4; // cycles of the power's line in a group
constexpr double chance = 1e-6;     // of a line in noise
// Cycles of the power per symbol: half of the resolution; the distance of another line, beyond one's own slopes.
constexpr double step = 0.5 / carrier_line::symbols;
constexpr double nearest_sideband = 8 * step;
constexpr double steady =
    0.7; // coherence: under phase noise a line has others next to it by chance

// Samples in the middles of symbols as they are expected, each several times in Gaussian noise (Box and Muller).
std::vector<std::complex<double>> noisy_middles(const expected_waveform& waveform)
{
    constexpr int times = 8;
    std::uint64_t random = 1;
    const auto uniform = [&] {
        return static_cast<double>(split_mix(random) >> 11) * 0x1p-53;
    };
    const std::vector<float> expected = waveform.drawn();
    std::vector<std::complex<double>> middles;
    for (std::size_t i = waveform.sps() / 2 * 2; i < expected.size();
         i += waveform.stride())
        for (int k = 0; k < times; ++k) {
            const double radius =
                waveform.noise() * std::sqrt(-2 * std::log1p(-uniform()));
            middles.push_back(std::complex<double>(expected[i], expected[i + 1]) +
                              std::polar(radius, whole_turn * uniform()));
        }
    return middles;
}

} // namespace

carrier_line::carrier_line(const expected_waveform& waveform,
                           const constellation& alphabet)
    : d_order(alphabet.symmetries().size()),
      d_group(std::max<std::size_t>(
          1, static_cast<std::size_t>(most_turned / fastest) / d_order)),
      d_power(d_order, noisy_middles(waveform)),
      d_sums(symbols / d_group),
      d_middles((d_sums.size() + 1) * d_group)
{
}

bool carrier_line::is_usable() const { return d_order > 1 && d_order <= highest; }

// Of the powers in each of the latest whole groups, the earliest first.
void carrier_line::sum_groups()
{
    std::size_t k = (d_taken / d_group - d_sums.size()) * d_group;
    for (auto& each : d_sums) {
        each = 0;
        for (std::size_t i = 0; i < d_group; ++i, ++k)
            each += std::complex<float>(
                d_power(std::complex<double>(d_middles[k % d_middles.size()])));
    }
}

// Groups `first` up to `end` of the latest ones, the earliest first, each turned on by a line of
// this frequency to the middle of the last.
std::complex<double>
carrier_line::sum(double frequency, std::size_t first, std::size_t end) const
{
    const std::complex<double> turn =
        std::polar(1.0, whole_turn * frequency * static_cast<double>(d_group));
    std::complex<double> total = 0;
    for (std::size_t i = first; i < end; ++i)
        total = total * turn + std::complex<double>(d_sums[i]);
    return total;
}

std::complex<double> carrier_line::sum(double frequency) const
{
    return sum(frequency, 0, d_sums.size());
}

// energy: of all groups. What of it is not the line's is noise, as much of it in the sum of all as in the sum of the
// parts' squares.
double carrier_line::coherence(double frequency, double energy) const
{
    constexpr std::size_t parts = 8;
    double apart = 0;
    for (std::size_t i = 0; i < parts; ++i)
        apart += std::norm(
            sum(frequency, i * d_sums.size() / parts, (i + 1) * d_sums.size() / parts));
    const double whole = std::norm(sum(frequency));
    const double noise = energy - apart * parts / static_cast<double>(d_sums.size());
    return std::sqrt(std::max(0.0, whole - noise) /
                     (parts * std::max(apart - noise, 1e-3 * apart)));
}

/* Whether a line is a sideband. An oscillator whose phase is modulated has pairs of them, as strong on both sides of the
 * carrier, which itself has no line where the power is modulated by 2.4 radians. So another line half as strong or more
 * is on one side of a sideband, and none on the other. */
bool carrier_line::is_sideband(double at, double first, double last) const
{
    const auto group = static_cast<double>(d_group);
    const auto power = [&](double frequency) { // before groups are summed
        const double half = M_PI * frequency;
        const double kept =
            half == 0 ? 1 : std::sin(half * group) / (group * std::sin(half));
        return std::norm(sum(frequency)) / (kept * kept);
    };
    double strongest = 0, other = at;
    for (double frequency = first; frequency <= last; frequency += step)
        if (std::abs(frequency - at) > nearest_sideband)
            if (const double found = power(frequency); found > strongest) {
                strongest = found;
                other = frequency;
            }
    const double mirrored = 2 * at - other;
    const bool is_seen = std::abs(mirrored) < 0.5 / group; // beyond that it is an alias
    return is_seen && strongest > power(at) / 2 && power(mirrored) < strongest / 2;
}

std::optional<carrier_line::line> carrier_line::find(double around, double width)
{
    if (!is_ready())
        return {};
    sum_groups();
    double energy = 0;
    for (const auto& each : d_sums)
        energy += std::norm(each);
    const auto order = static_cast<double>(d_order);
    const auto steps = static_cast<int>(std::ceil(width * order / step));
    double at = 0, most = 0;
    for (int i = -steps; i <= steps; ++i) {
        const double frequency = around * order + i * step;
        if (const double found = std::norm(sum(frequency)); found > most) {
            most = found;
            at = frequency;
        }
    }
    if (!(most > energy * std::log((2 * steps + 1) / chance)))
        return {};
    // The top of the parabola through it and its neighbours.
    const double before = std::norm(sum(at - step)), behind = std::norm(sum(at + step));
    if (std::max(before, behind) > most) // at an edge, of a line beyond it
        return {};
    at += offset_of_peak(before, most, behind) * step;
    const double first = around * order - steps * step;
    const double coherent = coherence(at, energy);
    if (coherent > steady && is_sideband(at, first, first + 2 * steps * step))
        return {};
    const double since =
        static_cast<double>(d_group - 1) / 2 + static_cast<double>(d_taken % d_group);
    const double phase =
        std::arg(sum(at) * std::conj(d_power.mean())) + whole_turn * at * since;
    return line{ at / order, std::remainder(phase, whole_turn) / order, coherent };
}

void carrier_line::state(archive& members)
{
    members.numbers(
        "middles", reinterpret_cast<float*>(d_middles.data()), { d_middles.size(), 2 });
    members("taken", d_taken);
}

} // namespace gr::adann::core
