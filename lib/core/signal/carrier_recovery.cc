/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/carrier_recovery.h"

#include "core/common/checks.h"
#include "core/common/complex.h"
#include "core/signal/median.h"
#include "core/signal/peak.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::adann::core {

namespace {

constexpr float clear = 40;      // a line's power over the median's
constexpr float both_clear = 50; // the sum of two lines' powers, likewise
constexpr double jump = 0.1; // of a line, cycles per symbol: no drift within 1024 symbols
constexpr double off = 3e-3; // largest relative error of the symbol clock
constexpr double of_lines = 16; // scatter of the lines of a raised cosine's band edges
constexpr double memory = 512;  // averaging time of the symbols' level, symbols
constexpr double compared =
    4096;                     // time over which the two averages are compared, symbols
constexpr float largest = 10; // largest sample, of unit power, that is no impulse

std::complex<double> turned(double turns) { return std::polar(1.0, 2 * M_PI * turns); }

} // namespace

carrier_recovery::carrier_recovery(const constellation& alphabet,
                                   std::size_t sps,
                                   float bandwidth,
                                   transform periodogram)
    : d_is_offset(alphabet.is_offset()),
      d_order(alphabet.symmetries().size()),
      d_sps(sps),
      d_line_order(d_is_offset ? 2 : d_order),
      d_transform(std::move(periodogram)),
      d_power(alphabet),
      d_scatter(d_is_offset
                    ? of_lines
                    : d_power.scatter() / (std::sqrt(2) * alphabet.half_distance())),
      d_powers(symbols),
      d_ordered(bins),
      d_spectrum(bins),
      d_periodogram(bins),
      d_sorted(bins)
{
    if (d_order != 2 && d_order != 4 && d_order != 8)
        refuse("constellation", alphabet.name(), "one of 2, 4 or 8 rotations");
    check_range<std::size_t>("sps", sps, d_is_offset ? 4 : 1, 64);
    if (d_is_offset) {
        for (std::size_t k = 0; k < sps; ++k)
            d_clock.emplace_back(
                turned(-static_cast<double>(k) / static_cast<double>(sps)));
        d_powers_below.resize(symbols);
        d_periodogram_below.resize(bins);
    }
    set_bandwidth(bandwidth);
}

void carrier_recovery::set_bandwidth(float bandwidth)
{
    if (!(bandwidth > 0 && bandwidth < 0.5f))
        refuse("bandwidth", bandwidth, "above 0, below 0.5");
    d_fading = 2 * bandwidth / static_cast<float>(d_scatter);
}

void carrier_recovery::process(const std::complex<float>* in,
                               std::complex<float>* out,
                               std::size_t samples)
{
    for (std::size_t i = 0; i < samples; ++i) {
        if (d_sample == 0)
            d_is_offset ? take_lines() : take(in[i]);
        if (d_is_offset && std::norm(in[i]) < largest * largest) {
            const std::complex<float> square = power(in[i], 2);
            d_above += square * d_clock[d_sample];
            d_below += square * std::conj(d_clock[d_sample]);
        }
        out[i] = in[i] * d_turn;
        d_turn *= d_step;
        d_sample = d_sample + 1 == d_sps ? 0 : d_sample + 1;
    }
}

// Takes the middle sample of the next symbol, as received.
void carrier_recovery::take(std::complex<float> middle)
{
    const bool counts = std::norm(middle) < largest * largest; // false for NaN
    if (counts)
        d_level += (std::norm(std::complex<double>(middle)) - d_level) /
                   std::min(static_cast<double>(d_taken + 1), memory);
    const std::complex<double> own =
        counts && d_level > 0 ? d_power(std::complex<double>(middle) / std::sqrt(d_level))
                              : 0;
    d_powers[d_taken++ % symbols] = std::complex<float>(own);
    d_turned += d_offset;
    const auto order = static_cast<double>(d_order);
    const std::complex<double> back = own * turned(-order * d_turned);
    for (auto& each : d_averages) {
        if (const double length = std::abs(each.value); length > 0)
            each.predicted +=
                ((back * std::conj(each.value)).real() / length - each.predicted) /
                compared;
        each.value += static_cast<double>(d_fading) / each.length * (back - each.value);
    }
    turn_to(d_averages[d_averages[1].predicted > d_averages[0].predicted].value);
}

/* The lines of an offset constellation's square: at twice the offset, and the symbol rate above
 * and below. Their phases have the clock's with both signs, so that their product has the
 * carrier's alone, four times. */
