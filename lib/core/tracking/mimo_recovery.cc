/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/mimo_recovery.h"

#include "core/common/checks.h"
#include "core/signal/rotate.h"
#include "core/tracking/belief.h"
#include "core/tracking/displacement.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {
constexpr std::size_t most_late = displacement::most_late;
constexpr std::size_t compared = mimo_streams::compared;
constexpr std::size_t step = mimo_streams::step;
constexpr float doubtful = 0.5f;   // part of the residual of random decisions
constexpr double much_more = 2;    // times the usual residual
constexpr double usually = 0.125;  // weight of the latest residual in the usual one
constexpr double by_and_by = 1.25; // what the usual residual grows by with each new start
constexpr double hardly_more = 1.25; // times the residual of labels that may be rotated
constexpr std::size_t most_retry_interval = 65536; // symbols

std::size_t compared_from(const mimo_streams& streams)
{
    return streams.decided() - compared - most_late;
}

// Whether the labels that are compared are decisions by the output's present taps.
bool has_own_labels(const mimo_streams& streams, const mimo_output& each)
{
    return each.starts > 0 && compared_from(streams) >= each.known + most_late;
}

// The phase search begins where that of an output with the same carrier is; null: where its own carrier is.
void begin_search(const mimo_streams& streams,
                  mimo_output& each,
                  const mimo_output* shares)
{
    const auto own = static_cast<float>(each.turn.phase_at(streams.latest_middle()));
    each.phases.search().begin(shares ? shares->phases.search().line()
                                      : phase_line{ wrapped(own),
                                                    static_cast<float>(2 * M_PI * step) *
                                                        each.turn.frequency() });
}
} // namespace

mimo_recovery::mimo_recovery(const model& behind, const mimo_streams& streams)
    : d_power(streams.alphabet, streams.waveform.probabilities()),
      d_start(behind, streams.sums),
      d_labels(compared + 2 * streams.waveform.reach()),
      d_samples(2 * (streams.sample(d_labels.size() - 1) + streams.window.samples())),
      d_rotated(d_samples.size()),
      d_expected(2 * streams.sample(compared)),
      d_filtered(d_samples.size() / 2 + simd::lanes, true)
{
}

void mimo_recovery::supervise(mimo_streams& streams, const network_decider& decides)
{
    if (streams.steps() % (compared / step) == 0)
        for (auto& each : streams.outputs) {
            each.was_lost |= is_lost(each) || each.is_silent();
            if (each.was_lost || has_unusual_power(streams, each))
                resume(streams, each, decides);
        }
    if (streams.steps() % (tested_every / step) == 0)
        test(streams);
}

bool mimo_recovery::is_unusual(const output& each) const
{
    return each.usual > 0 && each.mean_residual() > much_more * each.usual;
}

bool mimo_recovery::is_lost(const output& each) const
{
    return each.mean_residual() >
           (is_unusual(each) ? each.noise.limit(doubtful) : each.noise.limit());
}

// Whether the power of the latest labels differs significantly from the constellation's.
bool mimo_recovery::has_unusual_power(const mimo_streams& streams,
                                      const output& each) const
{
    return d_power.is_unusual(&each.labels[streams.latest(compared)], compared);
}

// Of its latest symbols, each step at the best phase.
void mimo_recovery::test_noise(const mimo_streams& streams, output& each)
{
    const std::size_t first = streams.latest(compared);
    if (!each.measured)
        return;
    const bool usable = streams.is_usable(each, first);
    if (usable) {
        std::copy_n(&each.filtered[2 * streams.owned(first)],
                    2 * streams.sample(compared),
                    d_rotated.begin());
        streams.waveform.expect(&each.labels[first], compared, d_expected.data());
        rotate_by_steps(
            d_expected.data(), streams.sample(step), d_rotated.data(), compared / step);
    }
    if (each.noise.test(static_cast<float>(each.mean_residual()),
                        streams.waveform,
                        &each.labels[first],
                        usable ? d_rotated.data() : nullptr,
                        is_unusual(each) ? doubtful : lost_part))
        each.usual = each.mean_residual(); // that of less noise is no measure any more
}

