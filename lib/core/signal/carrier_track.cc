/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/carrier_track.h"

#include "core/common/cholesky.h"
#include "core/signal/peak.h"
#include "core/signal/rotate.h"
#include "core/signal/rotation_power.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace gr::adann::core {

namespace {

using number = std::complex<double>;

constexpr std::size_t stretch =
    1024;                       // symbols over which the carrier's frequency is constant
constexpr double chance = 1e-6; // false alarm probability of a line
constexpr std::size_t highest = 8; // highest power whose line exceeds the noise
constexpr std::size_t of_power = 128, of_known = 64; // symbols whose mean gives the phase
constexpr double least_ratio =
    12; // power of a mean over its noise's, which by itself has as much once in exp(12)
constexpr std::size_t group = 4; // known symbols of a correlation
constexpr std::size_t most =
    64 * stretch;                // most symbols that frequency and taps are found from
constexpr double ridge = 1e-3;   // of the mean power
constexpr double clear = 3;      // standard errors
constexpr float largest = 10;    // largest symbol, of unit power, that is no impulse
constexpr std::size_t parts = 8; // of the symbols in phase_stands()
constexpr double of_one_phase = 0.9; // least coherence of the parts' sums
constexpr double beyond_aligned =
    2.5; // times the mean of random phases that were aligned by tracking

/* The frequency, in cycles a step, of the line that rows of `inputs` numbers have in common:
 * the phases may differ between inputs, and between stretches. */
std::optional<double>
find_line(const std::vector<number>& rows, std::size_t inputs, std::size_t of_stretch)
{
    const std::size_t steps = rows.size() / inputs;
    const std::size_t count = (steps + of_stretch - 1) / of_stretch;
    const double step = 0.5 / static_cast<double>(std::min(steps, of_stretch));
    const auto bins = static_cast<std::size_t>(std::lround(1 / step));
    std::vector<double> power(bins);
    std::vector<number> sums(inputs);
    double terms = 0; // number of exponential variables of mean 1 that noise would sum up
    for (std::size_t s = 0; s < count; ++s) {
        const std::size_t first = s * of_stretch,
                          end = std::min(first + of_stretch, steps);
        double energy = 0;
        for (std::size_t i = first * inputs; i < end * inputs; ++i)
            energy += std::norm(rows[i]);
        if (!(energy > 0))
            continue;
        const auto weight = static_cast<double>(inputs) / energy;
        terms += static_cast<double>(inputs);
        for (std::size_t bin = 0; bin < bins; ++bin) {
            const number turn =
                std::polar(1.0, -whole_turn * step * static_cast<double>(bin));
            std::fill(sums.begin(), sums.end(), 0);
            number now = 1;
            for (std::size_t i = first; i < end; ++i, now *= turn)
                for (std::size_t k = 0; k < inputs; ++k) {
                    const number x = rows[i * inputs + k];
                    sums[k] += number(x.real() * now.real() - x.imag() * now.imag(),
                                      x.real() * now.imag() + x.imag() * now.real());
                }
            for (const auto& sum : sums)
                power[bin] += weight * std::norm(sum);
        }
    }
    if (!(terms > 0))
        return {};
    const auto top = static_cast<std::size_t>(
        std::max_element(power.begin(), power.end()) - power.begin());
    // Chernoff's bound of a sum of so many exponential variables.
    const double ratio = power[top] / terms;
    if (!(ratio > 1 && terms * (ratio - 1 - std::log(ratio)) >
                           std::log(static_cast<double>(bins) / chance)))
        return {};
    const double before = power[(top + bins - 1) % bins], after = power[(top + 1) % bins];
    const double at =
        static_cast<double>(top) + offset_of_peak(before, power[top], after);
    return std::remainder(at * step, 1.0);
}

/* Values that the phase is averaged over: n or a multiple, so that the power of their sum is expected
 * to be at least least_ratio times that of its noise, within a stretch. */
std::size_t averaged_over(const std::vector<number>& sums, // up to each value
                          const std::vector<number>& values,
                          std::size_t n)
{
    double ratio = 0, counted = 0;
    for (std::size_t i = 0; i + n <= values.size(); i += n) {
        double squares = 0;
        for (std::size_t k = i; k < i + n; ++k)
            squares += std::norm(values[k]);
        if (!(squares > 0))
            continue;
        ratio += std::norm(sums[i + n] - sums[i]) / squares;
        ++counted;
    }
    const std::size_t most_times = std::max<std::size_t>(stretch / n, 1);
    if (!(ratio > counted)) // the noise alone has 1
        return most_times * n;
    const double times = std::ceil(least_ratio / (ratio / counted - 1));
    return n * static_cast<std::size_t>(
                   std::clamp(times, 1.0, static_cast<double>(most_times)));
}

/* The phase of a carrier from the values of its power, which rotate by about
 * `frequency` each: the mean over so many values around each one or more, without
 * itself, so that the phase does not follow its own noise. Empty where this is
 * not better than a constant phase by three standard errors. */
carrier_track follow(const std::vector<number>& values,
                     double frequency,
                     std::size_t around,
                     std::size_t power)
{
    const std::size_t n = values.size();
    std::vector<number> turned(n), sums(n + 1);
    number mean = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double by = frequency * static_cast<double>(i);
        turned[i] = values[i] * std::polar(1.0, -whole_turn * (by - std::floor(by)));
        sums[i + 1] = sums[i] + turned[i];
        mean += values[i];
    }
    const std::size_t half = averaged_over(sums, turned, around) / 2;
    const auto order = static_cast<double>(power);
    carrier_track track{ frequency / order, std::vector<float>(n) };
    const number still = std::polar(1.0, -std::arg(mean));
    double last = 0, start = 0, gain = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const number sum =
            sums[std::min(n, i + half + 1)] - sums[i - std::min(i, half)] - turned[i];
        if (sum != 0.0)
            last += std::remainder(std::arg(sum) - last, whole_turn);
        if (i == 0)
            start = last;
        const double gained =
            std::real(turned[i] * std::polar(1.0, -last) - values[i] * still);
        gain += gained;
        squares += gained * gained;
        const double phase = last + whole_turn * frequency * static_cast<double>(i);
        track.phase[i] = static_cast<float>(std::remainder(phase / order, whole_turn));
    }
    if (!(gain > clear * std::sqrt(squares)))
        return {};
    track.frequency += (last - start) / (whole_turn * static_cast<double>(n)) / order;
    return track;
}

