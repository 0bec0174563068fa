/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/mimo_filter.h"

#include "core/common/checks.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

using simd::lanes;

namespace {

constexpr std::size_t room = 4096; // symbols until the buffers are moved back
const std::vector<std::size_t> memories{ 128, 256, 512, 2048, 8192, 65536 };

std::size_t whole(std::size_t samples, std::size_t sps)
{
    return (samples + sps - 1) / sps;
}

std::size_t odd_taps(unsigned length, std::size_t sps)
{
    return 2 * (length * sps / 2) + 1;
}

const expected_waveform& waveform_of(const model& behind)
{
    if (!behind.complex)
        refuse("model", "for real samples", "one for complex samples");
    if (!behind.waveform)
        refuse("model", "without an expected waveform", "one that has it");
    return *behind.waveform;
}

// A blind start takes all channels together as one of so many samples a symbol.
const mimo_filter_settings& checked(const mimo_filter_settings& settings,
                                    const model& behind)
{
    settings.check();
    check_range("samples per symbol of all channels together",
                settings.channels * behind.sps,
                std::size_t{ 1 },
                std::size_t{ window_geometry::most_sps });
    if (settings.outputs > 1)
        check_range("half window of a model for two outputs or more",
                    std::size_t{ behind.half_window },
                    std::size_t{ 0 },
                    std::size_t{ expected_waveform::most_reach });
    return settings;
}

} // namespace

void mimo_filter_settings::check() const
{
    check_range<std::size_t>("channels", channels, 1, 8);
    check_range<std::size_t>("outputs", outputs, 1, channels);
    check_range("length", length, 1u, 64u);
}

mimo_filter::mimo_filter(const model& behind, const mimo_filter_settings& settings)
    : d_waveform(waveform_of(behind)),
      d_symbols(behind.symbols),
      d_window(behind.window),
      d_half_window(behind.half_window),
      d_chance(2 * d_symbols.half_distance() * d_symbols.half_distance() / 3),
      d_power(d_symbols),
      d_taps(odd_taps(checked(settings, behind).length, behind.sps)),
      d_reach(d_taps / 2),
      d_delay(whole(d_reach, behind.sps)),
      d_past(start_symbols + d_delay + 2 * (d_half_window + d_waveform.reach()) +
             whole(d_taps, behind.sps) + step),
      d_capacity(d_past + room),
      d_in(settings.channels,
           planes(sample(d_capacity + step) + d_taps + 2 * lanes + 16, true)),
      d_filled(d_past),
      d_first(d_past),
      d_net(behind.net),
      d_prepared(d_net, d_window.stride()),
      d_decider(d_net),
      d_filter(d_taps, true, simd::active()),
      d_sums(d_taps, true, simd::active(), settings.channels),
      d_output(sample(step) + lanes, true),
      d_wanted(sample(block), true),
      d_turned(2 * (sample(step) + d_window.dimension())),
      d_windows(settings.channels, d_in.front()),
      d_expected(2 * sample(block)),
      d_told(phase_search(d_symbols).angles().size())
{
    const output each{ tap_bank(d_taps,
                                odd_taps((settings.length + 1) / 2, behind.sps),
                                true,
                                block,
                                memories,
                                1,
                                simd::active(),
                                settings.channels),
                       carrier(d_in[0].re.size(), behind.sps),
                       aligned_floats(2 * d_in[0].re.size()),
                       phase_search(d_symbols),
                       { d_told.size(), std::vector<std::uint8_t>(d_capacity + step) },
                       std::vector<std::uint8_t>(d_capacity + step) };
    d_outputs.assign(settings.outputs, each);
    for (std::size_t o = 0; o < outputs(); ++o) { // channel o
        aligned_floats nothing(d_sums.vector_floats());
        nothing[o * d_taps + d_reach] = 1;
        d_outputs[o].bank.reset(nothing);
    }
}

