/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/mimo_filter.h"

#include "core/common/checks.h"
#include "core/tracking/belief.h"
#include "core/tracking/displacement.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

using simd::lanes;

namespace {

constexpr std::size_t room = sample_history::room;
constexpr std::size_t most_late = displacement::most_late;
constexpr std::size_t compared = 256; // symbols of two outputs, or of two levels
constexpr float doubtful = 0.5f;      // part of the residual of random decisions
constexpr double much_more = 2;       // times the usual residual
constexpr double usually = 0.125;     // weight of the latest residual in the usual one
constexpr double as_before = 1.25; // what the usual residual grows by with each new start
constexpr std::size_t most_retry_interval = 65536; // symbols

const expected_waveform& complex_waveform_of(const model& behind)
{
    if (!behind.complex)
        refuse("model", "for real samples", "one for complex samples");
    if (behind.symbols.is_offset())
        refuse("model", "of " + behind.symbols.name(), "one whose I and Q come together");
    return waveform_of(behind);
}

// A blind start treats all channels as one with `channels` times the samples per symbol.
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
    : d_waveform(complex_waveform_of(behind)),
      d_symbols(behind.symbols),
      d_window(behind.window),
      d_half_window(behind.half_window),
      d_lost(lost_limit(d_waveform, d_symbols)),
      d_doubtful(lost_limit(d_waveform, d_symbols, doubtful)),
      d_power(d_symbols, d_waveform.probabilities()),
      d_taps(odd_taps(checked(settings, behind).length, behind.sps)),
      d_delay(whole_symbols(reach(), behind.sps)),
      d_past(start_symbols + d_delay + 2 * (d_half_window + d_waveform.reach()) +
             whole_symbols(d_taps, behind.sps) + step),
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
      d_start(behind, d_sums),
      d_output(sample(step) + lanes, true),
      d_wanted(sample(block), true),
      d_windows(settings.channels, d_in.front()),
      d_expected(2 * sample(block)),
      d_correlations(settings.outputs,
                     { std::vector<phase_search::correlation>(
                         phase_search(d_symbols).angles().size()) })
{
    const output each{ tap_bank(d_taps,
                                odd_taps((settings.length + 1) / 2, behind.sps),
                                true,
                                block,
                                usual_memories,
                                1,
                                simd::active(),
                                settings.channels),
                       carrier(d_in[0].re.size(),
                               behind.sps,
                               decided_later(),
                               phase_search::tolerated(d_symbols)),
                       aligned_floats(2 * d_in[0].re.size()),
                       phase_decisions(
                           d_symbols, d_window, d_waveform.reach(), d_capacity + step),
                       std::vector<std::uint8_t>(d_capacity + step) };
    d_outputs.assign(settings.outputs, each);
    for (std::size_t o = 0; o < outputs(); ++o) { // output o starts as channel o
        aligned_floats nothing(d_sums.vector_floats());
        nothing[o * d_taps + reach()] = 1;
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
        if (++d_steps % (compared / step) == 0)
            for (auto& each : d_outputs) {
                each.was_lost |= is_lost(each) || is_silent(each);
                if (each.was_lost || has_unusual_power(each))
                    begin_settled(each);
            }
        if (d_steps % (watched_every / step) == 0)
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

// Filters all channels from a sample on, by taps that are a vector of normal_equations.
void mimo_filter::run(const float* taps, std::size_t from, std::size_t n, planes& to)
{
    const auto in = [&](std::size_t c) {
        return d_in[c] + static_cast<std::ptrdiff_t>(from);
    };
    if (channels() == 1)
        return d_filter.run(taps, d_sums.pitch(), in(0), n, to.re.data(), to.im.data());
    for (std::size_t c = 0; c < channels(); ++c)
        d_filter.run_channel(taps + c * d_taps,
                             d_sums.pitch(),
                             in(c),
                             n,
                             to.re.data(),
                             to.im.data(),
                             c > 0);
}

void mimo_filter::filter(output& each)
{
    const std::size_t first = sample(ready() - step), n = sample(step);
    each.turn.prepare(first, first + n);
    run(each.bank.taps(), first - reach(), n, d_output);
    each.turn.rotate_back(
        d_output.re.data(), d_output.im.data(), first, n, &each.filtered[2 * first]);
}

void mimo_filter::decide(output& each)
{
    const std::size_t symbol = decided() - step;
    const std::size_t from = sample(symbol) - d_window.samples_before();
    each.phases.decide(&each.filtered[2 * from],
                       each.turn.rotation(sample(symbol + step / 2) - d_window.sps() / 2),
                       { d_decider, d_prepared },
                       symbol);
}

// Whether an output can learn from symbols, and the samples of their windows.
bool mimo_filter::usable(const output& each, std::size_t first) const
{
    return each.starts > 0 && first >= each.known + d_waveform.reach() &&
           d_unusable + reach() + d_window.sps() <= sample(first);
}

// Adds the step that is measured next to the phase search.
void mimo_filter::search(output& each)
{
    const std::size_t symbol = latest(step);
    const std::size_t first = sample(symbol) - d_window.sps() / 2;
    const float* const samples = &each.filtered[2 * first];
    const double power = power_of(samples, sample(step));
    const bool has_signal =
        usable(each, symbol) && phase_search::has_signal(power, sample(step));
    each.steps_with_signal = has_signal ? each.steps_with_signal + 1 : 0;
    const auto expect = [&](const std::uint8_t* labels, std::size_t n) {
        d_waveform.expect(labels, n, d_expected.data());
        return d_expected.data();
    };
    each.phases.take(has_signal, expect, each.turn, samples, power, first, symbol);
}

void mimo_filter::add_correlations(const output& each, shared_correlations& sums) const
{
    std::fill(sums.at.begin(), sums.at.end(), phase_search::correlation{});
    sums.symbols = 0;
    for (const auto& other : d_outputs)
        if (&other == &each || (d_one_carrier && other.found)) {
            sums.symbols += step;
            for (std::size_t a = 0; a < sums.at.size(); ++a)
                sums.at[a].add(other.phases.search().accumulated(a));
        }
}

// Selects the angle, for all outputs that share the carrier, and takes its labels.
void mimo_filter::select_phase(output& each, const shared_correlations& sums)
{
    const std::size_t selected = each.phases.search().select(sums.at, sums.symbols);
    std::copy_n(each.phases.labels(selected, latest(step)),
                decided() - latest(step),
                each.labels.begin() + static_cast<std::ptrdiff_t>(latest(step)));
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
    for (std::size_t o = 0; o < outputs(); ++o) // of all, before one selects an angle
        add_correlations(d_outputs[o], d_correlations[o]);
    for (std::size_t o = 0; o < outputs(); ++o) {
        output& each = d_outputs[o];
        select_phase(each, d_correlations[o]);
        std::complex<double> own = 0, correlation = 0; // carrier::measure() skips zero
        if (each.steps_with_signal > 0) {
            const float* const samples = &each.filtered[2 * first];
            d_waveform.expect(&each.labels[symbol], step, d_expected.data());
            own = each.turn.compare(d_expected.data(), samples, first);
            correlation = remaining(d_expected.data(), samples, sample(step));
            each.latest_residual = power_of(samples, sample(step)) +
                                   power_of(d_expected.data(), sample(step)) -
                                   2 * std::abs(correlation);
            each.residual_sum += each.latest_residual;
            each.measured += sample(step);
        }
        each.correlations = { each.correlations[1], each.correlations[2], correlation };
        if (!d_one_carrier)
            each.turn.measure(own, first);
        if (each.found || !any_found)
            all += own;
    }
    for (auto& each : d_outputs)
        if (d_one_carrier)
            each.turn.measure(all, first);
}

// Puts out the step before the latest measured one: its error is averaged over its neighbours, too.
void mimo_filter::put_out(const output& each, float* to) const
{
    std::complex<double> correlation = 0;
    for (const auto& other : d_outputs)
        if (&other == &each || (d_one_carrier && other.found))
            for (const auto& sum : other.correlations)
                correlation += sum;
    const bool known = std::isfinite(std::abs(correlation)) && std::abs(correlation) > 0;
    const std::complex<float> back(known ? std::conj(correlation) / std::abs(correlation)
                                         : 1.0);
    const float* const from = &each.filtered[2 * sample(latest(2 * step))];
    rotate(from, back, sample(step), to);
}

void mimo_filter::update(output& each)
{
    const std::size_t symbol = latest(block);
    if (!usable(each, symbol) || each.steps_with_signal < block / step)
        return;
    const std::size_t first = sample(symbol) - d_window.sps() / 2;
    d_waveform.expect(&each.labels[symbol], block, d_expected.data());
    d_wanted.assign(d_expected.data(), sample(block));
    each.turn.rotate(d_wanted, first, sample(block));
    for (std::size_t c = 0; c < channels(); ++c)
        d_windows[c] = d_in[c] + static_cast<std::ptrdiff_t>(first - reach());
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

// Moves the samples and labels that are still needed to the start of the buffers.
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
        each.phases.move_back(symbols);
        each.turn.move_back(from);
        each.known -= std::min(each.known, symbols);
    }
    d_moved += symbols;
    d_filled -= symbols;
    d_first -= std::min(d_first, symbols);
    d_unusable -= std::min(d_unusable, from);
}

// Starts an output from a stretch x, of which symbol `number` is `symbol` of the buffer.
void mimo_filter::begin(output& each,
                        const output* shares,
                        const std::vector<signal_planes>& x,
                        separated& sent,
                        std::size_t number,
                        std::size_t symbol)
{
    sent.carrier.count_from(number); // the taps are fitted to its phase there
    if (shares) {
        if (sent.carrier.stands())
            sent.carrier.phase.assign(sent.labels.size(), 0.0f);
        const auto there = static_cast<float>(shares->turn.phase_at(sample(symbol)));
        for (auto& phase : sent.carrier.phase)
            phase += there;
    }
    each.settled = d_start.fit(x, sent);
    each.bank.reset(each.settled);
    each.settled_carrier.reset();
    if (shares) {
        each.turn = shares->turn;
    } else {
        each.turn.reset();
        if (sent.carrier.turns()) {
            each.turn.skip(sample(latest(step)) - sps() / 2);
            each.turn.begin(sent.carrier.frequency, 0, sample(symbol));
        }
    }
    begin_search(each, shares);
    each.correlations = {};
    each.known = ready() + d_half_window + 1;
    each.residual_sum = 0;
    each.measured = 0;
    each.found = true;
    each.was_lost = false;
    ++each.starts;
}

// The phase search begins where that of an output with the same carrier is; null: where its own carrier is.
void mimo_filter::begin_search(output& each, const output* shares)
{
    each.phases.search().begin(
        shares
            ? shares->phases.search().line()
            : phase_line{ wrapped(static_cast<float>(
                              each.turn.phase_at(middle_of_latest_step()))),
                          static_cast<float>(2 * M_PI * step) * each.turn.frequency() });
}

void mimo_filter::start(const float* const* samples,
                        std::size_t symbols,
                        const std::uint8_t* const* labels)
{
    // Its first and last symbols do not have all of their own samples.
    const std::size_t least =
        d_sums.unknowns() + 2 * (d_waveform.reach() + d_half_window) + 2;
    check_range<std::size_t>("symbols", symbols, least, 100'000'000);
    for (std::size_t o = 0; labels && o < outputs(); ++o)
        for (std::size_t i = 0; i < symbols; ++i)
            check_range("label",
                        std::size_t{ labels[o][i] },
                        std::size_t{ 0 },
                        d_symbols.size() - 1);
    const std::size_t n = symbols - 2, owned = d_window.sps() - d_window.sps() / 2;
    const std::size_t margin = reach() + d_taps + 2 * simd::lanes + 16;
    std::vector<planes> stretch(channels(), planes(sample(symbols) + 2 * margin, true));
    std::vector<signal_planes> x;
    for (std::size_t c = 0; c < channels(); ++c) {
        for (std::size_t i = 0; i < sample(symbols); ++i) {
            const float* from = samples[c] + 2 * i;
            const bool good = all_usable(from, 2);
            stretch[c].re[margin + i] = good ? from[0] : 0.0f;
            stretch[c].im[margin + i] = good ? from[1] : 0.0f;
        }
        x.push_back(stretch[c] + static_cast<std::ptrdiff_t>(margin + owned));
    }
    std::vector<separated> transmitters(outputs());
    std::size_t unlabelled = 0; // at each end
    if (labels) {
        for (std::size_t o = 0; o < outputs(); ++o) {
            transmitters[o].labels.assign(labels[o] + 1, labels[o] + 1 + n);
            transmitters[o].carrier = d_start.carrier_of(x, transmitters[o].labels);
        }
    } else {
        d_start.find_labels(x, n, transmitters);
        unlabelled = d_half_window;
    }
    for (auto& channel : x)
        channel = channel + static_cast<std::ptrdiff_t>(sample(unlabelled));
    d_one_carrier = d_start.have_one_carrier(transmitters);
    for (std::size_t o = 0; o < outputs(); ++o)
        begin(d_outputs[o],
              d_one_carrier && o > 0 ? &d_outputs[0] : nullptr,
              x,
              transmitters[o],
              0,
              d_filled + 1 + unlabelled);
}

// Taps and carrier are those of an output that is followed.
void mimo_filter::remember(output& each)
{
    std::copy_n(each.bank.taps(), each.settled.size(), each.settled.begin());
    const std::size_t now = middle_of_latest_step();
    if (each.turn.idle())
        each.settled_carrier.reset();
    else
        each.settled_carrier.follow(
            symbol_of(now), each.turn.phase_at(now), each.turn.frequency());
}

bool mimo_filter::is_unusual(const output& each) const
{
    return each.usual > 0 && mean_residual(each) > much_more * each.usual;
}

bool mimo_filter::is_lost(const output& each) const
{
    return mean_residual(each) > (is_unusual(each) ? d_doubtful : d_lost);
}

// Tests which outputs have lost their transmitter or share one; these start again.
void mimo_filter::watch()
{
    bool all_usual = true;
    for (auto& each : d_outputs) {
        const bool unusual = is_unusual(each);
        all_usual = all_usual && !unusual;
        each.was_lost = is_lost(each) || is_silent(each);
        if (each.was_lost)
            each.found = false;
        else if (each.measured && !unusual)
            each.usual +=
                (each.usual > 0 ? usually : 1) * (mean_residual(each) - each.usual);
        if (each.found && each.measured && !unusual && !has_unusual_power(each) &&
            each.latest_residual < d_lost * static_cast<double>(sample(step)))
            remember(each);
    }
    for (std::size_t a = 0; a < outputs(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (are_one(d_outputs[a], d_outputs[b])) {
                const bool first =
                    mean_residual(d_outputs[a]) > mean_residual(d_outputs[b]);
                d_outputs[first ? a : b].found = false;
            }
    for (auto& each : d_outputs) {
        each.residual_sum = 0;
        each.measured = 0;
    }
    if (std::all_of(d_outputs.begin(), d_outputs.end(), [](const auto& each) {
            return each.found;
        })) {
        if (all_usual) {
            d_until_retry =
                start_symbols; // the first try should have none from before the loss
            d_retry_interval = watched_every;
        }
        return;
    }
    d_until_retry -= std::min(d_until_retry, watched_every);
    if (d_until_retry == 0 && ready() >= d_first + start_symbols)
        find();
}

bool mimo_filter::are_one(const output& a, const output& b) const
{
    return a.found && b.found && has_own_labels(a) && has_own_labels(b) &&
           alike(&a.labels[compared_from()], &b.labels[compared_from()]);
}

std::size_t mimo_filter::compared_from() const
{
    return decided() - compared - most_late;
}

// Whether the labels that are compared are decisions by the output's present taps.
bool mimo_filter::has_own_labels(const output& each) const
{
    return each.starts > 0 && compared_from() >= each.known + most_late;
}

// Whether labels are one transmitter's: more are equal than half-way from chance, 1/M, to all.
bool mimo_filter::alike(const std::uint8_t* a, const std::uint8_t* b) const
{
    const std::size_t many = compared * (d_symbols.size() + 1) / (2 * d_symbols.size());
    for (const auto& symmetry : d_symbols.symmetries())
        for (std::size_t late = 0; late <= 2 * most_late; ++late) {
            const std::uint8_t* const other = b + late - most_late;
            if (count_alike(a, other, compared, symmetry) > many)
                return true;
        }
    return false;
}

// Starts the outputs without a transmitter blindly from the latest symbols.
void mimo_filter::find()
{
    const std::size_t first = ready() - start_symbols;
    std::vector<separated> transmitters(outputs());
    for (std::size_t o = 0; o < outputs(); ++o) {
        auto& each = d_outputs[o];
        if (!each.found) {
            each.usual *= as_before; // more noise is the usual by and by
            continue;
        }
        if (each.known > first + d_half_window)
            return; // it has too few labels for its transmitter to be subtracted; try later
        transmitters[o].labels.assign(each.labels.begin() + first + d_half_window,
                                      each.labels.begin() + decided());
    }
    std::vector<signal_planes> x;
    const auto own = static_cast<std::ptrdiff_t>(sample(first) - d_window.sps() / 2);
    for (const auto& channel : d_in)
        x.push_back(channel + own);
    d_until_retry = d_retry_interval;
    d_retry_interval = std::min(2 * d_retry_interval, most_retry_interval);
    try {
        d_start.find_labels(x, start_symbols, transmitters);
        for (auto& channel : x)
            channel = channel + static_cast<std::ptrdiff_t>(sample(d_half_window));
        std::vector<std::size_t> sought;
        for (std::size_t o = 0; o < outputs(); ++o)
            if (!d_outputs[o].found)
                sought.push_back(o);
        // An output whose own labels are found again had not lost its transmitter: it goes on.
        std::vector<std::size_t> news = sought;
        for (auto o = sought.begin(); o != sought.end();) {
            output& each = d_outputs[*o];
            const auto there = std::find_if(news.begin(), news.end(), [&](std::size_t t) {
                const auto& labels = transmitters[t].labels;
                return has_own_labels(each) && each.steps_with_signal > 0 &&
                       alike(&each.labels[compared_from()],
                             labels.data() + labels.size() - compared - most_late);
            });
            each.found = there != news.end();
            if (each.found)
                news.erase(there);
            o = each.found ? sought.erase(o) : o + 1;
        }
        if (sought.empty())
            return;
        // A carrier is shared only if it was before, or if no other loop goes on.
        const bool share = d_one_carrier || sought.size() + 1 >= outputs();
        d_one_carrier = share && d_start.have_one_carrier(transmitters);
        for (std::size_t i = 0; i < sought.size(); ++i) {
            const auto found =
                std::find_if(d_outputs.begin(), d_outputs.end(), [&](const auto& other) {
                    return d_one_carrier && other.found;
                });
            separated& sent = transmitters[news[i]];
            begin(d_outputs[sought[i]],
                  found == d_outputs.end() ? nullptr : &*found,
                  x,
                  sent,
                  sent.labels.size() - 1,
                  decided() - 1);
        }
    } catch (const eye_closed&) { // watch() tries again after d_retry_interval
    }
}

// Whether the power of the latest labels differs significantly from the constellation's.
bool mimo_filter::has_unusual_power(const output& each) const
{
    return d_power.is_unusual(&each.labels[latest(compared)], compared);
}

/* Decides samples at a phase which follows: each step's is that of the symbols before it, whose neighbours
 * are all decided. */
mimo_filter::decided_again mimo_filter::decide_from(float phase,
                                                    const std::vector<float>& samples)
{
    const std::size_t reach = d_waveform.reach(), symbols = compared + 2 * reach;
    const std::size_t owned = d_window.samples_before() - d_window.sps() / 2;
    std::vector<float> window(samples.size()), expected(2 * sample(step));
    decided_again found{ std::vector<std::uint8_t>(symbols), phase };
    std::complex<double> followed = 0;
    for (std::size_t k = 0; k < symbols; k += step) {
        const std::size_t n = std::min(step, symbols - k);
        const feature_view windows{
            window.data(), d_window.stride(), d_window.dimension(), n
        };
        rotate(&samples[2 * sample(k)],
               std::polar(1.0f, -found.phase),
               windows.floats() / 2,
               window.data());
        d_decider.decide(d_prepared, windows, &found.labels[k]);
        const std::size_t first =
            std::max(k, 2 * reach) - reach; // of those not measured yet
        if (k + n <= first + reach)
            continue;
        const std::size_t measured = k + n - reach - first, count = sample(measured);
        d_waveform.expect(&found.labels[first], measured, expected.data());
        const auto correlation =
            remaining(expected.data(), &samples[2 * (sample(first) + owned)], count);
        found.common += std::abs(correlation);
        found.energy += power_of(expected.data(), count);
        followed = followed / 2.0 + correlation;
        found.phase = static_cast<float>(std::arg(followed));
    }
    return found;
}

/* A signal that became fainter is decided as inner points, and taps learn from these; after a burst of noise, or
 * where the phase ran away, from wrong ones. So the latest symbols are filtered by the `settled` taps and decided
 * at the constellation's power, at the best of the search's phases. If these labels have less than half the
 * others' residual, and less than random ones, those taps go on. */
bool mimo_filter::begin_settled(output& each)
{
    const std::size_t reach = d_waveform.reach(), first = latest(compared);
    if (!usable(each, first))
        return false;
    const std::size_t from = sample(first - reach) - d_window.samples_before();
    const std::size_t own = sample(first) - d_window.sps() / 2 - from;
    const std::size_t count = sample(compared + 2 * reach - 1) + d_window.samples();
    planes output(count + simd::lanes, true);
    run(each.settled.data(), from - d_taps / 2, count, output);
    std::vector<float> samples(2 * count), expected(2 * sample(compared));
    remembered_carrier& carrier = each.settled_carrier;
    for (std::size_t i = 0; i < count; ++i) {
        float* const to = &samples[2 * i];
        to[0] = output.re[i];
        to[1] = output.im[i];
        rotate(to[0], to[1], -carrier.phase_at(symbol_of(from + i)));
    }
    const double received = power_of(samples.data(), count);
    if (!phase_search::has_signal(received, count))
        return false;
    const double scale = std::sqrt(static_cast<double>(count) / received);
    for (float& part : samples)
        part *= static_cast<float>(scale);

    const double power = power_of(&samples[2 * own], sample(compared));
    const auto share = [&](double common,
                           double energy) { // residual, relative to the samples' energy
        return 1 - common * common / power / energy;
    };
    d_waveform.expect(&each.labels[first], compared, expected.data());
    double common = 0;
    for (std::size_t k = 0; k < sample(compared); k += sample(step))
        common +=
            std::abs(remaining(&expected[2 * k], &samples[2 * (own + k)], sample(step)));
    const double others = share(common, power_of(expected.data(), sample(compared)));

    decided_again best;
    double least = std::numeric_limits<double>::infinity();
    for (const float angle : each.phases.search().angles()) {
        const decided_again found = decide_from(angle, samples);
        const double residual = share(found.common, found.energy);
        if (residual < least) {
            least = residual;
            best = found;
        }
    }
    // A loop that has locked by itself since it was lost may be a rotation of the constellation off.
    const bool is_as_usual = each.was_lost && least < much_more * each.usual;
    const bool is_less =
        is_as_usual ? least < as_before * others : clearly_less(least, others);
    if (!is_less || !(least < d_lost))
        return false;
    const auto shares =
        std::find_if(d_outputs.begin(), d_outputs.end(), [&](const auto& other) {
            return d_one_carrier && other.found && &other != &each;
        });
    const std::size_t end = from + count;
    double phase = carrier.phase_at(symbol_of(end)) + best.phase;
    if (shares != d_outputs.end()) {
        phase -= each.turn.phase_at(end);
    } else if (carrier.has_carrier()) {
        each.turn.skip(sample(latest(step)) - sps() / 2);
        each.turn.begin(carrier.frequency(), phase, end);
        carrier.resume(symbol_of(end), phase, carrier.frequency());
        phase = 0;
        for (auto& other : d_outputs)
            if (d_one_carrier)
                other.turn = each.turn;
    } else {
        each.turn.reset();
    }
    for (float& tap : each.settled)
        tap *= static_cast<float>(scale * best.common / power);
    turn_vector(each.settled.data(), d_sums.pitch(), static_cast<float>(-phase));
    each.bank.reset(each.settled);
    begin_search(each, shares == d_outputs.end() ? nullptr : &*shares);
    each.known = ready() + d_half_window + 1;
    each.residual_sum = 0;
    each.measured = 0;
    each.found = true;
    each.was_lost = false;
    return true;
}

} // namespace gr::adann::core