// Tests which outputs have lost their transmitter or share one; these start again.
void mimo_recovery::test(mimo_streams& streams)
{
    auto& outputs = streams.outputs;
    bool all_usual = true;
    for (auto& each : outputs) {
        test_noise(streams, each);
        const bool unusual = is_unusual(each);
        all_usual = all_usual && !unusual;
        each.was_lost = is_lost(each) || each.is_silent();
        if (each.was_lost)
            each.found = false;
        else if (each.measured && !unusual)
            each.usual +=
                (each.usual > 0 ? usually : 1) * (each.mean_residual() - each.usual);
        if (each.found && each.measured && !unusual &&
            !has_unusual_power(streams, each) &&
            each.latest_residual <
                each.noise.limit() * static_cast<double>(streams.sample(step)))
            remember(streams, each);
    }
    for (auto a = outputs.begin(); a != outputs.end(); ++a)
        for (auto b = outputs.begin(); b != a; ++b)
            if (are_one(streams, *a, *b))
                (a->mean_residual() > b->mean_residual() ? a : b)->found = false;
    for (auto& each : outputs)
        each.forget_measured();
    if (std::all_of(outputs.begin(), outputs.end(), [](const auto& each) {
            return each.found;
        })) {
        if (all_usual) { // the first try should have no symbols from before the loss
            d_until_retry = mimo_streams::start_symbols;
            d_retry_interval = tested_every;
        }
        return;
    }
    d_until_retry -= std::min(d_until_retry, tested_every);
    if (d_until_retry == 0 &&
        streams.ready() >= streams.first + mimo_streams::start_symbols)
        find(streams);
}

// Taps and carrier are those of an output that is followed.
void mimo_recovery::remember(const mimo_streams& streams, output& each)
{
    std::copy_n(each.bank.taps(), each.settled.size(), each.settled.begin());
    const std::size_t now = streams.latest_middle();
    if (each.turn.idle())
        each.settled_carrier.reset();
    else
        each.settled_carrier.follow(
            streams.symbol_of(now), each.turn.phase_at(now), each.turn.frequency());
}

bool mimo_recovery::are_one(const mimo_streams& streams,
                            const output& a,
                            const output& b) const
{
    const std::size_t from = compared_from(streams);
    return a.found && b.found && has_own_labels(streams, a) &&
           has_own_labels(streams, b) &&
           are_alike(streams, &a.labels[from], &b.labels[from]);
}

// Whether labels are one transmitter's: more are equal than half-way from chance, 1/M, to all.
bool mimo_recovery::are_alike(const mimo_streams& streams,
                              const std::uint8_t* a,
                              const std::uint8_t* b) const
{
    const constellation& alphabet = streams.alphabet;
    const std::size_t many = compared * (alphabet.size() + 1) / (2 * alphabet.size());
    for (const auto& symmetry : alphabet.symmetries())
        for (std::size_t late = 0; late <= 2 * most_late; ++late) {
            const std::uint8_t* const other = b + late - most_late;
            if (count_alike(a, other, compared, symmetry) > many)
                return true;
        }
    return false;
}

void mimo_recovery::start(mimo_streams& streams,
                          const float* const* samples,
                          std::size_t symbols,
                          const std::uint8_t* const* labels)
{
    auto& outputs = streams.outputs;
    // Its first and last symbols do not have all of their own samples.
    const std::size_t least = streams.sums.unknowns() + 2 * streams.decided_later() + 2;
    check_range<std::size_t>("symbols", symbols, least, 100'000'000);
    for (std::size_t o = 0; labels && o < outputs.size(); ++o)
        for (std::size_t i = 0; i < symbols; ++i)
            check_range("label",
                        std::size_t{ labels[o][i] },
                        std::size_t{ 0 },
                        streams.alphabet.size() - 1);
    const std::size_t n = symbols - 2, owned = streams.sps() - streams.sps() / 2;
    const std::size_t margin = streams.reach() + streams.taps + 2 * simd::lanes + 16;
    std::vector<planes> stretch(streams.channels(),
                                planes(streams.sample(symbols) + 2 * margin, true));
    std::vector<signal_planes> x;
    for (std::size_t c = 0; c < streams.channels(); ++c) {
        for (std::size_t i = 0; i < streams.sample(symbols); ++i) {
            const float* from = samples[c] + 2 * i;
            const bool good = all_usable(from, 2);
            stretch[c].re[margin + i] = good ? from[0] : 0.0f;
            stretch[c].im[margin + i] = good ? from[1] : 0.0f;
        }
        x.push_back(stretch[c] + static_cast<std::ptrdiff_t>(margin + owned));
    }
    std::vector<separated> transmitters(outputs.size());
    std::size_t unlabelled = 0; // at each end
    if (labels) {
        for (std::size_t o = 0; o < outputs.size(); ++o) {
            transmitters[o].labels.assign(labels[o] + 1, labels[o] + 1 + n);
            transmitters[o].carrier = d_start.carrier_of(x, transmitters[o].labels);
        }
    } else {
        d_start.find_labels(x, n, transmitters);
        unlabelled = streams.half_window;
    }
    for (auto& channel : x)
        channel = channel + static_cast<std::ptrdiff_t>(streams.sample(unlabelled));
    streams.one_carrier = d_start.have_one_carrier(transmitters);
    for (auto& each : outputs) {
        each.usual = 0;
        each.noise.reset();
    }
    for (std::size_t o = 0; o < outputs.size(); ++o)
        begin(streams,
              outputs[o],
              streams.one_carrier && o > 0 ? &outputs[0] : nullptr,
              x,
              transmitters[o],
              0,
              streams.filled + 1 + unlabelled);
}

