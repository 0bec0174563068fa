/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/recovery.h"

#include "core/tracking/belief.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr float far_more = 2; // times the mean residual: no block has as much by chance
constexpr float more =
    1.5f; // by chance few blocks have: chosen on steps of level and phase
// Times the earlier residual: the squares of 512 real samples scatter by 1/16, of complex ones by less.
constexpr float as_before = 1.25f;
/* Of the residual of random decisions. That of decisions of noise, of which the taps make points, is a larger part of
 * its power: 0.36 of two levels, 0.12 of four (Max, Quantizing for minimum distortion, IRE Trans. Inf. Theory 6, 1960). */
constexpr float least_random = 0.75f;
// A least squares fit to labels has nearly eight equations for each unknown, or more.
constexpr std::size_t most_blind_taps = recovery::blind_symbols / 8 + 1;
// Of a carrier's line it is what one test knows, and the next one compares with.
static_assert(recovery::tested_every == carrier_follower::checked_every);

/* Whether a pause begins or ends in 2 n samples: one half has less than a quarter of the other's power. Labels that
 * explain one half of them say nothing of the other. */
bool has_pause(const signal_planes& samples, std::size_t n)
{
    const auto power = [n](const float* from) {
        return from ? std::inner_product(from, from + n, from, 0.0f) : 0.0f;
    };
    constexpr float much_less = 4;
    const auto half = static_cast<std::ptrdiff_t>(n);
    const signal_planes later = samples + half;
    const float first = power(samples.re) + power(samples.im);
    const float second = power(later.re) + power(later.im);
    return much_less * std::min(first, second) < std::max(first, second);
}
// Copies n samples less their mean.
void remove_mean(const float* from, std::size_t n, float* to)
{
    const float mean = std::accumulate(from, from + n, 0.0f) / static_cast<float>(n);
    std::transform(from, from + n, to, [mean](float each) { return each - mean; });
}

} // namespace

recovery_state after(recovery_state before, recovery_event event)
{
    using s = recovery_state;
    // From:  following, doubtful, interrupted, lost, degraded, trained.
    using row = std::array<s, recovery_states>;
    const auto all = [](s to) { return row{ to, to, to, to, to, s::trained }; };
    const auto next = [event, all]() -> row {
        switch (event) {
        case recovery_event::exceeds:
            return { s::interrupted, s::lost,     s::interrupted,
                     s::lost,        s::degraded, s::trained };
        case recovery_event::passes:
            return { s::following, s::doubtful, s::following,
                     s::lost,      s::degraded, s::trained };
        case recovery_event::explains:
            return { s::following, s::doubtful, s::following,
                     s::doubtful,  s::doubtful, s::trained };
        case recovery_event::unexplained:
            return all(s::doubtful);
        case recovery_event::settles:
        case recovery_event::known:
            return all(s::following);
        case recovery_event::fails:
            return all(s::lost);
        case recovery_event::stays_better:
            return all(s::degraded);
        case recovery_event::starts:
            return all(s::doubtful);
        case recovery_event::trains:
            return all(s::trained);
        case recovery_event::resets:
            break;
        }
        row reset;
        reset.fill(s::following);
        return reset;
    };
    return next()[static_cast<std::size_t>(before)];
}

tracking_state status_of(recovery_state state, bool exceeds)
{
    using t = tracking_state;
    // Of: following, doubtful, interrupted, lost, degraded, trained.
    constexpr std::array<t, recovery_states> below{
        t::following, t::doubtful, t::lost, t::lost, t::doubtful, t::trained
    };
    const t status = below[static_cast<std::size_t>(state)];
    return exceeds && status != t::trained ? t::lost : status;
}

