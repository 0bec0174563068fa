/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/blind_separation.h"

#include "core/signal/fit_waveform.h"
#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace gr::adann::core {

namespace {

//! Decisions of a linear equalizer for windows that are rotated back by a carrier.
std::vector<std::uint8_t> decisions(const linear_equalizer& equalizer,
                                    const feature_view& windows,
                                    const constellation& symbols,
                                    const carrier_track& carrier)
{
    const double rms = std::sqrt(double{ symbols.power() });
    std::vector<std::uint8_t> labels(windows.count);
    for (std::size_t i = 0; i < windows.count; ++i) {
        double y[2] = { equalizer.constants[0], equalizer.constants[1] };
        for (std::size_t part = 0; part < 2; ++part)
            for (std::size_t k = 0; k < windows.dimension; ++k)
                y[part] += equalizer.taps[part * windows.dimension + k] * windows[i][k];
        if (!carrier.stands()) {
            const double c = std::cos(carrier.phase[i]), s = std::sin(carrier.phase[i]);
            const double re = y[0] * c + y[1] * s;
            y[1] = y[1] * c - y[0] * s;
            y[0] = re;
        }
        double least = -1;
        for (std::size_t l = 0; l < symbols.size(); ++l) {
            const auto& point = symbols.points()[l];
            const double re = y[0] * rms - point.real();
            const double im = y[1] * rms - point.imag();
            const double distance = re * re + im * im;
            if (least < 0 || distance < least) {
                least = distance;
                labels[i] = static_cast<std::uint8_t>(l);
            }
        }
    }
    return labels;
}

// Rotates each symbol's samples, of all channels, by the carrier's phase at them.
void turn_symbols(float* own,
                  const mixed_signal& signal,
                  const carrier_track& carrier,
                  double sign)
{
    for (std::size_t i = 0; i < carrier.phase.size(); ++i)
        for (std::size_t s = 0; s < signal.sps; ++s) {
            const double by = sign * carrier.at(i * signal.sps + s, signal.sps);
            for (std::size_t c = 0; c < signal.channels; ++c) {
                float* const at =
                    own + i * signal.stride() + 2 * (s * signal.channels + c);
                rotate(at[0], at[1], by);
            }
        }
}

} // namespace

void separate_blindly(const mixed_signal& signal,
                      const constellation& symbols,
                      unsigned half_window,
                      std::vector<separated>& transmitters)
{
    const auto samples = static_cast<unsigned>(signal.sps * signal.channels);
    const window_geometry window(samples, half_window, true);
    std::vector<float> residual(signal.samples,
                                signal.samples + signal.symbols * signal.stride());
    const feature_view windows{ residual.data(),
                                signal.stride(),
                                window.dimension(),
                                signal.symbols - 2 * std::size_t{ half_window } };
    float* const own = &residual[half_window * signal.stride()];
    const auto take_out = [&](const separated& one) {
        const auto& sent = one.labels;
        turn_symbols(own, signal, one.carrier, -1);
        const expected_waveform waveform = fit_waveform(
            symbols, samples, true, own, sent.data(), sent.size(), half_window);
        const std::size_t reach = waveform.reach(), n = sent.size() - 2 * reach;
        std::vector<float> expected(n * signal.stride());
        waveform.expect(&sent[reach], n, expected.data());
        float* const first = own + reach * signal.stride();
        for (std::size_t i = 0; i < expected.size(); ++i)
            first[i] -= expected[i];
        turn_symbols(own, signal, one.carrier, 1);
        // At the ends the transmitter is not subtracted, and would dominate the residual.
        std::fill(residual.data(), first, 0.0f);
        std::fill(first + expected.size(), residual.data() + residual.size(), 0.0f);
    };
    std::size_t sought = 0;
    for (auto& known : transmitters)
        if (known.labels.empty()) {
            ++sought;
        } else {
            known.carrier = track_known(windows, points_of(known.labels, symbols));
            take_out(known);
        }
    for (auto& each : transmitters)
        if (each.labels.empty()) {
            const auto equalizer =
                blind_equalizer(windows, symbols, window, &each.carrier);
            each.labels = decisions(equalizer, windows, symbols, each.carrier);
            if (--sought)
                take_out(each);
        }
}

std::vector<std::complex<float>> points_of(const std::vector<std::uint8_t>& labels,
                                           const constellation& symbols)
{
    std::vector<std::complex<float>> points(labels.size());
    std::transform(labels.begin(), labels.end(), points.begin(), [&](std::uint8_t label) {
        return symbols.points()[label];
    });
    return points;
}

} // namespace gr::adann::core
