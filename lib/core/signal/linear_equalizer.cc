/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/linear_equalizer.h"

#include "core/signal/linear_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <utility>

namespace gr::adann::core {

namespace {

using linear::fit, linear::least_kurtosis;

constexpr std::size_t most_windows = 16384;
// An error so many times as large is another solution's; the same solution has nearly the same one.
constexpr double doubtful = 2;

// Starting points: each sample of the symbol in the middle; for real points its I and Q separately.
std::vector<std::size_t>
starts_of(std::size_t dimension, std::size_t stride, bool is_complex)
{
    const std::size_t floats_per_input = is_complex ? 2 : 1;
    const std::size_t of_symbol = stride / floats_per_input;
    const std::size_t before = (dimension - stride) / 2 / floats_per_input;
    std::vector<std::size_t> starts;
    for (std::size_t k = 0; k < of_symbol; ++k)
        starts.push_back(before + k);
    return starts;
}

[[noreturn]] void are_alike() { throw eye_closed("the samples are all alike"); }

[[noreturn]] void is_closed(const constellation& symbols, double kurtosis)
{
    char text[200];
    std::snprintf(
        text,
        sizeof text,
        "no linear equalizer finds %s: the kurtosis after the best one is %.2f of "
        "that of %s (needed: %.1f)",
        symbols.name().c_str(),
        std::max(kurtosis, 0.0),
        symbols.name().c_str(),
        least_kurtosis);
    throw eye_closed(text);
}

// An equalizer, and its error relative to the variance of the points it decides.
struct candidate {
    linear_equalizer equalizer;
    double error;
};

// \param has_constant whether the samples may have one
template <typename T>
candidate blind_with(const feature_view& view,
                     const constellation& symbols,
                     const window_geometry& window,
                     carrier_track* carrier,
                     bool has_constant)
{
    fit<T> fitting(symbols, view.dimension, std::min(view.count, most_windows));
    fitting.load(view);
    if (has_constant)
        fitting.remove_mean();
    double kurtosis;
    if (!fitting.extreme(
            starts_of(window.dimension(), window.stride(), symbols.is_complex()),
            kurtosis))
        are_alike();
    if (!(kurtosis > least_kurtosis))
        is_closed(symbols, kurtosis);
    if constexpr (!std::is_same_v<T, double>)
        if (carrier)
            fitting.turn_back(*carrier = track_power(fitting.outputs(view), symbols));
    fitting.turn(symbols.symmetries().size());
    if (!fitting.follow_decisions())
        are_alike();
    candidate found{ fitting.made(), 0 };
    found.error = found.equalizer.error / fitting.spread(); // infinite for one label
    return found;
}

/* The equalizer with a constant, unless the one without has less than half of its error. Without, a constant
 * that was added to the samples changes the outputs' kurtosis and decisions. With it, x² of a square law is
 * found: it has two values for PAM4, which less their mean are farther from a Gaussian than the symbols. */
template <typename T>
linear_equalizer blind(const feature_view& view,
                       const constellation& symbols,
                       const window_geometry& window,
                       carrier_track* carrier)
{
    std::optional<candidate> found;
    try {
        found = blind_with<T>(view, symbols, window, carrier, false);
    } catch (const eye_closed&) {
        return blind_with<T>(view, symbols, window, carrier, true).equalizer;
    }
    carrier_track other;
    try {
        auto with =
            blind_with<T>(view, symbols, window, carrier ? &other : nullptr, true);
        if (with.error < doubtful * found->error) {
            if (carrier)
                *carrier = other;
            return with.equalizer;
        }
    } catch (const eye_closed&) {
    }
    return found->equalizer;
}

template <typename T>
linear_equalizer trained(const feature_view& view,
                         const constellation& symbols,
                         const std::uint8_t* labels)
{
    fit<T> fitting(symbols, view.dimension, std::min(view.count, most_windows));
    fitting.load(view);
    const bool is_one_label = std::all_of(
        labels, labels + view.count, [&](auto each) { return each == *labels; });
    if (!is_one_label) // which a constant would explain alone
        fitting.remove_mean();
    if (!fitting.know(labels))
        are_alike();
    return fitting.made();
}

// The equalizer of an offset constellation, with real taps for each part.
linear_equalizer trained_apart(const feature_view& view,
                               const constellation& symbols,
                               const std::uint8_t* labels)
{
    const constellation each("bpsk");
    std::vector<std::uint8_t> part(view.count);
    linear_equalizer both{ {}, {}, 0 };
    for (const bool is_q : { false, true }) {
        for (std::size_t i = 0; i < view.count; ++i) {
            const auto point = symbols.points()[labels[i]];
            part[i] = (is_q ? point.imag() : point.real()) > 0;
        }
        const auto fitted = trained<double>(view, each, part.data());
        for (const double tap : fitted.taps)
            both.taps.push_back(tap / std::sqrt(2.0));
        both.constants.push_back(fitted.constants[0] / std::sqrt(2.0));
        both.error += fitted.error / 2;
    }
    return both;
}

linear_equalizer blind_apart(const feature_view& view,
                             const constellation& symbols,
                             const window_geometry& window)
{
    const constellation each("bpsk");
    const std::size_t size = view.dimension;
    fit<double> fitting(each, size, std::min(view.count, most_windows));
    fitting.load(view);
    fitting.remove_mean();
    double kurtosis;
    if (!fitting.extreme(starts_of(size, window.stride(), false), kurtosis))
        are_alike();
    if (!(kurtosis > least_kurtosis))
        is_closed(symbols, kurtosis);
    if (!fitting.follow_decisions())
        are_alike();
    linear_equalizer found = fitting.made();
    found.taps.resize(2 * size);
    const std::size_t late = window.stride() / 4 * 2; // floats of half a symbol
    for (std::size_t k = 0; k + late < size; k += 2) {
        found.taps[size + k + late] = -found.taps[k + 1];
        found.taps[size + k + late + 1] = found.taps[k];
    }
    found.constants.push_back(-std::inner_product(
        fitting.mean().begin(), fitting.mean().end(), &found.taps[size], 0.0));
    std::vector<std::uint8_t> labels(view.count);
    const auto decide = [&](std::size_t i) {
        double sums[2] = { found.constants[0], found.constants[1] };
        for (std::size_t k = 0; k < size; ++k) {
            sums[0] += found.taps[k] * view[i][k];
            sums[1] += found.taps[size + k] * view[i][k];
        }
        for (std::size_t label = 0; label < symbols.size(); ++label) {
            const auto point = symbols.points()[label];
            if ((point.real() > 0) == (sums[0] > 0) &&
                (point.imag() > 0) == (sums[1] > 0))
                return static_cast<std::uint8_t>(label);
        }
        return std::uint8_t{ 0 };
    };
    for (int round = 0; round < linear::rounds; ++round) {
        bool changed = round == 0;
        for (std::size_t i = 0; i < view.count; ++i) {
            const std::uint8_t label = decide(i);
            changed |= label != std::exchange(labels[i], label);
        }
        if (!changed)
            break;
        found = trained_apart(view, symbols, labels.data());
    }
    return found;
}

} // namespace

linear_equalizer blind_equalizer(const feature_view& view,
                                 const constellation& symbols,
                                 const window_geometry& window,
                                 carrier_track* carrier)
{
    if (symbols.is_offset()) {
        if (carrier)
            *carrier = {};
        return blind_apart(view, symbols, window);
    }
    return symbols.is_complex()
               ? blind<std::complex<double>>(view, symbols, window, carrier)
               : blind<double>(view, symbols, window, carrier);
}

linear_equalizer trained_equalizer(const feature_view& view,
                                   const constellation& symbols,
                                   const std::uint8_t* labels)
{
    if (symbols.is_offset())
        return trained_apart(view, symbols, labels);
    return symbols.is_complex() ? trained<std::complex<double>>(view, symbols, labels)
                                : trained<double>(view, symbols, labels);
}

} // namespace gr::adann::core