recovery::recovery(const tracked_stream& stream,
                   std::shared_ptr<const expected_waveform> waveform,
                   const constellation& alphabet)
    : d_symmetries(alphabet.symmetries()),
      d_limit(lost_limit(*waveform, alphabet)),
      d_random(left_at_random(alphabet, stream.history.floats_per_sample())),
      d_at_random(waveform->noise() * waveform->noise() *
                      static_cast<float>(stream.history.floats_per_sample()) +
                  d_random),
      d_judge(waveform, d_symmetries, stream.filter.taps() / 2 / waveform->sps()),
      d_ambiguity(alphabet, stream.target.variance()),
      d_channel(*waveform,
                d_symmetries.size(),
                d_judge.shape().taps(),
                d_judge.shape().pitch()),
      d_power(alphabet, waveform->probabilities()),
      d_variety(waveform->probabilities(), judge::symbols),
      d_timing(stream, alphabet),
      d_blind_taps(std::min(stream.filter.taps(), most_blind_taps)),
      d_resumption(stream, alphabet, waveform->probabilities()),
      d_blind_samples(stream.history.sample(blind_symbols) + d_blind_taps,
                      stream.history.is_complex()),
      d_derotated(stream.carrier ? stream.history.sample(judge::symbols) : 0,
                  stream.history.is_complex()),
      d_residual(stream.history.sample(judge::symbols), stream.history.is_complex()),
      d_unfiltered_labels(judge::symbols + 2 * waveform->reach()),
      d_at_level(d_unfiltered_labels.size()),
      d_proposed(tracked_stream::most_known),
      d_windows(stream.history.floats_per_sample() *
                    (stream.history.sample(d_unfiltered_labels.size() + blind_symbols) +
                     stream.history.window().samples() + stream.filter.taps()) +
                simd::lanes)
{
    d_blind = std::make_shared<blind_decisions>(
        alphabet, d_blind_taps, stream.history.floats_per_sample(), blind_symbols);
}

bool recovery::was_lost() const
{
    return d_state == recovery_state::doubtful || d_state == recovery_state::lost ||
           d_state == recovery_state::degraded;
}

// Whether the residual exceeds the limit; not before the first block is learnt from.
bool recovery::exceeds(const tracked_stream& stream) const
{
    const auto [mean, latest] = stream.residual(); // not a number: nothing is lost yet
    if (clearly_less(latest,
                     limit())) // a burst of noise has passed that the mean still has
        return false;
    // While the phase is searched, a single block exceeds where the phase ran away for some symbols.
    const bool is_sudden = !(stream.carrier && stream.carrier->is_searching()) &&
                           latest > limit() && latest > far_more * mean;
    return mean > limit() || is_sudden;
}

void recovery::check(const tracked_stream& stream)
{
    const bool was_following = d_state == recovery_state::following;
    apply(exceeds(stream) ? recovery_event::exceeds : recovery_event::passes);
    const auto [mean, latest] = stream.residual();
    // A burst of noise may have passed by then; a jump of timing or phase has not.
    if (was_following && (d_state == recovery_state::interrupted || latest > more * mean))
        d_schedule.test_soon();
}

void recovery::note_known_symbols()
{
    forget_loss();
    apply(recovery_event::known);
}

void recovery::train()
{
    forget_tests();
    apply(recovery_event::trains);
}

void recovery::reset(tracked_stream& stream)
{
    forget(stream);
    d_resumption.reset(stream);
    d_usual = 0;
}

void recovery::change_level(tracked_stream& stream, float by)
{
    forget(stream);
    d_resumption.scale(stream, by);
    d_usual *= by * by;
    if (d_resumption.remembers())
        apply(recovery_event::fails);
}

void recovery::forget(tracked_stream& stream)
{
    start_over(stream);
    if (stream.carrier)
        stream.carrier->forget_settled();
    d_channel.reset();
    forget_loss();
    apply(recovery_event::resets);
}

// Earlier comparisons were of labels by other taps.
void recovery::forget_tests()
{
    d_judge.reset();
    d_ambiguity.reset();
    d_reported = d_displaced = {};
    d_schedule.forget_tests();
}

