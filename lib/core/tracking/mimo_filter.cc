/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/mimo_filter.h"

#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

mimo_filter::mimo_filter(const model& behind, const mimo_filter_settings& settings)
    : d_streams(behind, settings),
      d_recovery(behind, d_streams),
      d_net(behind.net),
      d_prepared(d_net, behind.window.stride()),
      d_decider(d_net),
      d_output(d_streams.sample(step) + simd::lanes, true),
      d_wanted(d_streams.sample(block), true),
      d_windows(settings.channels, d_streams.in.front()),
      d_expected(2 * d_streams.sample(block)),
      d_correlations(settings.outputs,
                     { std::vector<phase_search::correlation>(
                         phase_search(behind.symbols).angles().size()) })
{
}

void mimo_filter::run(const float* const* samples,
                      std::size_t steps,
                      float* const* filtered)
{
    const std::size_t floats = 2 * d_streams.sample(step);
    for (std::size_t s = 0; s < steps; ++s) {
        d_streams.load(samples, s * floats);
        for (auto& each : d_streams.outputs) {
            filter(each);
            decide(each);
        }
        measure_phases();
        for (std::size_t o = 0; o < outputs(); ++o)
            put_out(d_streams.outputs[o], filtered[o] + s * floats);
        if (d_streams.steps() % (block / step) == 0)
            for (auto& each : d_streams.outputs)
                update(each);
        d_recovery.supervise(d_streams, { d_decider, d_prepared });
    }
}

void mimo_filter::filter(mimo_output& each)
{
    const std::size_t first = d_streams.sample(d_streams.ready() - step),
                      n = d_streams.sample(step);
    each.turn.prepare(first, first + n);
    d_streams.run(each.bank.taps(), first - d_streams.reach(), n, d_output);
    each.turn.rotate_back(
        d_output.re.data(), d_output.im.data(), first, n, &each.filtered[2 * first]);
}

void mimo_filter::decide(mimo_output& each)
{
    const std::size_t symbol = d_streams.decided() - step;
    const std::size_t from = d_streams.sample(symbol) - d_streams.window.samples_before();
    each.phases.decide(&each.filtered[2 * from],
                       each.turn.rotation(d_streams.owned(symbol + step / 2)),
                       { d_decider, d_prepared },
                       symbol);
}

// Adds the step that is measured next to the phase search.
void mimo_filter::search(mimo_output& each)
{
    const std::size_t symbol = d_streams.latest(step);
    const std::size_t first = d_streams.owned(symbol);
    const float* const samples = &each.filtered[2 * first];
    const double power = power_of(samples, d_streams.sample(step));
    const bool has_signal = d_streams.is_usable(each, symbol) &&
                            phase_search::has_signal(power, d_streams.sample(step));
    each.steps_with_signal = has_signal ? each.steps_with_signal + 1 : 0;
    const auto expect = [&](const std::uint8_t* labels, std::size_t n) {
        d_streams.waveform.expect(labels, n, d_expected.data());
        return d_expected.data();
    };
    each.phases.take(has_signal, expect, each.turn, samples, power, first, symbol);
}

void mimo_filter::add_correlations(const mimo_output& each,
                                   shared_correlations& sums) const
{
    std::fill(sums.at.begin(), sums.at.end(), phase_search::correlation{});
    sums.symbols = 0;
    for (const auto& other : d_streams.outputs)
        if (&other == &each || (d_streams.one_carrier && other.found)) {
            sums.symbols += step;
            for (std::size_t a = 0; a < sums.at.size(); ++a)
                sums.at[a].add(other.phases.search().accumulated(a));
        }
}

// Selects the angle, for all outputs that share the carrier, and takes its labels.
void mimo_filter::select_phase(mimo_output& each, const shared_correlations& sums)
{
    const std::size_t selected = each.phases.search().select(sums.at, sums.symbols);
    std::copy_n(each.phases.labels(selected, d_streams.latest(step)),
                d_streams.decided() - d_streams.latest(step),
                each.labels.begin() +
                    static_cast<std::ptrdiff_t>(d_streams.latest(step)));
}