// Outputs of the least squares equalizer from the windows, rotated back by a
// frequency, to the points.
std::vector<number> equalized(const feature_view& view,
                              const std::vector<std::complex<float>>& sent,
                              double frequency)
{
    const std::size_t n = view.count, inputs = view.dimension / 2;
    std::vector<number> matrix(inputs * inputs), taps(inputs), x(inputs), y(n);
    const auto load = [&](std::size_t i) {
        for (std::size_t k = 0; k < inputs; ++k)
            x[k] = { view[i][2 * k], view[i][2 * k + 1] };
    };
    const auto turn = [&](std::size_t i) {
        return std::polar(
            1.0, whole_turn * std::remainder(frequency * static_cast<double>(i), 1.0));
    };
    std::size_t known = 0;
    for (std::size_t i = 0; i < n && known < most; ++i) {
        if (sent[i] == 0.0f)
            continue;
        ++known;
        load(i);
        const number wanted = number(sent[i]) * turn(i);
        for (std::size_t j = 0; j < inputs; ++j) {
            const double re = x[j].real(), im = -x[j].imag();
            for (std::size_t k = 0; k <= j; ++k)
                matrix[j * inputs + k] += number(re * x[k].real() - im * x[k].imag(),
                                                 re * x[k].imag() + im * x[k].real());
            taps[j] += std::conj(x[j]) * wanted;
        }
    }
    double trace = 0;
    for (std::size_t k = 0; k < inputs; ++k)
        trace += std::real(matrix[k * inputs + k]);
    for (std::size_t k = 0; k < inputs; ++k)
        matrix[k * inputs + k] += ridge * trace / static_cast<double>(inputs);
    if (!solve(matrix, inputs, taps, 1))
        return {};
    for (std::size_t i = 0; i < n; ++i) {
        load(i);
        for (std::size_t k = 0; k < inputs; ++k)
            y[i] += taps[k] * x[k];
    }
    return y;
}