void recovery::forget_loss()
{
    d_has_started = d_unfiltered_is_better = false;
    d_resumption.forget_signal();
    d_displaced = {};
    d_schedule.forget_loss();
}

void recovery::resolve(tracked_stream& stream, std::size_t blocks, bool may_start)
{
    sample_history& history = stream.history;
    carrier_follower* const carrier = stream.follower();
    constexpr int around = ambiguity::around;
    const std::size_t n = blocks * tracked_stream::block;
    // Symbols are estimated once those around them are decided, of float samples with the next update.
    const std::size_t behind = stream.target.reach() + around + (carrier ? 0 : n);
    if (history.known() < n + behind + around || !explains(stream))
        return;
    for (std::size_t k = history.next() - behind - n; k < history.next() - behind; ++k)
        if (history.is_label_known(k))
            d_ambiguity.take(
                history.known_label(k), history.estimates(k), history.decided(k));
    const displacement shown = std::exchange(d_reported, {});
    const displacement by = shown.none() ? d_ambiguity.found() : shown;
    if (by.none())
        return;
    d_ambiguity.reset();
    if (by.later == 0 && carrier) {
        carrier->add_ambiguity(history, by.turned);
        ++d_changes;
    } else {
        const std::size_t turns = d_symmetries.size();
        const std::size_t latest = std::min(history.known(), blind_symbols);
        const hypothesis proposed{ hypothesis::source::present,
                                   history.decided(history.next() - latest),
                                   latest,
                                   {},
                                   limit() };
        if (!may_start ||
            !start(stream, proposed, { by.later, (turns - by.turned) % turns }))
            return;
        forget_loss();
        apply(recovery_event::settles);
    }
    d_channel.reset();
}

void recovery::supervise(tracked_stream& stream,
                         const network_decider& decides,
                         std::size_t blocks,
                         bool may_start)
{
    if (d_schedule.pass(blocks, status(stream) == tracking_state::following))
        test(stream, decides, may_start);
}

void recovery::remember_or_resume(tracked_stream& stream,
                                  const network_decider& decides,
                                  bool may_start)
{
    const bool was_used = is_used();
    d_by_remembered = false;
    if (d_state == recovery_state::following) {
        d_resumption.follow(stream);
    } else if (may_start && d_resumption.remembers()) {
        const resumption::tried held = d_resumption.decide(stream, decides);
        if (d_resumption.is_pause() && d_state == recovery_state::interrupted)
            apply(recovery_event::fails);
        if (goes_back(stream, held)) {
            d_resumption.resume(stream);
            forget_tests();
            forget_loss();
            apply(recovery_event::settles);
        } else {
            d_by_remembered = d_resumption.is_pause() ||
                              (d_state == recovery_state::lost &&
                               d_resumption.has_gap() && !d_unfiltered_is_better);
        }
    }
    d_changes += is_used() != was_used;
}

/* Whether the stream goes on by what it was when it was followed: after a gap, or where a carrier's phase may have run
 * away. Taps that were in use until lately have to be clearly worse, as the residual may be that of a burst. Those that
 * have learnt in a gap may be as good, but have labels that are late or rotated. */
bool recovery::goes_back(const tracked_stream& stream,
                         const resumption::tried& held) const
{
    const auto [mean, own] = stream.residual();
    const bool has_gap = d_resumption.has_gap();
    const bool rotates = stream.carrier && !stream.carrier->idle();
    if (!held.explains || !(held.residual < limit()) || !(has_gap || rotates))
        return false;
    if (d_state == recovery_state::interrupted || !has_gap)
        return as_before * held.residual < own;
    return std::isnan(mean) ? !d_has_started : held.residual < as_before * own;
}

feature_view recovery::lost_windows(tracked_stream& stream,
                                    std::size_t n,
                                    std::size_t position,
                                    aligned_floats& memory)
{
    const sample_history& history = stream.history;
    return d_by_remembered
               ? d_resumption.windows(stream, history.next(), n, position, memory)
               : history.received_windows(history.next(), n, memory);
}

