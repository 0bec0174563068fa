/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/timing_search.h"

#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace gr::adann::core {

namespace {

std::size_t symbols_of(const tracked_stream& stream)
{
    return judge::symbols + 2 * stream.target.reach();
}

// Of the windows, at the earliest instant and at the latest one.
std::size_t samples_of(const tracked_stream& stream)
{
    const window_geometry& window = stream.history.window();
    return stream.history.sample(symbols_of(stream)) + window.samples() + window.sps() +
           simd::lanes;
}

// Σ |y - e^(jφ) w|² of n samples at the best phase φ; of float samples φ is 0.
struct distance {
    double squared;
    float phase;
};
distance between(const float* y, const float* w, std::size_t n, bool is_complex)
{
    const std::size_t floats = is_complex ? 2 * n : n;
    double energy = 0;
    std::complex<double> sum = 0; // y times the conjugate of w
    for (std::size_t i = 0; i < floats; ++i) {
        energy += y[i] * y[i] + w[i] * w[i];
        sum += y[i] * w[i];
    }
    for (std::size_t i = 0; is_complex && i < floats; i += 2)
        sum += std::complex<double>(0, y[i + 1] * w[i] - y[i] * w[i + 1]);
    if (!is_complex)
        return { energy - 2 * sum.real(), 0 };
    return { energy - 2 * std::abs(sum), static_cast<float>(std::arg(sum)) };
}

} // namespace

timing_search::timing_search(const tracked_stream& stream, const constellation& alphabet)
    : d_phases(alphabet),
      d_received(stream.history.sample(judge::symbols), stream.history.is_complex()),
      d_filtered(samples_of(stream), stream.history.is_complex()),
      d_windows(samples_of(stream) * stream.history.floats_per_sample()),
      d_labels(symbols_of(stream)),
      d_best(d_labels.size())
{
}

timing_search::decisions timing_search::find(tracked_stream& stream,
                                             const float* taps,
                                             const network_decider& decides)
{
    const sample_history& history = stream.history;
    const window_geometry& window = history.window();
    const std::size_t latest = window.sps() - 1; // instant, of samples after the earliest
    const std::size_t symbol = history.next() - size();
    const std::size_t first = history.window_begin(symbol) - latest;
    const std::size_t samples = history.window_end(history.next() - 1) - first;
    if (!history.is_usable(first - stream.filter.reach()))
        return { nullptr, 0, {} };
    stream.filter.run(
        taps, history.received(first - stream.filter.reach()), samples, d_filtered);
    if (stream.carrier)
        stream.carrier->turn_settled(history, d_filtered, first, samples, -1);

    const std::size_t owned = history.owned(history.latest(judge::symbols));
    const auto decide = [&](std::size_t instant, float angle) {
        turn(instant, samples - latest, angle);
        decides({ d_windows.data(), window.stride(), window.dimension(), size() },
                d_labels.data());
        return between(
            &d_windows[(owned - history.window_begin(symbol)) *
                       history.floats_per_sample()],
            stream.target.expect(&d_labels[stream.target.reach()], judge::symbols),
            history.sample(judge::symbols),
            history.is_complex());
    };
    double least = std::numeric_limits<double>::infinity();
    std::size_t earlier = 0;
    for (std::size_t instant = 0; instant <= latest; ++instant)
        for (const float angle : d_phases.angles()) {
            const distance coarse = decide(instant, angle);
            const distance fine =
                history.is_complex() ? decide(instant, angle + coarse.phase) : coarse;
            if (fine.squared < least) {
                least = fine.squared;
                earlier = latest - instant;
                d_best = d_labels;
            }
        }
    return { d_best.data(), earlier, received(stream, owned - earlier) };
}

// The samples of judge::symbols from this one on, without the carrier.
signal_planes timing_search::received(const tracked_stream& stream, std::size_t first)
{
    const std::size_t n = stream.history.sample(judge::symbols);
    const signal_planes from = stream.history.received(first);
    if (!stream.carrier)
        return from;
    std::copy_n(from.re, n, d_received.re.begin());
    std::copy_n(from.im, n, d_received.im.begin());
    stream.carrier->turn_settled(stream.history, d_received, first, n, -1);
    return d_received;
}

// n filtered samples from this one on, rotated back by so many radians.
void timing_search::turn(std::size_t from, std::size_t n, float angle)
{
    if (d_filtered.im.empty()) {
        std::copy_n(d_filtered.re.begin() + static_cast<std::ptrdiff_t>(from),
                    n,
                    d_windows.begin());
        return;
    }
    const float c = std::cos(angle), s = -std::sin(angle);
    for (std::size_t i = 0; i < n; ++i) {
        d_windows[2 * i] = d_filtered.re[from + i];
        d_windows[2 * i + 1] = d_filtered.im[from + i];
        rotate(d_windows[2 * i], d_windows[2 * i + 1], c, s);
    }
}

} // namespace gr::adann::core
