/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/blind_separation.h"

#include "core/signal/fit_waveform.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace gr::adann::core {

namespace {

//! What a linear equalizer decides.
std::vector<std::uint8_t> decisions(const linear_equalizer& equalizer,
                                    const feature_view& windows,
                                    const constellation& symbols)
{
    double power = 0;
    for (const auto& point : symbols.points())
        power += std::norm(point) / static_cast<double>(symbols.size());
    std::vector<std::uint8_t> labels(windows.count);
    for (std::size_t i = 0; i < windows.count; ++i) {
        double y[2] = {};
        for (std::size_t part = 0; part < 2; ++part)
            for (std::size_t k = 0; k < windows.dimension; ++k)
                y[part] += equalizer.taps[part * windows.dimension + k] * windows[i][k];
        double least = -1;
        for (std::size_t l = 0; l < symbols.size(); ++l) {
            const auto& point = symbols.points()[l];
            const double re = y[0] * std::sqrt(power) - point.real();
            const double im = y[1] * std::sqrt(power) - point.imag();
            const double distance = re * re + im * im;
            if (least < 0 || distance < least) {
                least = distance;
                labels[i] = static_cast<std::uint8_t>(l);
            }
        }
    }
    return labels;
}

} // namespace

void separate_blindly(const mixed_signal& signal,
                      const constellation& symbols,
                      unsigned half_window,
                      std::vector<std::vector<std::uint8_t>>& labels)
{
    const auto samples = static_cast<unsigned>(signal.sps * signal.channels);
    const window_geometry window(samples, half_window, true);
    std::vector<float> left(signal.samples,
                            signal.samples + signal.symbols * signal.stride());
    const feature_view windows{ left.data(),
                                signal.stride(),
                                window.dimension(),
                                signal.symbols - 2 * std::size_t{ half_window } };
    float* const own = &left[half_window * signal.stride()];
    const auto take_out = [&](const std::vector<std::uint8_t>& sent) {
        const expected_waveform waveform = fit_waveform(
            symbols, samples, true, own, sent.data(), sent.size(), half_window);
        const std::size_t reach = waveform.reach(), n = sent.size() - 2 * reach;
        std::vector<float> expected(n * signal.stride());
        waveform.expect(&sent[reach], n, expected.data());
        float* const first = own + reach * signal.stride();
        for (std::size_t i = 0; i < expected.size(); ++i)
            first[i] -= expected[i];
        // At the ends it would still be there: the strongest samples of what is left.
        std::fill(left.data(), first, 0.0f);
        std::fill(first + expected.size(), left.data() + left.size(), 0.0f);
    };
    std::size_t sought = 0;
    for (const auto& known : labels)
        if (known.empty())
            ++sought;
        else
            take_out(known);
    for (auto& each : labels)
        if (each.empty()) {
            each = decisions(blind_equalizer(windows, symbols, window), windows, symbols);
            if (--sought)
                take_out(each);
        }
}

} // namespace gr::adann::core