// Labels whose residual the judge has are surely a signal's if that is less of its power than noise would have.
void recovery::note_signal()
{
    if (d_judge.relative_residual() < least_random * d_random)
        d_resumption.note_signal();
}

// What decides a lost stream: the taps when it was followed, unless decisions without any are clearly better.
void recovery::choose_lost(tracked_stream& stream, const network_decider& decides)
{
    if (!d_resumption.remembers())
        return;
    const sample_history& history = stream.history;
    const std::size_t around = stream.target.reach(), n = d_unfiltered_labels.size();
    const std::size_t symbol = history.latest(judge::symbols);
    decides(d_resumption.windows(stream, history.next() - n, n, 0, d_windows),
            d_at_level.data());
    const float unfiltered = d_judge.residual(history.received(history.owned(symbol)),
                                              &d_unfiltered_labels[around]);
    note_signal();
    const float held = d_judge.residual(derotated(stream), &d_at_level[around]);
    d_unfiltered_is_better = as_before * unfiltered < held;
    fit_latest(stream);
}

void recovery::test(tracked_stream& stream,
                    const network_decider& decides,
                    bool may_start)
{
    sample_history& history = stream.history;
    const std::size_t first = history.next() - d_unfiltered_labels.size();
    if (history.known() < d_unfiltered_labels.size() ||
        !history.is_usable(history.window_begin(first)))
        return;
    const bool was_used = is_used();
    judge::verdict found = compare(stream, decides);
    if (found != judge::verdict::displaced && d_state == recovery_state::doubtful)
        note_signal();
    if (!was_used)
        find_echoes(stream);
    // Known symbols say themselves whether labels are late or rotated: resolve().
    const std::size_t n = judge::symbols;
    const bool has_known = stream.history.count_unknown(stream.history.latest(n), n) < n;
    if (found == judge::verdict::displaced) {
        fit_latest(stream);
        /* Labels are late since the channel has walked if it has been followed until lately, and is still
         * nearest to the one at the last test. */
        const bool has_walked = !d_schedule.is_long_lost() && displaced(stream).none();
        if (has_known || has_walked)
            found = judge::verdict::open;
    }
    // Taps that put out a constant explain it: in noise a lost stream's own decisions lead there.
    const bool fails =
        exceeds(stream) || (d_state == recovery_state::lost &&
                            !d_variety.is_enough(history.decided(history.latest(n))));
    const bool stays_better = fails && found == judge::verdict::clear;
    apply(stays_better ? recovery_event::stays_better
          : fails      ? recovery_event::fails
                       : recovery_event::explains);
    if (d_state == recovery_state::lost)
        choose_lost(stream, decides);
    const bool has_changed =
        found != judge::verdict::displaced && d_usual > 0 && !is_as_usual();
    const bool is_worse = found == judge::verdict::displaced ||
                          (found == judge::verdict::worse && was_used);
    if (found == judge::verdict::displaced) // and so is the channel that was remembered
        d_channel.reset();
    else if (propose_at_level(stream, decides, may_start))
        return;
    const bool has_residual = !std::isnan(stream.filter.bank().residual());
    const retry_schedule::tries tries =
        was_lost() || has_changed ? d_schedule.try_again() : retry_schedule::tries{};
    auto result = outcome::open;
    if (tries.timing && d_usual > 0 && stream.has_steady_phase() &&
        propose_timing(stream, decides, may_start))
        result = outcome::started;
    else if (!is_worse && !fails && has_residual)
        result = settle(stream, may_start);
    if (result == outcome::open && tries.blindly && was_lost() &&
        propose_blindly(stream, may_start))
        result = outcome::started;
    if (result == outcome::started)
        return;
    if (d_schedule.end_test(was_used || is_used()) || is_worse) {
        // An image may be of what was no signal: not the first, but the next start is without.
        if (stream.corrected.iq && d_schedule.is_long_lost())
            stream.corrected.iq->reset();
        if (const auto line = stream.carrier ? stream.carrier->find_line() : std::nullopt)
            return start_from(stream, *line);
        start_over(stream);
        ++d_resets;
        history.filter_again();
        history.relabel(first, d_unfiltered_labels.data(), d_unfiltered_labels.size());
    } else if (stream.carrier && !fails && has_residual) {
        const bool settled = result == outcome::settled;
        if (const auto line = stream.carrier->check(history, settled))
            start_from(stream, *line);
    }
}

