/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/linear_equalizer.h"

#include "core/signal/linear_fit.h"

#include <cstdio>

namespace gr::adann::core {

namespace {

using linear::fit, linear::least_kurtosis;

constexpr std::size_t most_windows = 16384;

// Each sample of the symbol in the middle; of real points its I and Q apart.
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

template <typename T>
linear_equalizer blind(const feature_view& view,
                       const constellation& symbols,
                       const window_geometry& window,
                       carrier_track* carrier)
{
    fit<T> fitting(symbols, view.dimension, std::min(view.count, most_windows));
    fitting.load(view);
    double kurtosis;
    if (!fitting.extreme(
            starts_of(window.dimension(), window.stride(), symbols.is_complex()),
            kurtosis))
        are_alike();
    if (!(kurtosis > least_kurtosis)) {
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
    if constexpr (!std::is_same_v<T, double>)
        if (carrier)
            fitting.turn_back(*carrier = track_power(fitting.outputs(view), symbols));
    fitting.turn(symbols.symmetries().size());
    if (!fitting.follow_decisions())
        are_alike();
    return fitting.made();
}

template <typename T>
linear_equalizer trained(const feature_view& view,
                         const constellation& symbols,
                         const std::uint8_t* labels)
{
    fit<T> fitting(symbols, view.dimension, std::min(view.count, most_windows));
    fitting.load(view);
    if (!fitting.know(labels))
        are_alike();
    return fitting.made();
}

} // namespace

linear_equalizer blind_equalizer(const feature_view& view,
                                 const constellation& symbols,
                                 const window_geometry& window,
                                 carrier_track* carrier)
{
    return symbols.is_complex()
               ? blind<std::complex<double>>(view, symbols, window, carrier)
               : blind<double>(view, symbols, window, carrier);
}

linear_equalizer trained_equalizer(const feature_view& view,
                                   const constellation& symbols,
                                   const std::uint8_t* labels)
{
    return symbols.is_complex() ? trained<std::complex<double>>(view, symbols, labels)
                                : trained<double>(view, symbols, labels);
}

} // namespace gr::adann::core