void carrier_recovery::take_lines()
{
    const std::complex<double> above = std::exchange(d_above, 0),
                               below = std::exchange(d_below, 0);
    d_powers_below[d_taken % symbols] = std::complex<float>(below);
    d_powers[d_taken++ % symbols] = std::complex<float>(above);
    const std::complex<double> back = turned(-2 * d_turned), ahead = turned(-d_late);
    d_turned += d_offset;
    d_late = std::remainder(d_late + d_clock_off, 1.0);
    const double fading = d_fading;
    d_average += fading * (above * back * ahead - d_average);
    d_average_below += fading * (below * back * std::conj(ahead) - d_average_below);
    turn_to(d_average * d_average_below);
}

void carrier_recovery::turn_to(std::complex<double> power)
{
    const auto order = static_cast<double>(d_order);
    // The nearest of all phases with this power; without a line it is that of noise.
    const double now = std::arg(power) / (2 * M_PI);
    if (d_has_line)
        d_phase += std::remainder(now - order * d_phase, 1.0) / order;
    d_turn = std::complex<float>(turned(-d_turned - d_phase));
    if (d_taken % apart == 0)
        look();
}

void carrier_recovery::look()
{
    d_turned = std::remainder(d_turned, 1.0);
    d_phase = std::remainder(d_phase, 1.0);
    const std::optional<double> line = d_is_offset ? find_lines() : find_line();
    d_has_line = line.has_value();
    if (!line)
        return;
    // Of all offsets with this line the nearest one to the last; after a jump, as when a coarse recovery
    // before this one has moved, the one nearest to zero.
    const auto order = static_cast<double>(d_line_order);
    const double moved = std::remainder(*line - order * d_offset, 1.0);
    d_offset = std::abs(moved) > jump ? std::remainder(*line, 1.0) / order
                                      : d_offset + moved / order;
    d_frequency = static_cast<float>(d_offset);
    d_step = std::complex<float>(turned(-d_offset / static_cast<double>(d_sps)));
}

// Finds the periodogram of powers, relative to its median.
void carrier_recovery::find_spectrum(const std::vector<std::complex<float>>& powers,
                                     std::vector<float>& periodogram)
{
    const std::size_t there = std::min(d_taken, symbols);
    std::fill(d_ordered.begin(), d_ordered.end(), std::complex<float>());
    for (std::size_t i = 0; i < there; ++i)
        d_ordered[i] = powers[(d_taken - there + i) % symbols];
    d_transform(d_ordered.data(), d_spectrum.data());
    std::transform(d_spectrum.begin(),
                   d_spectrum.end(),
                   periodogram.begin(),
                   [](std::complex<float> value) { return std::norm(value); });
    std::copy(periodogram.begin(), periodogram.end(), d_sorted.begin());
    const float usual = median(d_sorted.begin(), d_sorted.end());
    for (auto& each : periodogram)
        each = usual > 0 ? each / usual : 0;
}

// Distance, in bins, from a peak to the top of the parabola through it and its neighbours.
double carrier_recovery::offset_of_peak(const std::vector<float>& periodogram,
                                        std::size_t peak)
{
    return core::offset_of_peak(periodogram[(peak + bins - 1) % bins],
                                periodogram[peak],
                                periodogram[(peak + 1) % bins]);
}

// Frequency of the power's line, cycles per symbol.
std::optional<double> carrier_recovery::find_line()
{
    find_spectrum(d_powers, d_periodogram);
    const auto peak = static_cast<std::size_t>(
        std::max_element(d_periodogram.begin(), d_periodogram.end()) -
        d_periodogram.begin());
    if (!(d_periodogram[peak] > clear))
        return {};
    return (static_cast<double>(peak) + offset_of_peak(d_periodogram, peak)) / bins;
}

// The middle between the two lines. Their distance from the expected one is the error of the clock.
std::optional<double> carrier_recovery::find_lines()
{
    find_spectrum(d_powers, d_periodogram);
    find_spectrum(d_powers_below, d_periodogram_below);
    constexpr auto most_off = static_cast<std::size_t>(off * bins);
    float most = 0;
    std::size_t above = 0, below = 0;
    for (std::size_t middle = bins; middle < 2 * bins; ++middle)
        for (std::size_t up = 0; up <= 2 * most_off; ++up) {
            const std::size_t a = (middle + up - most_off) % bins,
                              b = (middle + most_off - up) % bins;
            if (const float both = d_periodogram[a] + d_periodogram_below[b];
                both > most) {
                most = both;
                above = a;
                below = b;
            }
        }
    if (!(most > both_clear))
        return {};
    const double first =
                     static_cast<double>(above) + offset_of_peak(d_periodogram, above),
                 second = static_cast<double>(below) +
                          offset_of_peak(d_periodogram_below, below);
    const double apart = std::remainder(second - first, static_cast<double>(bins));
    d_clock_off = -apart / (2 * bins);
    return (first + apart / 2) / bins;
}

} // namespace gr::adann::core