void mimo_filter::measure_phases()
{
    const std::size_t symbol = d_streams.latest(step);
    const std::size_t first = d_streams.owned(symbol);
    std::complex<double> all = 0;
    const bool any_found = std::any_of(d_streams.outputs.begin(),
                                       d_streams.outputs.end(),
                                       [](const auto& each) { return each.found; });
    for (auto& each : d_streams.outputs)
        search(each);
    for (std::size_t o = 0; o < outputs(); ++o) // of all, before one selects an angle
        add_correlations(d_streams.outputs[o], d_correlations[o]);
    for (std::size_t o = 0; o < outputs(); ++o) {
        mimo_output& each = d_streams.outputs[o];
        select_phase(each, d_correlations[o]);
        std::complex<double> own = 0, correlation = 0; // carrier::measure() skips zero
        if (each.steps_with_signal > 0) {
            const float* const samples = &each.filtered[2 * first];
            d_streams.waveform.expect(&each.labels[symbol], step, d_expected.data());
            own = each.turn.compare(d_expected.data(), samples, first);
            correlation = remaining(d_expected.data(), samples, d_streams.sample(step));
            each.latest_residual = power_of(samples, d_streams.sample(step)) +
                                   power_of(d_expected.data(), d_streams.sample(step)) -
                                   2 * std::abs(correlation);
            each.residual_sum += each.latest_residual;
            each.measured += d_streams.sample(step);
        }
        each.correlations = { each.correlations[1], each.correlations[2], correlation };
        if (!d_streams.one_carrier)
            each.turn.measure(own, first);
        if (each.found || !any_found)
            all += own;
    }
    for (auto& each : d_streams.outputs)
        if (d_streams.one_carrier)
            each.turn.measure(all, first);
}

// Puts out the step before the latest measured one: its error is averaged over its neighbours, too.
void mimo_filter::put_out(const mimo_output& each, float* to) const
{
    std::complex<double> correlation = 0;
    for (const auto& other : d_streams.outputs)
        if (&other == &each || (d_streams.one_carrier && other.found))
            for (const auto& sum : other.correlations)
                correlation += sum;
    const bool known = std::isfinite(std::abs(correlation)) && std::abs(correlation) > 0;
    const std::complex<float> back(known ? std::conj(correlation) / std::abs(correlation)
                                         : 1.0);
    const float* const from =
        &each.filtered[2 * d_streams.sample(d_streams.latest(2 * step))];
    rotate(from, back, d_streams.sample(step), to);
}

void mimo_filter::update(mimo_output& each)
{
    const std::size_t symbol = d_streams.latest(block);
    if (!d_streams.is_usable(each, symbol) || each.steps_with_signal < block / step)
        return;
    const std::size_t first = d_streams.owned(symbol);
    d_streams.waveform.expect(&each.labels[symbol], block, d_expected.data());
    d_wanted.assign(d_expected.data(), d_streams.sample(block));
    each.turn.rotate(d_wanted, first, d_streams.sample(block));
    for (std::size_t c = 0; c < channels(); ++c)
        d_windows[c] =
            d_streams.in[c] + static_cast<std::ptrdiff_t>(first - d_streams.reach());
    d_streams.sums.set(d_windows.data(), d_wanted, d_streams.sample(block));
    each.bank.learn(d_streams.sums);
}

mimo_output_status mimo_filter::status(std::size_t number) const
{
    const mimo_output& each = d_streams.outputs[number];
    return { each.found,        each.bank.memory(),    each.bank.residual(),
             each.turn.phase(), each.turn.frequency(), each.starts };
}

signal_planes mimo_filter::in_use(std::size_t output, std::size_t channel) const
{
    const float* taps = d_streams.outputs[output].bank.taps() + channel * d_streams.taps;
    return { taps, taps + d_streams.sums.pitch() };
}

void mimo_filter::start(const float* const* samples,
                        std::size_t symbols,
                        const std::uint8_t* const* labels)
{
    d_recovery.start(d_streams, samples, symbols, labels);
}

} // namespace gr::adann::core
