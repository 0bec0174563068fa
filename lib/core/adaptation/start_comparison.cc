/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/start_comparison.h"

#include "core/signal/fit_waveform.h"
#include "core/tracking/belief.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace gr::adann::core {

namespace {

constexpr std::size_t together = 16; // symbols of a stretch whose residuals are compared
constexpr double chance = 1e-6;      // probability that worse labels are accepted

// Mean square residual of labels, per float, in stretches of the last quarter of the symbols.
std::vector<double> residuals_of(const start_symbols& symbols,
                                 const model& signal,
                                 const std::vector<std::uint8_t>& labels)
{
    const std::size_t count = symbols.count();
    carrier_track carrier;
    if (signal.complex && !signal.symbols.is_offset()) {
        const auto points = signal.symbols.unit_points();
        std::vector<std::complex<float>> sent(count);
        for (std::size_t i = 0; i < count; ++i)
            sent[i] = points[labels[i]];
        carrier = track_known(symbols.view(), sent);
    }
    auto samples = symbols.own_samples();
    for (std::size_t i = 0; !carrier.stands() && i < samples.size() / 2; ++i) {
        const std::complex<double> rotated =
            std::complex<double>(samples[2 * i], samples[2 * i + 1]) *
            std::polar(1.0, -carrier.at(i, signal.sps));
        samples[2 * i] = static_cast<float>(rotated.real());
        samples[2 * i + 1] = static_cast<float>(rotated.imag());
    }
    const std::size_t learnt = count - count / 4, stride = signal.window.stride();
    const auto waveform = fit_waveform(signal.symbols,
                                       signal.sps,
                                       signal.complex,
                                       samples.data(),
                                       labels.data(),
                                       learnt);
    std::vector<double> residuals;
    for (std::size_t at = learnt; at + together + waveform.reach() <= count;
         at += together)
        residuals.push_back(
            waveform.residual(&labels[at], &samples[at * stride], together));
    return residuals;
}

} // namespace

std::optional<double> residual_ratio(const start_symbols& symbols,
                                     const model& signal,
                                     const std::vector<std::uint8_t>& labels)
{
    const auto before = residuals_of(symbols, signal, symbols.in_use());
    const auto now = residuals_of(symbols, signal, labels);
    const std::size_t n = std::min(before.size(), now.size());
    double won = 0, of_before = 0, of_now = 0;
    for (std::size_t i = 0; i < n; ++i) {
        won += now[i] < before[i];
        of_before += before[i] / static_cast<double>(n);
        of_now += now[i] / static_cast<double>(n);
    }
    const auto all = static_cast<double>(n);
    const double beyond = std::max(0.0, won - all / 2);
    if (!(2 * beyond * beyond > all * std::log(1 / chance)) ||
        !clearly_less(of_now, of_before))
        return {};
    return of_before / of_now;
}

} // namespace gr::adann::core
