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

// The first half of symbols, and the second one.
struct halves {
    phase_search::correlation first, second;

    std::complex<double> sum() const { return first.sum + second.sum; }
    // Σ |y - e^(jφ) w|² at the best phase φ
    double distance() const { return first.power + second.power - 2 * std::abs(sum()); }
    /* Whether the phase changes between them by more than three standard deviations of the noise, one
     * independent sample of which comes with each symbol. */
    bool rotates() const
    {
        constexpr double n = judge::symbols / 2;
        const double change = std::arg(second.sum * std::conj(first.sum));
        return change * change > 9 * distance() / std::abs(sum()) / n;
    }
};

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
        return { nullptr, 0, {}, false };
    stream.filter.run(
        taps, history.received(first - stream.filter.reach()), samples, d_filtered);
    if (stream.carrier)
        stream.carrier->settled().rotate(history, d_filtered, first, samples, -1);

    const std::size_t owned = history.owned(history.latest(judge::symbols));
    const bool is_complex = history.is_complex();
    const auto decide = [&](std::size_t instant, float angle) {
        turn(instant, samples - latest, angle);
        decides(window.view(d_windows.data(), size()), d_labels.data());
        const std::size_t n = history.sample(judge::symbols / 2);
        const std::size_t floats = n * history.floats_per_sample();
        const float* const y = &d_windows[(owned - history.window_begin(symbol)) *
                                          history.floats_per_sample()];
        const float* const w =
            stream.target.expect(&d_labels[stream.target.reach()], judge::symbols);
        return halves{ phase_search::correlation::of(y, w, floats, is_complex),
                       phase_search::correlation::of(
                           y + floats, w + floats, floats, is_complex) };
    };
    double least = std::numeric_limits<double>::infinity();
    std::size_t earlier = 0;
    bool rotates = false;
    for (std::size_t instant = 0; instant <= latest; ++instant)
        for (const float angle : d_phases.angles()) {
            halves found = decide(instant, angle);
            if (is_complex)
                found =
                    decide(instant, angle + static_cast<float>(std::arg(found.sum())));
            if (found.distance() < least) {
                least = found.distance();
                earlier = latest - instant;
                rotates = found.rotates();
                d_best = d_labels;
            }
        }
    return { d_best.data(), earlier, received(stream, owned - earlier), rotates };
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
    stream.carrier->settled().rotate(stream.history, d_received, first, n, -1);
    return d_received;
}

// n filtered samples from this one on, rotated back by so many radians.
void timing_search::turn(std::size_t from, std::size_t n, float angle)
{
    (d_filtered + static_cast<std::ptrdiff_t>(from)).interleave(n, d_windows.data());
    if (d_filtered.im.empty())
        return;
    const float c = std::cos(angle), s = -std::sin(angle);
    for (std::size_t i = 0; i < 2 * n; i += 2)
        rotate(d_windows[i], d_windows[i + 1], c, s);
}

} // namespace gr::adann::core
