/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/interfering_tone.h"

#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gr::adann::core {

namespace {

constexpr std::size_t apart = 65'536; // samples from one search to the next
constexpr std::size_t slow = 8;       // bins on each side of 0, for offsets and hum
constexpr std::size_t line_bins = 4;  // bins of a line on each side of its largest one
// Longest period of data, symbols. The multiples of all their frequencies, each one bin wide, are 2
// % of the band for each sample per symbol.
constexpr std::size_t longest_period = 24;
constexpr std::size_t around = 128;    // bins on each side for the median
constexpr double averaged = 16;        // blocks: averaging time of the amplitude
constexpr std::size_t remembered = 24; // blocks: averaging time of the power removed
/* Least power of a tone relative to that of the samples; twice that of real samples. The power
 * removed is then five standard deviations of its mean, 2 |A| √(p / 2n) / √(2m - 1) for an
 * amplitude A in a power p of n complex samples and m blocks. */
constexpr double least =
    25.0 * 2 / (interfering_tone::block * (2 * remembered - 1)); // -24 dB

} // namespace

interfering_tone::interfering_tone(std::size_t sps, bool complex)
    : d_seen(searched),
      d_power(searched),
      d_sps(static_cast<double>(sps)),
      d_is_complex(complex)
{
}

float interfering_tone::frequency() const
{
    return d_found ? static_cast<float>(std::remainder(d_growth / whole_turn, 1.0)) : 0;
}

float interfering_tone::amplitude() const
{
    return d_found ? static_cast<float>(std::abs(d_amplitude)) : 0;
}

void interfering_tone::search_if(bool searches)
{
    if (!searches)
        d_passed = 0;
    d_searches = searches;
}

void interfering_tone::reset()
{
    d_found = false;
    d_passed = 0;
}

void interfering_tone::apply(planes& samples, std::size_t first, std::size_t n)
{
    for (const std::size_t end = first + n; first < end;) {
        if (d_found) {
            const std::size_t count = std::min(block - d_count, end - first);
            subtract(samples, first, count);
            first += count;
            d_count += count;
            if (d_count == block)
                follow();
            continue;
        }
        if (!d_searches)
            return;
        if (d_passed >= searched) {
            const std::size_t count = std::min(apart - d_passed, end - first);
            first += count;
            d_passed = (d_passed + count) % apart;
            continue;
        }
        for (; first < end && d_passed < searched; ++first, ++d_passed)
            d_seen[d_passed] = { samples.re[first],
                                 d_is_complex ? samples.im[first] : 0.0f };
        if (d_passed == searched)
            search();
    }
}

void interfering_tone::pass()
{
    d_turn *= std::polar(1.0, d_growth);
    if (!d_found && d_passed < searched)
        d_passed = 0; // a search needs samples without a gap
}

void interfering_tone::subtract(planes& samples, std::size_t first, std::size_t n)
{
    const number step = std::polar(1.0, d_growth);
    for (std::size_t i = first; i < first + n; ++i, d_turn *= step) {
        const number tone = d_amplitude * d_turn;
        const double re = samples.re[i], im = d_is_complex ? samples.im[i] : 0;
        const number corrected(re - tone.real(), d_is_complex ? im - tone.imag() : 0);
        samples.re[i] = static_cast<float>(corrected.real());
        if (d_is_complex)
            samples.im[i] = static_cast<float>(corrected.imag());
        d_before += re * re + im * im;
        d_after += std::norm(corrected);
        d_sum += corrected * std::conj(d_turn);
    }
}

// Updates amplitude and frequency by a block, or gives the tone up.
void interfering_tone::follow()
{
    ++d_blocks;
    const double part = 1 / std::min(static_cast<double>(d_blocks), averaged);
    // A real tone is the sum of a complex one of half the amplitude and its conjugate: |A|² / 2.
    const double dimensions = d_is_complex ? 2 : 1;
    const number wrong = d_sum * (2 / dimensions) / double{ block };
    const double power = d_after / block;
    d_amplitude += part * wrong;
    const double tone = std::norm(d_amplitude) * dimensions / 2;
    if (d_blocks <= 4)
        d_gain = tone;
    else
        d_gain += ((d_before - d_after) / block - d_gain) / remembered;
    d_sum = d_before = d_after = 0;
    d_count = 0;
    d_turn /= std::abs(d_turn);
    if (d_gain < 0 || tone <= least / dimensions * power) // both are 0 in silence
        return reset();
    // Critically damped: β = α² / 4. The first blocks measure the phase alone.
    if (d_blocks > 4)
        d_growth +=
            part * part / 4 * std::clamp((wrong / d_amplitude).imag(), -1.0, 1.0) / block;
}