// Compares the latest decisions with those that the network makes without the filter.
judge::verdict recovery::compare(tracked_stream& stream, const network_decider& decides)
{
    const sample_history& history = stream.history;
    decides(history.received_windows(history.next() - d_unfiltered_labels.size(),
                                     d_unfiltered_labels.size(),
                                     d_windows),
            d_unfiltered_labels.data());
    const std::size_t symbol = history.latest(judge::symbols);
    const std::size_t owned = history.owned(symbol);
    const signal_planes received = history.received(owned);
    float turned = 0;
    if (stream.carrier) {
        const std::size_t n = history.sample(judge::symbols);
        stream.carrier->loop().rotate_back(
            received.re, received.im, owned, n, d_windows.data());
        d_derotated.assign(d_windows.data(), n);
        turned = stream.carrier->turned_by(
            history.sample(history.next() - d_unfiltered_labels.size() / 2),
            stream.filter.phase());
    }
    return d_judge.compare(derotated(stream),
                           history.decided(symbol),
                           received,
                           &d_unfiltered_labels[stream.target.reach()],
                           turned);
}

/* Late echoes are learnt from the residual of the unfiltered samples while the filter is not used: its
 * taps start over repeatedly, and its residual shows their errors. An image is not learnt so, as dense
 * constellations with an image are decided wrongly. */
void recovery::find_echoes(tracked_stream& stream)
{
    const sample_history& history = stream.history;
    const std::size_t n = history.sample(judge::symbols);
    const signal_planes received =
        history.received(history.owned(history.latest(judge::symbols)));
    float* const rest =
        stream.target.expect(&d_unfiltered_labels[stream.target.reach()], judge::symbols);
    for (std::size_t i = 0, k = 0; i < n; ++i) {
        rest[k++] -= received.re[i];
        if (received.im)
            rest[k++] -= received.im[i];
    }
    d_residual.assign(rest, n);
    constexpr std::size_t block = tracked_stream::block;
    static_assert(judge::symbols % block == 0);
    for (std::size_t k = 0; k < judge::symbols; k += block) {
        const auto first = static_cast<std::ptrdiff_t>(history.sample(k));
        stream.corrected.echoes.learn(received + first, d_residual + first, block);
    }
}

// The judge has the channel of the latest labels from here on.
void recovery::fit_latest(const tracked_stream& stream)
{
    d_judge.residual(derotated(stream),
                     stream.history.decided(stream.history.latest(judge::symbols)));
}

// The samples that compare() looked at, without their carrier.
signal_planes recovery::derotated(const tracked_stream& stream) const
{
    const sample_history& history = stream.history;
    return stream.carrier
               ? static_cast<signal_planes>(d_derotated)
               : history.received(history.owned(history.latest(judge::symbols)));
}

/* The acceptance rule: whether the labels' residual is clearly less than that of the network's labels,
 * with the filter and without it; or, where the channel is the one before, whether their residual is what
 * it was, and that of the stream's labels is not. The usual residual has to be below half that of random
 * decisions: otherwise one of many searched instants and phases has it by chance. The judge has the
 * channel of labels that are believed. */
