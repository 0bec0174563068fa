/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/interfering_tones.h"

#include "core/signal/median.h"
#include "core/signal/rotate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

namespace gr::adann::core {

namespace {

using number = std::complex<double>;

constexpr std::size_t apart = 65'536; // samples from one search to the next
constexpr std::size_t slow = 8;       // bins on each side of 0, for offsets and hum
constexpr std::size_t line_bins = 4;  // bins of a line on each side of its largest one
// Longest period of data, symbols. The multiples of all their frequencies, each one bin wide, are 2
// % of the band for each sample per symbol.
constexpr std::size_t longest_period = 24;
// Rates of change on each side of 0 that are tried with all samples and with the latest of them. The
// former are 3.7e-8, the latter 1.1e-6 cycles a sample² at most.
constexpr std::size_t slow_rates = 5, fast_rates = 9;
// Power of a line that counts, relative to the largest one: most lines of an idle word with random symbols
// have more.
constexpr double of_largest = 1.0 / 8;

// Bins of a periodogram, and those that may be a tone's.
struct tone_bins {
    // Of real samples the upper half is the conjugate of the lower one.
    tone_bins(std::size_t size, bool is_complex)
        : bins(is_complex ? size : size / 2), end(bins - slow - line_bins)
    {
    }
    std::size_t bins, first = slow + line_bins + 1, end;
};
// Bins on each side for the median: few relative to the spectrum of a signal of 16 samples a symbol.
constexpr std::size_t around(std::size_t size) { return size / 128; }

} // namespace

interfering_tones::interfering_tones(std::size_t sps, bool complex)
    : d_tones(most_tones, tone_loop(complex)),
      d_seen(searched),
      d_bins(searched),
      d_power(searched),
      d_window(searched),
      d_sps(static_cast<double>(sps)),
      d_is_complex(complex)
{
    for (std::size_t i = 0; i < searched; ++i)
        d_window[i] = static_cast<float>(
            0.5 - 0.5 * std::cos(whole_turn * static_cast<double>(i) / searched));
}

const tone_loop& interfering_tones::strongest() const
{
    return *std::max_element(
        d_tones.begin(), d_tones.end(), [](const tone_loop& a, const tone_loop& b) {
            return a.amplitude() < b.amplitude();
        });
}

// Null if all are in use.
tone_loop* interfering_tones::unused()
{
    const auto found = std::find_if(
        d_tones.begin(), d_tones.end(), [](const auto& each) { return !each.follows(); });
    return found == d_tones.end() ? nullptr : &*found;
}

void interfering_tones::search_if(bool searches)
{
    if (!searches)
        d_passed = 0;
    d_searches = searches;
}

void interfering_tones::reset()
{
    for (tone_loop& each : d_tones)
        each.stop();
    d_passed = 0;
}

void interfering_tones::apply(planes& samples, std::size_t first, std::size_t n)
{
    for (const std::size_t end = first + n; first < end;) {
        const bool sees = d_passed < searched;
        const std::size_t count =
            d_searches ? std::min((sees ? searched : apart) - d_passed, end - first)
                       : end - first;
        for (tone_loop& each : d_tones)
            each.subtract(samples, first, count);
        if (d_searches) {
            for (std::size_t i = 0; sees && i < count; ++i)
                d_seen[d_passed + i] = { samples.re[first + i],
                                         d_is_complex ? samples.im[first + i] : 0.0f };
            d_passed = (d_passed + count) % apart;
            if (sees && d_passed == searched && unused())
                search();
        }
        first += count;
    }
}

void interfering_tones::pass()
{
    for (tone_loop& each : d_tones)
        each.pass();
    if (d_passed < searched)
        d_passed = 0; // a search needs samples without a gap
}

// Sets d_power to the periodogram of samples, through a Hann window and without a chirp. Returns its largest
// bin that may be a tone's.
float interfering_tones::transform(const fourier_transform& by,
                                   const std::complex<float>* samples,
                                   double rate)
{
    const std::size_t size = by.size();
    // exp(-jπ rate k²) at k samples from the middle, and what the next one has more.
    const auto middle = static_cast<double>(size / 2);
    number chirp = std::polar(1.0, -whole_turn / 2 * rate * middle * middle),
           step = std::polar(1.0, whole_turn / 2 * rate * (2 * middle - 1));
    const number step_more = std::polar(1.0, -whole_turn * rate);
    for (std::size_t i = 0; i < size; ++i, chirp *= step, step *= step_more)
        d_bins[i] = samples[i] * std::complex<float>(
                                     double{ d_window[i * (searched / size)] } * chirp);
    by.run(d_bins.data());
    std::transform(d_bins.begin(), d_bins.begin() + size, d_power.begin(), [](auto bin) {
        return std::norm(bin);
    });
    const tone_bins may{ size, d_is_complex };
    return *std::max_element(d_power.begin() + may.first, d_power.begin() + may.end);
}

// The line of the latest periodogram, in bins, of which there are `size`.
std::optional<double> interfering_tones::line(std::size_t size) const
{
    const tone_bins may{ size, d_is_complex };
    const auto found =
        std::max_element(d_power.begin() + may.first, d_power.begin() + may.end);
    const auto at = static_cast<std::size_t>(found - d_power.begin());
    const float most = *found;
    // Through the window a tone has half its amplitude, and the samples 3/8 of their power. Of real
    // samples the lower half has half of both.
    const float all = std::accumulate(d_power.begin(), d_power.begin() + size, 0.0f);
    if (most < static_cast<float>(tone_loop::least * 2 / 3) * all)
        return {};
    const std::size_t near = around(size), from = std::max(at, slow + near) - near;
    std::array<float, 2 * around(searched)> nearby;
    const auto end = std::copy(d_power.begin() + from,
                               d_power.begin() + std::min(from + 2 * near, may.bins),
                               nearby.begin());
    const float usual = median(nearby.begin(), end);
    // A bin of noise exceeds t times the mean with a
    // probability of exp(-t): the median is ln 2 times it.
    const double enough = (16 + std::log(static_cast<double>(size))) / 0.693;
    if (!(most > enough * usual))
        return {};
    const double counts = std::max(enough * usual, of_largest * double{ most });
    std::size_t lines = 0;
    for (std::size_t k = may.first - 1; k <= may.end; ++k)
        lines += d_power[k] > counts && d_power[k] > d_power[k - 1] &&
                 d_power[k] >= d_power[k + 1];
    if (lines > most_tones) // periodic data have more
        return {};
    // Its offset from the bin towards the larger neighbour, from the ratio of their amplitudes
    // through a Hann window.
    const bool is_above = d_power[at + 1] > d_power[at - 1];
    const double ratio = std::sqrt(d_power[is_above ? at + 1 : at - 1] / most);
    const double offset = (is_above ? 1 : -1) * (2 * ratio - 1) / (ratio + 1);
    return static_cast<double>(at) + offset;
}

void interfering_tones::search()
{
    std::optional<chirp> found = find(d_transform, slow_rates, 0);
    if (!found) {
        found = find(d_short_transform, fast_rates, 0);
        if (const auto better =
                found ? find(d_transform, slow_rates, found->rate) : found)
            found = better;
    }
    if (!found || is_of_data(*found) || is_followed(*found))
        return;
    unused()->begin(found->cycles, found->rate, found->samples);
    d_passed = 0; // there may be another one
}

/* Searches the latest samples for the largest line of several rates of change. None if it is at the first
 * or the last of them, as it changes faster then.
 * \param around middle of the rates that are tried, cycles a sample²
 * \param most number of them on each side of it */
std::optional<interfering_tones::chirp>
interfering_tones::find(const fourier_transform& by, std::size_t most, double around)
{
    const auto size = static_cast<double>(by.size());
    const std::complex<float>* const latest = d_seen.data() + searched - by.size();
    const double step = 2 / (size * size); // rotates the ends of the samples by π / 2
    const double first = around - step * static_cast<double>(most);
    std::array<float, 2 * fast_rates + 1> peaks;
    const auto end = peaks.begin() + 2 * most + 1;
    for (auto each = peaks.begin(); each != end; ++each)
        *each = transform(
            by, latest, first + step * static_cast<double>(each - peaks.begin()));
    const auto peak = std::max_element(peaks.begin(), end);
    if (peak == peaks.begin() || peak == end - 1)
        return {};
    // The vertex of the parabola through their logarithms.
    const double before = std::log(peak[0] / peak[-1]),
                 after = std::log(peak[0] / peak[1]);
    const double rate = first + step * (static_cast<double>(peak - peaks.begin()) +
                                        0.5 * (before - after) / (before + after));
    transform(by, latest, rate);
    const auto at = line(by.size());
    if (!at)
        return {};
    return chirp{ *at / size + rate * size / 2, rate, by.size() };
}

// Whether the line is a remainder of a tone that is followed.
bool interfering_tones::is_followed(const chirp& found) const
{
    return std::any_of(d_tones.begin(), d_tones.end(), [&](const tone_loop& each) {
        return each.follows() &&
               std::abs(std::remainder(found.cycles - double{ each.frequency() }, 1.0)) <
                   double{ line_bins } / static_cast<double>(found.samples);
    });
}

// Whether a constant frequency is within a bin of a multiple of one over few symbols.
bool interfering_tones::is_of_data(const chirp& found) const
{
    const auto size = static_cast<double>(found.samples);
    if (std::abs(found.rate) * size * size > 1) // those of data do not change
        return false;
    const double cycles = found.cycles - found.rate * size / 2; // in their middle
    for (std::size_t period = 1; period <= longest_period; ++period) {
        const double of_period = cycles * d_sps * static_cast<double>(period);
        if (std::abs(std::remainder(of_period, 1.0)) <
            d_sps * static_cast<double>(period) / size)
            return true;
    }
    return false;
}

void interfering_tones::state(archive& members)
{
    std::size_t passed = d_passed;
    members("passed", passed, std::size_t{ 0 }, apart - 1);
    static_assert(sizeof(d_seen[0]) == 2 * sizeof(float));
    members.numbers("seen",
                    reinterpret_cast<float*>(d_seen.data()),
                    { passed < searched ? passed : 0, 2 });
    members("searches", d_searches);
    if (passed != d_passed) // no write while saving: readers may run
        d_passed = passed;
    for (std::size_t i = 0; i < most_tones; ++i)
        members("tone" + std::to_string(i), d_tones[i]);
}

} // namespace gr::adann::core