// Starts an output from a stretch x, of which symbol `number` is `symbol` of the buffer.
void mimo_recovery::begin(mimo_streams& streams,
                          output& each,
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
        const auto there =
            static_cast<float>(shares->turn.phase_at(streams.sample(symbol)));
        for (auto& phase : sent.carrier.phase)
            phase += there;
    }
    each.settled = d_start.fit(x, sent);
    each.settled_carrier.reset();
    if (shares) {
        each.turn = shares->turn;
    } else {
        each.turn.reset();
        if (sent.carrier.turns()) {
            each.turn.skip(streams.owned(streams.latest(step)));
            each.turn.begin(sent.carrier.frequency, 0, streams.sample(symbol));
        }
    }
    each.correlations = {};
    each.noise.forget_tests();
    ++each.starts;
    go_on(streams, each, shares);
}

// By the settled taps and the carrier, from here on.
void mimo_recovery::go_on(const mimo_streams& streams, output& each, const output* shares)
{
    each.bank.reset(each.settled);
    begin_search(streams, each, shares);
    each.known = streams.ready() + streams.half_window + 1;
    each.forget_measured();
    each.steps_with_signal = 1; // those that the taps have been tested with
    each.found = true;
    each.was_lost = false;
}

// Starts the outputs without a transmitter blindly from the latest symbols.
void mimo_recovery::find(mimo_streams& streams)
{
    auto& outputs = streams.outputs;
    const std::size_t half_window = streams.half_window;
    const std::size_t first = streams.ready() - mimo_streams::start_symbols;
    std::vector<separated> transmitters(outputs.size());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        const auto& each = outputs[o];
        if (!each.found)
            continue;
        if (each.known > first + half_window)
            return; // it has too few labels for its transmitter to be subtracted; try later
        const auto labels = each.labels.begin();
        transmitters[o].labels.assign(
            labels + static_cast<std::ptrdiff_t>(first + half_window),
            labels + static_cast<std::ptrdiff_t>(streams.decided()));
    }
    std::vector<signal_planes> x = streams.from(streams.owned(first));
    d_until_retry = d_retry_interval;
    d_retry_interval = std::min(2 * d_retry_interval, most_retry_interval);
    try {
        d_start.find_labels(x, mimo_streams::start_symbols, transmitters);
        for (auto& channel : x)
            channel = channel + static_cast<std::ptrdiff_t>(streams.sample(half_window));
        begin_sought(streams, x, transmitters);
    } catch (const eye_closed&) { // test() tries again after d_retry_interval
    }
}