bool recovery::is_believed(const tracked_stream& stream, const hypothesis& proposed)
{
    const sample_history& history = stream.history;
    const std::size_t around = stream.target.reach(), symbols = judge::symbols + around;
    const std::size_t symbol = history.latest(judge::symbols);
    if (!d_variety.is_enough(proposed.labels + proposed.n - symbols) ||
        has_pause(history.received(history.owned(symbol)),
                  history.sample(judge::symbols / 2)))
        return false;
    const float unfiltered = d_judge.residual(history.received(history.owned(symbol)),
                                              &d_unfiltered_labels[around]);
    const float present = d_judge.residual(derotated(stream), history.decided(symbol));
    const float left =
        d_judge.residual(proposed.samples, proposed.labels + proposed.n - symbols);
    const float random = d_at_random * static_cast<float>(history.sample(judge::symbols));
    return clearly_less(left, std::min(unfiltered, present)) ||
           (proposed.from == hypothesis::source::timing && is_as_usual() &&
            as_before * left < present && clearly_less(d_usual, random));
}

// Whether the residual of the labels whose channel the judge has is that of when the stream last settled.
bool recovery::is_as_usual() const { return d_judge.residual() < as_before * d_usual; }

/* A signal that became fainter is decided as inner points: the labels' power is not the constellation's,
 * and they explain little. Decides the latest symbols at the constellation's power, filtered by the taps
 * in use, which may have learnt from such labels, or by those of the latest confirmed test. */
bool recovery::propose_at_level(tracked_stream& stream,
                                const network_decider& decides,
                                bool may_start)
{
    const sample_history& history = stream.history;
    const std::size_t n = d_at_level.size();
    const std::size_t first = history.window_begin(history.next() - n);
    const bool explain_little = 2 * d_judge.relative_residual() > limit();
    if (!history.is_usable(first - stream.filter.reach()) || !explain_little ||
        !has_unusual_power(stream))
        return false;
    for (const float* taps : { stream.filter.bank().taps(), d_resumption.taps() }) {
        decides(at_level(stream, taps), d_at_level.data());
        const hypothesis proposed{ hypothesis::source::level,
                                   d_at_level.data(),
                                   n,
                                   derotated(stream),
                                   d_at_random };
        if (is_believed(stream, proposed) && may_start &&
            start(stream, proposed, displaced(stream)))
            return true;
    }
    fit_latest(stream);
    return false;
}

// The windows of the latest symbols, filtered by these taps and with unit power; valid until the next test.
feature_view recovery::at_level(tracked_stream& stream, const float* taps)
{
    const sample_history& history = stream.history;
    const window_geometry& window = history.window();
    const std::size_t n = d_at_level.size();
    const std::size_t first = history.window_begin(history.next() - n);
    const std::size_t samples = history.window_end(history.next() - 1) - first;
    const std::size_t floats = samples * history.floats_per_sample();
    float* const filtered = d_windows.data();
    stream.filter.run(history, stream.follower(), taps, first, samples, filtered);
    const double power = std::inner_product(filtered, filtered + floats, filtered, 0.0);
    const auto scale =
        static_cast<float>(std::sqrt(static_cast<double>(samples) / power));
    std::transform(
        filtered, filtered + floats, filtered, [&](float each) { return each * scale; });
    return { filtered, window.stride(), window.dimension(), n };
}

/* After a jump most labels are wrong: if more than three quarters of those found equal the stream's, the
 * taps follow by themselves, better than from so few symbols. */
bool recovery::propose_timing(tracked_stream& stream,
                              const network_decider& decides,
                              bool may_start)
{
    const timing_search::decisions found =
        d_timing.find(stream, d_resumption.taps(), decides);
    const std::size_t n = d_timing.size();
    if (!found.labels ||
        4 * count_alike(stream.history.decided(stream.history.next() - n),
                        found.labels,
                        n,
                        d_symmetries.front()) >
            3 * n)
        return false;
    const hypothesis proposed{
        hypothesis::source::timing, found.labels, n, found.samples, limit(), found.rotates
    };
    // Labels half a symbol earlier or more are those of the symbol before.
    const int later = 2 * found.earlier >= stream.history.window().sps() ? 1 : 0;
    if (is_believed(stream, proposed) && may_start &&
        start(stream, proposed, { later, 0 })) {
        d_schedule.note_jump();
        return true;
    }
    fit_latest(stream);
    return false;
}

