/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/resumption.h"

#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace gr::adann::core {

namespace {
// Times the usual residual: that of a block of 64 real symbols scatters by 0.18.
constexpr float as_usual = 1.5f;
constexpr float far_more = 3;    // times the usual residual
constexpr float noise_alone = 2; // times the usual residual
constexpr float far_less = 4;    // of the signal's power: a block of data has more
// Blocks from one of noise alone to one of a signal alone: between them is one with the end of the pause.
constexpr std::size_t lasting = 2;

std::size_t symbols_of(const tracked_stream& stream)
{
    return resumption::block + 2 * stream.target.reach();
}
// Of the blocks up to an update, or of the symbols of a test.
std::size_t samples_of(const tracked_stream& stream)
{
    const sample_history& history = stream.history;
    return history.sample(tracked_stream::most_apart * resumption::block +
                          2 * stream.target.reach()) +
           history.window().samples() + simd::lanes;
}
} // namespace

resumption::resumption(const tracked_stream& stream,
                       const constellation& alphabet,
                       const std::vector<float>& probabilities)
    : d_power(alphabet, probabilities),
      d_phases(alphabet),
      d_taps(stream.filter.identity()),
      d_filtered(samples_of(stream), stream.history.is_complex()),
      d_windows(samples_of(stream) * stream.history.floats_per_sample()),
      d_turned(d_windows.size()),
      d_labels(symbols_of(stream))
{
}

void resumption::remember(const tracked_stream& stream)
{
    if (stream.carrier && !stream.carrier->settled().is_confirmed())
        return;
    d_residual = stream.residual().mean;
    keep_taps(stream);
}

void resumption::follow(const tracked_stream& stream)
{
    d_pause = 0;
    d_has_gap = false;
    if (!is_as_usual(stream.residual().latest))
        return;
    const sample_history& history = stream.history;
    if (stream.target.have_variety(history.symbols().decided(history.latest(block))))
        keep_taps(stream);
    if (!stream.carrier)
        return;
    const auto [phase, frequency] = stream.carrier->current(history);
    // A cycle slip that was corrected is no advance of the phase.
    const bool has_slipped =
        std::exchange(d_slips, stream.carrier->slips()) != stream.carrier->slips();
    d_rotation = frequency == 0 ? phase : 0;
    if (frequency == 0)
        d_carrier.reset();
    else if (has_slipped && d_carrier.has_carrier())
        d_carrier.resume(now(stream), phase, d_carrier.frequency());
    else
        d_carrier.follow(now(stream), phase, frequency);
}

void resumption::keep_taps(const tracked_stream& stream)
{
    std::copy_n(stream.filter.bank().taps(), d_taps.size(), d_taps.begin());
    d_memory = std::max(stream.filter.bank().memory(), block);
}

// Symbols that have passed.
double resumption::now(const tracked_stream& stream)
{
    return static_cast<double>(stream.carrier->settled().passed());
}

feature_view resumption::windows(tracked_stream& stream,
                                 std::size_t symbol,
                                 std::size_t n,
                                 std::size_t position,
                                 aligned_floats& memory)
{
    const sample_history& history = stream.history;
    const window_geometry& window = history.window();
    const std::size_t first = history.window_begin(symbol);
    const std::size_t samples = history.window_end(symbol + n - 1) - first;
    stream.filter.run(d_taps.data(),
                      history.received(first - stream.filter.reach()),
                      samples,
                      d_filtered);
    if (stream.carrier)
        rotate_back(d_filtered.re.data(),
                    d_filtered.im.data(),
                    samples,
                    d_carrier.phase_at(now(stream)) + d_rotation,
                    2 * M_PI * d_carrier.frequency() / static_cast<double>(window.sps()),
                    static_cast<double>(first) -
                        static_cast<double>(history.sample(history.next() - position)));
    d_filtered.interleave(samples, memory.data());
    return window.view(memory.data(), n);
}