// Starts the outputs without a transmitter from those that were found in a stretch x.
void mimo_recovery::begin_sought(mimo_streams& streams,
                                 const std::vector<signal_planes>& x,
                                 std::vector<separated>& transmitters)
{
    auto& outputs = streams.outputs;
    std::vector<std::size_t> sought;
    for (std::size_t o = 0; o < outputs.size(); ++o)
        if (!outputs[o].found) {
            sought.push_back(o);
            // More noise is the usual by and by.
            outputs[o].usual = std::min(by_and_by * outputs[o].usual,
                                        double{ outputs[o].noise.limit() });
        }
    // An output whose own labels are found again had not lost its transmitter: it goes on.
    std::vector<std::size_t> news = sought;
    for (auto o = sought.begin(); o != sought.end();) {
        output& each = outputs[*o];
        const auto there = std::find_if(news.begin(), news.end(), [&](std::size_t t) {
            const auto& labels = transmitters[t].labels;
            return has_own_labels(streams, each) && each.steps_with_signal > 0 &&
                   are_alike(streams,
                             &each.labels[compared_from(streams)],
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
    const bool share = streams.one_carrier || sought.size() + 1 >= outputs.size();
    streams.one_carrier = share && d_start.have_one_carrier(transmitters);
    for (std::size_t i = 0; i < sought.size(); ++i) {
        separated& sent = transmitters[news[i]];
        output& each = outputs[sought[i]];
        begin(streams,
              each,
              streams.shares_with(each),
              x,
              sent,
              sent.labels.size() - 1,
              streams.decided() - 1);
    }
}

/* Decides samples at a phase which follows: each step's is that of the symbols before it, whose neighbours
 * are all decided. */
mimo_recovery::decided_again mimo_recovery::decide_from(float phase,
                                                        const mimo_streams& streams,
                                                        const network_decider& decides)
{
    const expected_waveform& waveform = streams.waveform;
    const window_geometry& window = streams.window;
    const std::size_t reach = waveform.reach(), symbols = compared + 2 * reach;
    const std::size_t owned = window.samples_before() - window.sps() / 2;
    decided_again found{ phase };
    std::complex<double> followed = 0;
    for (std::size_t k = 0; k < symbols; k += step) {
        const std::size_t n = std::min(step, symbols - k);
        const feature_view windows = window.view(d_rotated.data(), n);
        rotate(&d_samples[2 * streams.sample(k)],
               std::polar(1.0f, -found.phase),
               windows.floats() / 2,
               d_rotated.data());
        decides(windows, &d_labels[k]);
        const std::size_t first =
            std::max(k, 2 * reach) - reach; // of those not measured yet
        if (k + n <= first + reach)
            continue;
        const std::size_t measured = k + n - reach - first,
                          count = streams.sample(measured);
        waveform.expect(&d_labels[first], measured, d_expected.data());
        const auto correlation = remaining(
            d_expected.data(), &d_samples[2 * (streams.sample(first) + owned)], count);
        found.common += std::abs(correlation);
        found.energy += power_of(d_expected.data(), count);
        followed = followed / 2.0 + correlation;
        found.phase = static_cast<float>(std::arg(followed));
    }
    return found;
}

/* A signal that became fainter is decided as inner points, and taps learn from these; after a burst of noise, or
 * where the phase ran away, from wrong ones. So the latest symbols are filtered by the settled taps and decided
 * at the constellation's power, at the best of the search's phases. If these labels have less than half the
 * others' residual, and less than random ones, those taps go on. */
void mimo_recovery::resume(mimo_streams& streams,
                           output& each,
                           const network_decider& decides)
{
    const std::size_t reach = streams.waveform.reach(), first = streams.latest(compared);
    if (!streams.is_usable(each, first))
        return;
    const std::size_t from =
        streams.sample(first - reach) - streams.window.samples_before();
    const std::size_t own = streams.owned(first) - from, count = d_samples.size() / 2;
    streams.run(each.settled.data(), from - streams.reach(), count, d_filtered);
    remembered_carrier& carrier = each.settled_carrier;
    // It rotates in these symbols even where it is not extrapolated any more.
    const double begin = carrier.phase_at(streams.symbol_of(from));
    const double growth =
        2 * M_PI * carrier.frequency() / static_cast<double>(streams.sps());
    rotate_back(d_filtered.re.data(), d_filtered.im.data(), count, begin, growth);
    d_filtered.interleave(count, d_samples.data());
    const double received = power_of(d_samples.data(), count);
    if (!phase_search::has_signal(received, count))
        return;
    const double scale = std::sqrt(static_cast<double>(count) / received);
    for (float& part : d_samples)
        part *= static_cast<float>(scale);

    const double power = power_of(&d_samples[2 * own], streams.sample(compared));
    // The residual, relative to the samples' energy.
    const auto share = [&](double common, double energy) {
        return 1 - common * common / power / energy;
    };
    streams.waveform.expect(&each.labels[first], compared, d_expected.data());
    double common = 0;
    for (std::size_t k = 0; k < streams.sample(compared); k += streams.sample(step))
        common += std::abs(remaining(
            &d_expected[2 * k], &d_samples[2 * (own + k)], streams.sample(step)));
    const double others =
        share(common, power_of(d_expected.data(), streams.sample(compared)));

    decided_again best;
    double least = std::numeric_limits<double>::infinity();
    for (const float angle : each.phases.search().angles()) {
        const decided_again found = decide_from(angle, streams, decides);
        const double residual = share(found.common, found.energy);
        if (residual < least) {
            least = residual;
            best = found;
        }
    }
    // A loop that has locked by itself since it was lost may be a rotation of the constellation off.
    const bool is_as_usual = each.was_lost && least < much_more * each.usual;
    const bool is_less =
        is_as_usual ? least < hardly_more * others : clearly_less(least, others);
    if (!is_less || !(least < each.noise.limit()))
        return;
    const mimo_output* const shares = streams.shares_with(each);
    const std::size_t end = from + count;
    const double phase = begin + growth * static_cast<double>(count) + best.phase;
    const double frequency = carrier.frequency_by(streams.symbol_of(end), phase);
    if (!shares) {
        each.turn.reset();
        if (carrier.has_carrier()) {
            each.turn.skip(streams.owned(streams.latest(step)));
            each.turn.begin(frequency, phase, end);
        }
        for (auto& other : streams.outputs)
            if (streams.one_carrier)
                other.turn = each.turn;
    }
    const double followed = each.turn.phase_at(end);
    if (carrier.has_carrier())
        carrier.resume(streams.symbol_of(end), followed, frequency);
    for (float& tap : each.settled)
        tap *= static_cast<float>(scale * best.common / power);
    turn_vector(each.settled.data(),
                streams.sums.pitch(),
                static_cast<float>(std::remainder(followed - phase, 2 * M_PI)));
    go_on(streams, each, shares);
}

} // namespace gr::adann::core