void mimo_filter::run(const float* const* samples,
                      std::size_t steps,
                      float* const* filtered)
{
    const std::size_t floats = 2 * sample(step);
    for (std::size_t s = 0; s < steps; ++s) {
        load(samples, s * floats);
        for (std::size_t o = 0; o < outputs(); ++o) {
            output& each = d_outputs[o];
            filter(each);
            decide(each);
        }
        measure_phases();
        for (std::size_t o = 0; o < outputs(); ++o)
            put_out(d_outputs[o], filtered[o] + s * floats);
        if ((d_steps + 1) % (block / step) == 0)
            for (auto& each : d_outputs)
                update(each);
        if (++d_steps % (watched_every / step) == 0)
            watch();
    }
}

void mimo_filter::load(const float* const* samples, std::size_t offset)
{
    if (d_filled + step > d_capacity)
        make_room();
    const std::size_t first = sample(d_filled), n = sample(step);
    for (std::size_t c = 0; c < channels(); ++c)
        for (std::size_t i = 0; i < n; ++i) {
            const float* from = samples[c] + offset + 2 * i;
            const bool good = all_usable(from, 2);
            d_in[c].re[first + i] = good ? from[0] : 0.0f;
            d_in[c].im[first + i] = good ? from[1] : 0.0f;
            if (!good)
                d_unusable = std::max(d_unusable, first + i + 1);
        }
    d_filled += step;
}

void mimo_filter::filter(output& each)
{
    const std::size_t first = sample(ready() - step), n = sample(step);
    each.turn.prepare(first, first + n);
    for (std::size_t c = 0; c < channels(); ++c)
        d_filter.run(each.bank.taps() + c * d_taps,
                     d_sums.pitch(),
                     d_in[c] + static_cast<std::ptrdiff_t>(first - d_reach),
                     n,
                     d_output.re.data(),
                     d_output.im.data(),
                     c > 0);
    each.turn.rotate_back(
        d_output.re.data(), d_output.im.data(), first, n, &each.filtered[2 * first]);
}

void mimo_filter::decide(output& each)
{
    const std::size_t symbol = decided() - step;
    const std::size_t from = sample(symbol) - d_window.samples_before();
    const float ahead = 1 + static_cast<float>(d_waveform.reach()) / step;
    const float expected = each.search.expected(ahead);
    const std::complex<float> was =
        each.turn.rotation(sample(symbol + step / 2) - d_window.sps() / 2);
    for (std::size_t a = 0; a < each.labelled.size(); ++a) {
        rotate(&each.filtered[2 * from],
               was * std::polar(1.0f, -expected - each.search.angles()[a]),
               d_turned.size() / 2,
               d_turned.data());
        d_decider.decide(
            d_prepared,
            { d_turned.data(), d_window.stride(), d_window.dimension(), step },
            &each.labelled[a][symbol]);
    }
}

// Whether an output can learn from symbols, and the samples of their windows.
bool mimo_filter::usable(const output& each, std::size_t first) const
{
    return each.starts > 0 && first >= each.known + d_waveform.reach() &&
           d_unusable + d_reach + d_window.sps() <= sample(first);
}

// What the step that is measured next tells of the phase.
void mimo_filter::search(output& each)
{
    const std::size_t symbol = latest(step);
    const std::size_t first = sample(symbol) - d_window.sps() / 2;
    const float* const samples = &each.filtered[2 * first];
    const double power = power_of(samples, sample(step));
    const bool is_heard =
        usable(each, symbol) && phase_search::is_heard(power, sample(step));
    each.heard = is_heard ? each.heard + 1 : 0;
    for (std::size_t a = 0; a < each.labelled.size(); ++a) {
        phase_search::told told;
        if (is_heard) {
            d_waveform.expect(&each.labelled[a][symbol], step, d_expected.data());
            told = { each.turn.compare(d_expected.data(), samples, first),
                     power + power_of(d_expected.data(), sample(step)) };
        }
        each.search.take(a, told);
    }
}

// The labels of the angle that all outputs with the carrier believe.
void mimo_filter::believe(output& each)
{
    std::fill(d_told.begin(), d_told.end(), phase_search::told{});
    std::size_t symbols = 0;
    for (const auto& beside : d_outputs)
        if (&beside == &each || (d_one_carrier && beside.found)) {
            symbols += step;
            for (std::size_t a = 0; a < d_told.size(); ++a)
                d_told[a].add(beside.search.together(a));
        }
    const auto& labels = each.labelled[each.search.believe(d_told, symbols)];
    std::copy(labels.begin() + latest(step),
              labels.begin() + decided(),
              each.labels.begin() + latest(step));
}

