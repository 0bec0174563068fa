/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/coarse_carrier.h"

#include "core/common/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gr::adann::core {

namespace {

constexpr float most_sps = 64;
constexpr double least_length = 64; // symbols of a segment
constexpr std::size_t to_look =
    16; // segments from one search to the next; they overlap by half
constexpr double keep = 0.875; // factor of the spectrum, from one search to the next
constexpr double reach = 0.25; // largest offset, cycles per symbol
constexpr double apart = 0.01; // spacing of the offsets that are tried, cycles per symbol
constexpr double margin = 0.1; // band of noise next to a signal, cycles per symbol
constexpr std::size_t smoothed =
    2;                       // bins on each side over which the deviation is smoothed
constexpr double sure = 150; // squared deviations; noise has some 50 once in 25 searches
constexpr double near =
    0.03; // cycles a symbol: twice what an echo of 0.25 moves the middle by
constexpr double far = 0.08; // likewise; an echo of 0.5 moves it by 0.05
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr double slew = 2e-9; // cycles a symbol, in a symbol: a phase loop follows it

// The power of a root-raised-cosine pulse at a frequency in cycles a symbol.
double raised_cosine(double frequency, double roll_off)
{
    const double from_edge = (std::abs(frequency) - 0.5) / roll_off;
    return from_edge <= -0.5  ? 1
           : from_edge >= 0.5 ? 0
                              : (1 - std::sin(M_PI * from_edge)) / 2;
}

constexpr auto offsets = static_cast<std::size_t>(2 * reach / apart + 1.5);

double offset_of(std::size_t tried) { return static_cast<double>(tried) * apart - reach; }

} // namespace

std::size_t coarse_carrier::transform_size(float sps)
{
    std::size_t size = 1;
    while (static_cast<double>(size) < least_length * std::min(sps, most_sps))
        size *= 2;
    return size;
}

coarse_carrier::coarse_carrier(float sps, float roll_off, transform spectrum)
    : d_sps(sps),
      d_size(transform_size(sps)),
      d_transform(std::move(spectrum)),
      d_window(d_size),
      d_latest(d_size),
      d_windowed(d_size),
      d_spectrum(d_size),
      d_power(d_size),
      d_to_look(to_look),
      d_found(nothing)
{
    check_range("sps", sps, 2.0f, most_sps);
    check_range("roll_off", roll_off, 0.05f, 1.0f);
    const auto size = static_cast<double>(d_size);
    for (std::size_t i = 0; i < d_size; ++i)
        d_window[i] = static_cast<float>(
            (1 - std::cos(2 * M_PI * static_cast<double>(i) / size)) / 2);
    const auto frequency = [&](std::size_t bin) {
        return std::remainder(static_cast<double>(bin) / size, 1.0) * d_sps;
    };
    const double widest = reach + (1 + roll_off) / 2 + margin;
    for (std::size_t bin = 0; bin < d_size; ++bin)
        if (std::abs(frequency(bin)) <= widest)
            d_bins.push_back(bin);
    d_weights.resize(d_bins.size());
    for (std::size_t tried = 0; tried < offsets; ++tried)
        for (const std::size_t bin : d_bins)
            d_pulses.push_back(static_cast<float>(raised_cosine(
                std::remainder(frequency(bin) - offset_of(tried), d_sps), roll_off)));
}

void coarse_carrier::process(const std::complex<float>* in,
                             std::complex<float>* out,
                             std::size_t samples)
{
    for (std::size_t i = 0; i < samples; ++i) {
        d_latest[d_taken++] = in[i];
        out[i] = in[i] * std::complex<float>(d_turn);
        d_turn *= d_step;
        if (d_taken == d_size)
            take_segment();
    }
}

// The latest samples, of which half are the next segment's, too. All have the same weight: a step
// of the level has a spectrum of its own.
void coarse_carrier::take_segment()
{
    for (std::size_t i = 0; i < d_size; ++i)
        d_windowed[i] = d_window[i] * d_latest[i];
    d_transform(d_windowed.data(), d_spectrum.data());
    double whole = 0;
    for (const auto& value : d_spectrum)
        whole += std::norm(value);
    if (whole > 0 && std::isfinite(whole)) {
        for (std::size_t bin = 0; bin < d_size; ++bin)
            d_power[bin] += std::norm(d_spectrum[bin]) / whole;
        ++d_segments;
    }
    std::copy(d_latest.begin() + d_size / 2, d_latest.end(), d_latest.begin());
    d_taken = d_size / 2;
    d_turn /= std::abs(d_turn);
    if (--d_to_look == 0)
        look();
}

void coarse_carrier::look()
{
    d_to_look = to_look;
    const centre found = find();
    for (auto& power : d_power)
        power *= keep;
    d_segments *= keep;
    const double before = std::exchange(d_found, found.offset);
    if (!(found.gain > sure)) {
        d_state = state::searching;
        d_found = nothing;
    }
    if (!(std::abs(d_found - before) <= near))
        return;
    const double from_here = found.offset - d_offset;
    if (std::abs(from_here) > (d_state == state::centred ? far : near)) {
        turn_by(found.offset);
        std::fill(
            d_power.begin(), d_power.end(), 0.0); // earlier segments had another offset
        d_segments = 0;
        d_state = state::searching;
        d_found = nothing;
        return;
    }
    d_state = state::centred;
    if (std::abs(from_here) > near) {
        const double symbols = static_cast<double>(to_look * d_size / 2) / d_sps;
        turn_by(d_offset + std::copysign(slew * symbols, from_here));
    }
}

void coarse_carrier::turn_by(double offset)
{
    d_offset = offset;
    d_frequency = static_cast<float>(offset);
    d_step = std::polar(1.0, -2 * M_PI * offset / d_sps);
}

/* Fits a flat spectrum plus that of a pulse by least squares. A bin's weight is one over its
 * variance, as its standard deviation is the spectrum itself. */
coarse_carrier::centre coarse_carrier::find()
{
    double mean = 0;
    for (const double power : d_power)
        mean += power / static_cast<double>(d_size);
    if (!(mean > 0))
        return { 0, 0 };
    constexpr double least = 1e-3; // of the mean, that a bin's own deviation is
    double weights = 0, weighted = 0;
    for (std::size_t i = 0; i < d_bins.size(); ++i) {
        const std::size_t bin = d_bins[i];
        double around = 0;
        for (std::size_t k = 0; k <= 2 * smoothed; ++k)
            around +=
                d_power[(bin + d_size + k - smoothed) % d_size] / (2 * smoothed + 1);
        around = std::max(around, least * mean);
        d_weights[i] = 1 / (around * around);
        weights += d_weights[i];
        weighted += d_weights[i] * d_power[bin];
    }
    centre best{ 0, 0 };
    const float* pulse = d_pulses.data();
    for (std::size_t tried = 0; tried < offsets; ++tried) {
        double once = 0, twice = 0, both = 0;
        for (std::size_t i = 0; i < d_bins.size(); ++i, ++pulse) {
            const double each = d_weights[i] * *pulse;
            once += each;
            twice += each * *pulse;
            both += each * d_power[d_bins[i]];
        }
        const double alone = both - once * weighted / weights;
        const double freedom = twice - once * once / weights;
        const double gain =
            alone > 0 && freedom > 0 ? d_segments * alone * alone / freedom : 0;
        if (gain > best.gain)
            best = { offset_of(tried), gain };
    }
    return best;
}

} // namespace gr::adann::core