// The latest symbols by an equalizer that knows nothing but the constellation.
bool recovery::propose_blindly(tracked_stream& stream, bool may_start)
{
    const sample_history& history = stream.history;
    const std::size_t first =
        history.sample(history.next() - blind_symbols) - d_blind_taps / 2;
    const std::size_t n = history.sample(blind_symbols - 1) + d_blind_taps;
    if (!history.is_usable(first))
        return false;
    const signal_planes received = history.received(first);
    remove_mean(received.re, n, d_blind_samples.re.data());
    const float* windows = d_blind_samples.re.data();
    if (stream.carrier) {
        remove_mean(received.im, n, d_blind_samples.im.data());
        stream.carrier->turn_settled(history, d_blind_samples, first, n, -1);
        windows = d_windows.data();
        for (std::size_t i = 0; i < n; ++i) {
            d_windows[2 * i] = d_blind_samples.re[i];
            d_windows[2 * i + 1] = d_blind_samples.im[i];
        }
    }
    const window_geometry& window = history.window();
    const std::uint8_t* const labels =
        d_blind->find({ windows,
                        window.stride(),
                        d_blind_taps * history.floats_per_sample(),
                        blind_symbols });
    if (!labels)
        return false;
    const std::size_t owned = history.owned(history.latest(judge::symbols));
    const hypothesis proposed{ hypothesis::source::blind,
                               labels,
                               blind_symbols,
                               d_blind_samples +
                                   static_cast<std::ptrdiff_t>(owned - first),
                               limit() };
    return is_believed(stream, proposed) && may_start &&
           start(stream, proposed, d_channel.find(d_judge.channel(), 0));
}

/* Remembers the channel of the latest labels, if they determine it and explain the samples as well as
 * those before. If the stream was lost meanwhile, its labels may be late or rotated: then the taps start
 * from the corrected labels. */
recovery::outcome recovery::settle(tracked_stream& stream, bool may_start)
{
    if (d_resumption.is_pause())
        return outcome::open;
    const sample_history& history = stream.history;
    const std::uint8_t* const latest = history.decided(history.latest(judge::symbols));
    const float left = d_judge.residual();
    const float most =
        limit() *
        static_cast<float>(history.sample(judge::symbols)); // of what is looked at
    const bool as_usual = d_usual > 0 ? is_as_usual() : !was_lost();
    const bool well = clearly_less(left, most);
    if (!d_variety.is_enough(latest)) {
        if (!well && d_usual > 0)
            apply(recovery_event::unexplained);
        return outcome::open;
    }
    if (!(well || (left < most && as_usual)))
        return outcome::open;
    if (was_lost()) {
        const displacement by = displaced(stream);
        // Some of the labels may still be from before it found back: it has to be seen twice.
        if (!(std::exchange(d_displaced, by) == by))
            return outcome::open;
        if (!by.none()) {
            const std::size_t n = std::min(history.known(), blind_symbols);
            const hypothesis proposed{ hypothesis::source::present,
                                       history.decided(history.next() - n),
                                       n,
                                       derotated(stream),
                                       limit() };
            if (!may_start || !start(stream, proposed, by))
                return outcome::open;
            forget_loss();
            apply(recovery_event::settles);
            return outcome::started;
        }
    }
    d_channel.remember(d_judge.channel());
    // A larger residual becomes the usual one by and by: until then its cause may be a wrong phase.
    const bool takes = d_usual == 0 || is_as_usual();
    if (takes && !has_unusual_power(stream))
        d_resumption.remember(stream);
    d_usual = takes ? left : as_before * d_usual;
    forget_loss();
    apply(recovery_event::settles);
    return outcome::settled;
}