// Searches the periodogram of the samples, through a Hann window, for a line.
void interfering_tone::search()
{
    for (std::size_t i = 0; i < searched; ++i)
        d_seen[i] *= static_cast<float>(
            0.5 - 0.5 * std::cos(whole_turn * static_cast<double>(i) / searched));
    d_transform.run(d_seen.data());
    std::transform(d_seen.begin(), d_seen.end(), d_power.begin(), [](auto bin) {
        return std::norm(bin);
    });
    // Of real samples the upper half is the conjugate of the lower one.
    const std::size_t bins = d_is_complex ? searched : searched / 2;
    const auto largest = [&](std::size_t from, std::size_t end) {
        return std::max_element(d_power.begin() + from, d_power.begin() + end);
    };
    const std::size_t first = slow + line_bins + 1, end = bins - slow - line_bins;
    const auto line = largest(first, end);
    const auto at = static_cast<std::size_t>(line - d_power.begin());
    const float most = *line;
    const float second = std::max(*largest(first - line_bins - 1, at - line_bins),
                                  *largest(at + line_bins + 1, end + line_bins + 1));
    // Through the window a tone has half its amplitude, and the samples 3/8 of their power. Of real
    // samples the lower half has half of both.
    const float all = std::accumulate(d_power.begin(), d_power.end(), 0.0f);
    if (2 * second > most || most < static_cast<float>(least * 2 / 3) * all)
        return;
    // Its offset from the bin towards the larger neighbour, from the ratio of their amplitudes
    // through a Hann window.
    const bool is_above = d_power[at + 1] > d_power[at - 1];
    const double ratio = std::sqrt(d_power[is_above ? at + 1 : at - 1] / most);
    const double offset = (is_above ? 1 : -1) * (2 * ratio - 1) / (ratio + 1);
    const std::size_t from = std::max(at, slow + around) - around;
    const auto middle = d_power.begin() + from + around;
    std::nth_element(d_power.begin() + from,
                     middle,
                     d_power.begin() + std::min(from + 2 * around, bins));
    // A bin of noise exceeds t times the mean with a
    // probability of exp(-t): the median is ln 2 times it.
    const double enough = (16 + std::log(static_cast<double>(searched))) / 0.693;
    if (!(most > enough * *middle))
        return;
    const double cycles = (static_cast<double>(at) + offset) / searched;
    if (is_of_data(cycles))
        return;
    d_found = true;
    d_amplitude = d_sum = d_before = d_after = d_gain = 0;
    d_turn = 1;
    d_count = d_blocks = 0;
    d_growth = whole_turn * cycles;
}

// Whether a frequency, in cycles per sample, is within a bin of a multiple of one over few symbols.
bool interfering_tone::is_of_data(double cycles) const
{
    for (std::size_t period = 1; period <= longest_period; ++period) {
        const double of_period = cycles * d_sps * static_cast<double>(period);
        if (std::abs(std::remainder(of_period, 1.0)) <
            d_sps * static_cast<double>(period) / searched)
            return true;
    }
    return false;
}

void interfering_tone::state(archive& members)
{
    std::size_t passed = d_passed;
    members("passed", passed, std::size_t{ 0 }, apart - 1);
    static_assert(sizeof(d_seen[0]) == 2 * sizeof(float));
    members.numbers("seen",
                    reinterpret_cast<float*>(d_seen.data()),
                    { passed < searched ? passed : 0, 2 });
    members("searches", d_searches);
    auto found = static_cast<std::size_t>(d_found);
    members("found", found, std::size_t{ 0 }, std::size_t{ 1 });
    if (passed != d_passed ||
        (found == 1) != d_found) { // no write while saving: readers may run
        d_passed = passed;
        d_found = found == 1;
    }
    static_assert(sizeof(number) == 2 * sizeof(double));
    members.numbers("amplitude", reinterpret_cast<double*>(&d_amplitude), { 2 });
    members.numbers("turn", reinterpret_cast<double*>(&d_turn), { 2 }, -1.1, 1.1);
    members("growth", d_growth, -2 * whole_turn, 2 * whole_turn);
    members("count", d_count, std::size_t{ 0 }, block - 1);
    members("blocks", d_blocks);
    members.numbers("sum", reinterpret_cast<double*>(&d_sum), { 2 });
    members("before", d_before);
    members("after", d_after);
    members("gain", d_gain);
}

} // namespace gr::adann::core