// The symbols' M-th powers, at the phase of the carrier's; none of other orders than 2 to 8.
std::vector<number> powers(const std::vector<number>& symbols,
                           const constellation& alphabet)
{
    const std::size_t order = alphabet.symmetries().size();
    if (order < 2 || order > highest)
        return {};
    const rotation_power power(alphabet);
    double level = 0, count = 0;
    for (const auto& symbol : symbols)
        if (std::abs(symbol) < largest) {
            level += std::norm(symbol);
            ++count;
        }
    const double scale = level > 0 ? std::sqrt(count / level) : 0;
    std::vector<number> values;
    values.reserve(symbols.size());
    for (const auto& symbol : symbols)
        values.push_back(std::abs(symbol) < largest ? power(scale * symbol) : number(0));
    return values;
}

} // namespace

void carrier_track::count_from(std::size_t symbol)
{
    if (stands())
        return;
    const float there = phase[symbol];
    for (auto& each : phase)
        each -= there;
}

carrier_track track_power(const std::vector<std::complex<double>>& symbols,
                          const constellation& alphabet)
{
    const std::vector<number> values = powers(symbols, alphabet);
    if (values.empty())
        return {};
    const auto line = find_line(
        { values.begin(), values.begin() + std::min(values.size(), most) }, 1, stretch);
    if (!line)
        return {};
    return follow(values, *line, of_power, alphabet.symmetries().size());
}

bool phase_stands(const std::vector<std::complex<double>>& symbols,
                  const constellation& alphabet,
                  bool is_tracked)
{
    const std::vector<number> values = powers(symbols, alphabet);
    number all = 0;
    double apart = 0;
    for (std::size_t part = 0; part < parts && !values.empty(); ++part) {
        number sum = 0;
        double squares = 0;
        const std::size_t end = (part + 1) * values.size() / parts;
        for (std::size_t i = part * values.size() / parts; i < end; ++i) {
            sum += values[i];
            squares += std::norm(values[i]);
        }
        // Of random phases the squared sum is exponentially distributed; where each of_power
        // symbols are aligned, it is as many times the number of these.
        const double aligned = beyond_aligned * beyond_aligned *
                               static_cast<double>(values.size() / parts) / of_power;
        if (!(std::norm(sum) >
              std::max(std::log(1 / chance), is_tracked ? aligned : 0) * squares))
            return false;
        all += sum;
        apart += std::abs(sum);
    }
    return values.empty() || std::abs(all) >= of_one_phase * apart;
}

carrier_track track_known(const feature_view& view,
                          const std::vector<std::complex<float>>& sent)
{
    const std::size_t inputs = view.dimension / 2,
                      groups = std::min(view.count, most) / group;
    std::vector<number> common(groups * inputs);
    for (std::size_t i = 0; i < groups * group; ++i) {
        const number by = std::conj(number(sent[i]));
        for (std::size_t k = 0; k < inputs; ++k)
            common[i / group * inputs + k] +=
                by * number(view[i][2 * k], view[i][2 * k + 1]);
    }
    const auto line = find_line(common, inputs, stretch / group);
    if (!line)
        return {};
    const double frequency = *line / group;
    std::vector<number> values = equalized(view, sent, frequency);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] *= std::conj(number(sent[i]));
    return follow(values, frequency, of_known, 1);
}

} // namespace gr::adann::core