// Whether the latest labels surely do not have the constellation's power.
bool recovery::has_unusual_power(const tracked_stream& stream) const
{
    const std::size_t n = d_unfiltered_labels.size();
    return d_power.is_unusual(stream.history.decided(stream.history.next() - n), n);
}

// Delay and rotation of the labels whose channel the judge has.
displacement recovery::displaced(const tracked_stream& stream) const
{
    const double ahead = stream.carrier ? stream.carrier->ahead(stream.history) : 0;
    return d_channel.find(d_judge.channel(), ahead);
}

/* Starts from labels after correcting their delay and rotation: those that have no
 * settled phase have the present one. */
bool recovery::start(tracked_stream& stream,
                     const hypothesis& proposed,
                     const displacement& by)
{
    const std::size_t n = proposed.n;
    if (n < judge::symbols)
        return false;
    const std::size_t count = std::min(d_proposed.size(), n - displacement::most_late);
    const std::size_t last = n - static_cast<std::size_t>(std::max(by.later, 0));
    for (std::size_t k = 0; k < count; ++k)
        d_proposed[k] =
            d_symmetries[by.turned][proposed.labels[last - count + k +
                                                    static_cast<std::size_t>(by.later)]];
    carrier_follower* const carrier = stream.follower();
    const auto before = carrier ? carrier->settled() : carrier_follower::moment{};
    if (carrier && !proposed.has_settled_phase() && !carrier->idle())
        carrier->set_settled(
            carrier->present(stream.history,
                             2 * M_PI * static_cast<double>(by.turned) /
                                 static_cast<double>(d_symmetries.size())));
    if (!stream.start(d_proposed.data(),
                      count,
                      stream.history.next() - (n - last),
                      proposed.rotates,
                      proposed.most)) {
        if (carrier)
            carrier->set_settled(before);
        return false;
    }
    stream.history.forget_labels(); // earlier labels have another delay or rotation
    forget_tests();
    d_has_started = true;
    d_resumption.note_signal();
    ++d_resets;
    d_corrections += !by.none();
    apply(recovery_event::starts);
    return true;
}

void recovery::apply(recovery_event event)
{
    const bool was_used = is_used(), had_lost = was_lost();
    d_state = after(d_state, event);
    d_by_remembered = d_by_remembered && d_state != recovery_state::following &&
                      d_state != recovery_state::trained;
    if (was_lost() && !had_lost)
        d_schedule.forget_loss(); // tests so far were of a stream that was followed
    d_changes += event == recovery_event::starts || event == recovery_event::trains ||
                 event == recovery_event::resets || is_used() != was_used;
}

void recovery::start_from(tracked_stream& stream, const carrier_line::line& found)
{
    start_over(stream);
    d_has_started = true;
    d_resumption.note_signal();
    stream.carrier->begin(stream.history, found);
    stream.history.forget_labels(); // that were decided with another phase
    ++d_resets;
}

void recovery::start_over(tracked_stream& stream)
{
    stream.start_over();
    d_has_started = false;
    d_resumption.forget_signal();
    forget_tests();
    apply(recovery_event::starts);
}

void recovery::state(archive& members)
{
    members("judge", d_judge);
    members("ambiguity", d_ambiguity);
    members("channel", d_channel);
    auto state = static_cast<std::size_t>(d_state);
    members("state", state, std::size_t{ 0 }, recovery_states - 1);
    if (d_state !=
        static_cast<recovery_state>(state)) // a reader that saves changes nothing
        d_state = static_cast<recovery_state>(state);
    d_schedule.state(members);
    d_displaced.state(members, "", d_symmetries.size());
    d_reported.state(members, "shown_", d_symmetries.size());
    d_resumption.state(members);
    members("holds", d_by_remembered);
    members("is_raw", d_unfiltered_is_better);
    members("has_started", d_has_started);
    members("usual", d_usual, 0.0f, 1e12f);
    members("resets", d_resets);
}

} // namespace gr::adann::core