resumption::fit
resumption::decide_at(tracked_stream& stream, const network_decider& decides, float angle)
{
    const sample_history& history = stream.history;
    const std::size_t around = stream.target.reach(), n = d_labels.size();
    const std::size_t symbol = history.next() - n, first = history.window_begin(symbol);
    const std::size_t samples = history.window_end(history.next() - 1) - first;
    std::copy_n(
        d_windows.begin(), samples * history.floats_per_sample(), d_turned.begin());
    if (angle != 0)
        for (std::size_t i = 0; i < samples; ++i)
            rotate(d_turned[2 * i], d_turned[2 * i + 1], -static_cast<double>(angle));
    decides(history.window().view(d_turned.data(), n), d_labels.data());
    const float* const y =
        &d_turned[(history.owned(symbol + around) - first) * history.floats_per_sample()];
    const float* const w = stream.target.expect(&d_labels[around], block);
    const std::size_t floats = history.sample(block) * history.floats_per_sample();
    return { phase_search::correlation::of(y, w, floats, stream.carrier.has_value()),
             std::inner_product(y, y + floats, y, 0.0f) };
}

resumption::tried resumption::decide(tracked_stream& stream,
                                     const network_decider& decides)
{
    const sample_history& history = stream.history;
    const std::size_t n = d_labels.size(), symbol = history.next() - n;
    const std::size_t first = history.window_begin(symbol);
    d_explains = false;
    if (!history.is_usable(first - stream.filter.reach()))
        return {};
    windows(stream, symbol, n, 0, d_windows);
    const auto samples = static_cast<float>(history.sample(block));
    fit found = decide_at(stream, decides, d_angle = 0);
    const bool is_noise = !d_is_signal &&
                          found.power < noise_alone * d_residual * samples &&
                          far_less * found.power < stream.target.power() * samples;
    d_pause = is_noise ? lasting : d_pause - std::min<std::size_t>(d_pause, 1);
    if (!is_noise && d_carrier.has_carrier()) {
        for (const float angle : d_phases.angles()) {
            const fit other = decide_at(stream, decides, angle);
            if (other.distance() < found.distance()) {
                found = other;
                d_angle = angle;
            }
        }
        d_angle += static_cast<float>(std::arg(found.with_waveform.sum));
        found = decide_at(stream, decides, d_angle);
    }
    const float left = static_cast<float>(found.with_waveform.power -
                                          2 * found.with_waveform.sum.real()) /
                       samples;
    d_has_gap |= left > far_more * d_residual;
    d_explains = is_as_usual(left) && !d_power.is_unusual(d_labels.data(), n) &&
                 stream.target.have_variety(&d_labels[stream.target.reach()]);
    return { left, d_explains };
}

bool resumption::is_as_usual(float residual) const
{
    return residual < as_usual * d_residual;
}

void resumption::resume(tracked_stream& stream)
{
    carrier_follower::extrapolation from{ d_rotation, 0 };
    if (stream.carrier && d_carrier.has_carrier()) {
        const double phase = d_carrier.phase_at(now(stream)) + d_angle;
        from = { std::remainder(phase, 2 * M_PI),
                 d_carrier.frequency_by(now(stream), phase) };
        d_carrier.resume(now(stream), from.phase, from.frequency);
    }
    stream.resume(d_labels.data(), d_labels.size(), d_taps.data(), d_memory, from);
}

void resumption::scale(const tracked_stream& stream, float by)
{
    const normal_equations& shape = stream.filter.shape();
    for (std::size_t part = 0; part < d_taps.size(); part += shape.pitch())
        for (std::size_t k = 0; k < shape.taps(); ++k) // all but the offset
            d_taps[part + k] /= by;
}

void resumption::reset(const tracked_stream& stream)
{
    d_taps = stream.filter.identity();
    d_memory = 0;
    d_residual = 0;
    d_carrier.reset();
    d_rotation = 0;
    d_is_signal = d_explains = d_has_gap = false;
    d_pause = 0;
}

void resumption::state(archive& members)
{
    members.numbers("settled", d_taps.data(), { d_taps.size() }, -1e6f, 1e6f);
    members("settled_memory", d_memory);
    members("settled_residual", d_residual, 0.0f, 1e12f);
    members("carrier", d_carrier);
    members("rotation", d_rotation);
    members("slips", d_slips);
    members("is_signal", d_is_signal);
    members("explains", d_explains);
    members("has_gap", d_has_gap);
    members("pause", d_pause, std::size_t{ 0 }, lasting);
}

} // namespace gr::adann::core