void mimo_filter::measure_phases()
{
    const std::size_t symbol = latest(step);
    const std::size_t first = sample(symbol) - d_window.sps() / 2;
    std::complex<double> all = 0;
    const bool any_found = std::any_of(
        d_outputs.begin(), d_outputs.end(), [](const auto& each) { return each.found; });
    for (auto& each : d_outputs)
        search(each);
    for (auto& each : d_outputs) {
        believe(each);
        std::complex<double> own = 0, left = 0; // which is skipped
        if (each.heard > 0) {
            const float* const samples = &each.filtered[2 * first];
            d_waveform.expect(&each.labels[symbol], step, d_expected.data());
            own = each.turn.compare(d_expected.data(), samples, first);
            left = remaining(d_expected.data(), samples, sample(step));
            each.remains += power_of(samples, sample(step)) +
                            power_of(d_expected.data(), sample(step)) -
                            2 * std::abs(left);
            each.measured += sample(step);
        }
        each.left = { each.left[1], each.left[2], left };
        if (!d_one_carrier)
            each.turn.measure(own, first);
        if (each.found || !any_found)
            all += own;
    }
    for (auto& each : d_outputs)
        if (d_one_carrier)
            each.turn.measure(all, first);
}

// The step before the latest one that was measured.
void mimo_filter::put_out(const output& each, float* to) const
{
    std::complex<double> left = 0;
    for (const auto& beside : d_outputs)
        if (&beside == &each || (d_one_carrier && beside.found))
            for (const auto& sum : beside.left)
                left += sum;
    const bool known = std::isfinite(std::abs(left)) && std::abs(left) > 0;
    const std::complex<float> back(known ? std::conj(left) / std::abs(left) : 1.0);
    const float* const from = &each.filtered[2 * sample(latest(2 * step))];
    rotate(from, back, sample(step), to);
}

void mimo_filter::update(output& each)
{
    const std::size_t symbol = latest(block);
    if (!usable(each, symbol) || each.heard < block / step)
        return;
    const std::size_t first = sample(symbol) - d_window.sps() / 2;
    d_waveform.expect(&each.labels[symbol], block, d_expected.data());
    d_wanted.assign(d_expected.data(), sample(block));
    each.turn.rotate(d_wanted, first, sample(block));
    for (std::size_t c = 0; c < channels(); ++c)
        d_windows[c] = d_in[c] + static_cast<std::ptrdiff_t>(first - d_reach);
    d_sums.set(d_windows.data(), d_wanted, sample(block));
    each.bank.learn(d_sums);
}

mimo_output_status mimo_filter::status(std::size_t number) const
{
    const output& each = d_outputs[number];
    return { each.found,        each.bank.memory(),    each.bank.residual(),
             each.turn.phase(), each.turn.frequency(), each.starts };
}

signal_planes mimo_filter::in_use(std::size_t output, std::size_t channel) const
{
    const float* taps = d_outputs[output].bank.taps() + channel * d_taps;
    return { taps, taps + d_sums.pitch() };
}

// What the buffers still need goes to their start.
void mimo_filter::make_room()
{
    const std::size_t symbols = d_filled - d_past, from = sample(symbols);
    const auto move_back = [](auto& buffer, std::size_t n) {
        std::copy(buffer.begin() + n, buffer.end(), buffer.begin());
    };
    for (auto& channel : d_in) {
        move_back(channel.re, from);
        move_back(channel.im, from);
    }
    for (auto& each : d_outputs) {
        move_back(each.filtered, 2 * from);
        move_back(each.labels, symbols);
        for (auto& labels : each.labelled)
            move_back(labels, symbols);
        each.turn.move_back(from);
        each.known -= std::min(each.known, symbols);
    }
    d_filled -= symbols;
    d_first -= std::min(d_first, symbols);
    d_unusable -= std::min(d_unusable, from);
}

} // namespace gr::adann::core
