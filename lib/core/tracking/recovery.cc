/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/recovery.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr float far_more = 2; // times the mean residual: no block has as much by chance
constexpr float more =
    1.5f; // by chance few blocks have: chosen on steps of level and phase
// Of a carrier's line it is what one test knows, and the next one compares with.
static_assert(recovery::tested_every == carrier_follower::checked_every);

} // namespace

recovery::recovery(const tracked_stream& stream,
                   std::shared_ptr<const expected_waveform> waveform,
                   const constellation& alphabet)
    : d_symmetries(alphabet.symmetries()),
      d_noise(*waveform, alphabet, judge::symbols),
      d_evidence(stream, waveform, alphabet),
      d_ambiguity(alphabet, stream.target.variance()),
      d_channel(*waveform,
                d_symmetries.size(),
                d_evidence.shape().taps(),
                d_evidence.shape().pitch()),
      d_level(stream, alphabet, waveform->probabilities()),
      d_timing(stream, alphabet),
      d_blind(stream, alphabet),
      d_lost(stream, alphabet, waveform->probabilities()),
      d_residual(stream.history.sample(judge::symbols), stream.history.is_complex()),
      d_samples(stream.carrier ? 2 * stream.history.sample(judge::symbols) : 0),
      d_proposed(tracked_stream::most_known)
{
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
    const bool follows_carrier = stream.carrier && !stream.carrier->loop().idle();
    const float most = follows_carrier ? limit() : d_noise.limit_without_carrier();
    if (clearly_less(latest, most)) // a burst of noise has passed that the mean still has
        return false;
    // While the phase is searched, a single block exceeds where the phase ran away for some symbols.
    const bool is_sudden = !(stream.carrier && stream.carrier->selection().is_on()) &&
                           latest > most && latest > far_more * mean;
    return mean > most || is_sudden;
}

const float* recovery::taps(const tracked_stream& stream) const
{
    if (d_lost.are_remembered())
        return d_lost.remembered().taps();
    return is_used() ? stream.filter.bank().taps() : nullptr;
}

std::size_t recovery::memory(const tracked_stream& stream) const
{
    if (d_lost.are_remembered())
        return d_lost.remembered().memory();
    return is_used() ? stream.filter.bank().memory() : 0;
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

void recovery::note_known_symbols(std::size_t symbols)
{
    const bool was_used = is_used();
    d_benefit.pass_known(symbols);
    d_changes += is_used() != was_used;
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
    d_noise.reset();
    stream.target.set_noise_power(d_noise.power());
    forget(stream);
    d_lost.remembered().reset(stream);
    d_evidence.forget_usual();
}

void recovery::change_level(tracked_stream& stream, float by)
{
    forget(stream);
    d_lost.remembered().scale(stream, by);
    d_evidence.scale(by);
    if (d_lost.remembered().remembers())
        apply(recovery_event::fails);
}

void recovery::forget(tracked_stream& stream)
{
    start_over(stream);
    if (stream.carrier)
        stream.carrier->settled().forget();
    d_channel.reset();
    forget_loss();
    apply(recovery_event::resets);
}

// Earlier comparisons were of labels by other taps.
void recovery::forget_tests()
{
    d_evidence.forget_comparisons();
    d_ambiguity.reset();
    d_reported = d_displaced = {};
    d_schedule.forget_tests();
}

void recovery::forget_loss()
{
    d_lost.forget_loss();
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
        if (history.symbols().is_label_known(k))
            d_ambiguity.take(history.symbols().known_label(k),
                             history.symbols().estimates(k),
                             history.symbols().decided(k));
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
        if (!may_start ||
            !start_from_present(stream, { by.later, (turns - by.turned) % turns }))
            return;
    }
    d_channel.reset();
}

bool recovery::start_from_present(tracked_stream& stream, displacement by)
{
    const sample_history& history = stream.history;
    const std::size_t n = std::min(history.known(), blind_search::symbols);
    const hypothesis proposed{
        hypothesis::source::present, history.symbols().decided(history.next() - n), n, {}
    };
    if (!start(stream, proposed, by))
        return false;
    forget_loss();
    apply(recovery_event::settles);
    return true;
}

void recovery::supervise(tracked_stream& stream,
                         const network_decider& decides,
                         std::size_t blocks,
                         bool may_start)
{
    d_benefit.pass(blocks * tracked_stream::block);
    const bool seldom =
        status(stream) == tracking_state::following && !d_benefit.is_harmful();
    if (d_schedule.pass(blocks, seldom))
        test(stream, decides, may_start);
}

void recovery::remember_or_resume(tracked_stream& stream,
                                  const network_decider& decides,
                                  bool may_start)
{
    const bool was_used = is_used();
    resumption& remembered = d_lost.remembered();
    d_lost.stop();
    if (d_state == recovery_state::following) {
        remembered.follow(stream);
    } else if (may_start && remembered.remembers()) {
        const resumption::tried held = remembered.decide(stream, decides);
        if (remembered.is_pause() && d_state == recovery_state::interrupted)
            apply(recovery_event::fails);
        const bool was_in_use = d_state == recovery_state::interrupted;
        if (d_lost.goes_back(stream, held, was_in_use, limit())) {
            remembered.resume(stream);
            forget_tests();
            forget_loss();
            apply(recovery_event::settles);
        } else {
            d_lost.choose(d_state == recovery_state::lost);
        }
    }
    d_changes += is_used() != was_used;
}

/* Whether labels that differ from those without the filter by a delay or a rotation are wrong. Known symbols indicate
 * that themselves: resolve(). Labels are late since the channel has walked if the stream has been followed until lately,
 * and its channel is still nearest to the one at the last test. */
bool recovery::are_displaced(const tracked_stream& stream)
{
    d_evidence.fit_latest(stream);
    constexpr std::size_t n = judge::symbols;
    const bool has_known =
        stream.history.symbols().count_unknown(stream.history.latest(n), n) < n;
    const bool has_walked = !d_schedule.is_long_lost() && displaced(stream).none();
    return !has_known && !has_walked;
}

// Not in a pause, nor of labels that any taps may explain: these have a small residual.
void recovery::test_noise(tracked_stream& stream)
{
    const sample_history& history = stream.history;
    const std::size_t symbol = history.latest(judge::symbols),
                      first = history.owned(symbol);
    const std::uint8_t* const labels = history.symbols().labels(symbol);
    if (d_lost.remembered().is_pause() || !history.is_usable(first) ||
        !d_evidence.determines(history.symbols().decided(symbol)))
        return;
    const float* samples = history.filtered(first);
    if (stream.carrier &&
        stream.carrier->selection().is_on()) { // labels are at other phases
        std::copy_n(samples, d_samples.size(), d_samples.begin());
        rotate_by_steps(stream.target.expect(labels, judge::symbols),
                        history.sample(carrier::step),
                        d_samples.data(),
                        judge::symbols / carrier::step);
        samples = d_samples.data();
    }
    if (d_noise.test(stream.residual().mean, stream.target.waveform(), labels, samples))
        d_evidence.forget_usual();
}

/* Of complex samples, while no residual of the stream is known to be usual: at its start, and after its noise has
 * risen. Decisions that count as sure hide a slow carrier, or rotate with a wrong phase. And of a stream that is lost for
 * long: so many labels may be wrong that test_noise() does not recognise the rest as right. */
void recovery::test_unfiltered_noise(tracked_stream& stream)
{
    const sample_history& history = stream.history;
    const std::size_t first = history.owned(history.latest(judge::symbols));
    const std::uint8_t* const labels = &d_evidence.unfiltered()[stream.target.reach()];
    if (d_lost.remembered().is_pause() || !history.is_usable(first) ||
        !d_evidence.determines(labels))
        return;
    const signal_planes received = history.received(first);
    const std::size_t n = history.sample(judge::symbols);
    for (std::size_t i = 0; i < n; ++i) {
        d_samples[2 * i] = received.re[i];
        d_samples[2 * i + 1] = received.im[i];
    }
    const float* const expected = stream.target.expect(labels, judge::symbols);
    float sum = 0;
    for (std::size_t k = 0; k < d_samples.size(); ++k)
        sum += (d_samples[k] - expected[k]) * (d_samples[k] - expected[k]);
    // Those of the fit, less its unknowns.
    const std::size_t fitted = n + 1 - 2 * d_evidence.shape().taps();
    if (d_noise.test_unfiltered(
            { sum / static_cast<float>(n),
              d_evidence.unfiltered_energy() / static_cast<float>(fitted) },
            stream.target.waveform(),
            labels,
            d_samples.data()))
        d_evidence.forget_usual();
}

// Labels that are late or rotated relative to those without the filter are not compared.
void recovery::compare_benefit(const tracked_stream& stream, judge::verdict found)
{
    const bool was_used = is_used(), is_clear = found == judge::verdict::clear;
    if (!is_followed() || found == judge::verdict::displaced ||
        d_evidence.is_rotated(stream))
        d_benefit.skip(is_clear);
    else
        d_benefit.add(
            d_evidence.residual_energy(), d_evidence.unfiltered_energy(), is_clear);
    d_changes += is_used() != was_used;
}

void recovery::forget_benefit()
{
    const bool was_used = is_used();
    d_benefit.reset();
    d_changes += is_used() != was_used;
}

void recovery::test(tracked_stream& stream,
                    const network_decider& decides,
                    bool may_start)
{
    sample_history& history = stream.history;
    const std::vector<std::uint8_t>& unfiltered = d_evidence.unfiltered();
    const std::size_t first = history.next() - unfiltered.size();
    if (history.known() < unfiltered.size() ||
        !history.is_usable(history.window_begin(first)))
        return;
    const bool was_used = is_followed();
    judge::verdict found = d_evidence.compare(stream, decides);
    compare_benefit(stream, found);
    test_noise(stream);
    if (found != judge::verdict::displaced &&
        (!d_evidence.has_usual() || d_schedule.is_long_lost()) &&
        d_noise.wants_unfiltered(stream.residual().mean))
        test_unfiltered_noise(stream);
    stream.target.set_noise_power(d_noise.power());
    if (found != judge::verdict::displaced && d_state == recovery_state::doubtful &&
        d_evidence.shows_signal())
        d_lost.remembered().note_signal();
    find_echoes(stream);
    if (found == judge::verdict::displaced && !are_displaced(stream))
        found = judge::verdict::open;
    // Taps that put out a constant explain it: in noise a lost stream's own decisions lead there.
    const bool fails = exceeds(stream) ||
                       (d_state == recovery_state::lost &&
                        !d_evidence.determines(
                            history.symbols().decided(history.latest(judge::symbols))));
    const bool stays_better = fails && found == judge::verdict::clear;
    apply(stays_better ? recovery_event::stays_better
          : fails      ? recovery_event::fails
                       : recovery_event::explains);
    if (d_state == recovery_state::lost)
        d_lost.test(stream, decides, d_evidence);
    const bool has_changed = found != judge::verdict::displaced &&
                             d_evidence.has_usual() && !d_evidence.is_as_usual();
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
    if (tries.timing && d_evidence.has_usual() && stream.has_steady_phase() &&
        propose_timing(stream, decides, may_start))
        result = outcome::started;
    else if (!is_worse && !fails && has_residual)
        result = settle(stream, may_start);
    if (result == outcome::open && tries.blindly && was_lost() &&
        propose_blindly(stream, may_start))
        result = outcome::started;
    if (result == outcome::started)
        return;
    if (d_schedule.end_test(was_used || is_followed()) || is_worse) {
        // An image may be of what was no signal: not the first, but the next start is without.
        if (stream.corrected.iq && d_schedule.is_long_lost())
            stream.corrected.iq->reset();
        if (const auto line = stream.carrier ? stream.carrier->find_line() : std::nullopt)
            return start_from(stream, *line);
        start_over(stream);
        ++d_resets;
        history.filter_again();
        history.symbols().relabel(first, unfiltered.data(), unfiltered.size());
    } else if (stream.carrier && !fails && has_residual) {
        const bool settled = result == outcome::settled;
        if (const auto line = stream.carrier->check(history, settled))
            start_from(stream, *line);
    }
}

/* Late echoes are learnt from the residual of the unfiltered samples as well: the taps hide one, or start over repeatedly
 * while the filter is lost, and then their residual shows their errors. An image is not learnt so, as dense
 * constellations with an image are decided wrongly. */
void recovery::find_echoes(tracked_stream& stream)
{
    const sample_history& history = stream.history;
    const std::size_t n = history.sample(judge::symbols);
    const signal_planes received =
        history.received(history.owned(history.latest(judge::symbols)));
    float* const rest = stream.target.expect(
        &d_evidence.unfiltered()[stream.target.reach()], judge::symbols);
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

bool recovery::propose_at_level(tracked_stream& stream,
                                const network_decider& decides,
                                bool may_start)
{
    const bool explain_little = 2 * d_evidence.relative_residual() > limit();
    if (!d_level.is_usable(stream) || !explain_little ||
        !d_level.has_unusual_power(stream))
        return false;
    for (const float* taps :
         { stream.filter.bank().taps(), d_lost.remembered().taps() }) {
        const hypothesis proposed{ hypothesis::source::level,
                                   d_level.find(stream, taps, decides),
                                   d_level.size(),
                                   d_evidence.derotated(stream) };
        if (d_evidence.is_believed(stream, proposed) && may_start &&
            start(stream, proposed, displaced(stream)))
            return true;
    }
    d_evidence.fit_latest(stream);
    return false;
}

/* After a jump most labels are wrong: if more than three quarters of those found equal the stream's, the
 * taps follow by themselves, better than from so few symbols. */
bool recovery::propose_timing(tracked_stream& stream,
                              const network_decider& decides,
                              bool may_start)
{
    const timing_search::decisions found =
        d_timing.find(stream, d_lost.remembered().taps(), decides);
    const std::size_t n = d_timing.size();
    if (!found.labels ||
        4 * count_alike(stream.history.symbols().decided(stream.history.next() - n),
                        found.labels,
                        n,
                        d_symmetries.front()) >
            3 * n)
        return false;
    const hypothesis proposed{
        hypothesis::source::timing, found.labels, n, found.samples, found.rotates
    };
    // Labels half a symbol earlier or more are those of the symbol before.
    const int later = 2 * found.earlier >= stream.history.window().sps() ? 1 : 0;
    if (d_evidence.is_believed(stream, proposed) && may_start &&
        start(stream, proposed, { later, 0 })) {
        d_schedule.note_jump();
        return true;
    }
    d_evidence.fit_latest(stream);
    return false;
}

bool recovery::propose_blindly(tracked_stream& stream, bool may_start)
{
    const blind_search::decisions found = d_blind.find(stream);
    if (!found.labels)
        return false;
    const hypothesis proposed{
        hypothesis::source::blind, found.labels, blind_search::symbols, found.samples
    };
    return d_evidence.is_believed(stream, proposed) && may_start &&
           start(stream, proposed, d_channel.find(d_evidence.channel(), 0));
}

/* Remembers the channel of the latest labels, if they determine it and explain the samples as well as
 * those before. If the stream was lost meanwhile, its labels may be late or rotated: then the taps start
 * from the corrected labels. */
recovery::outcome recovery::settle(tracked_stream& stream, bool may_start)
{
    if (d_lost.remembered().is_pause())
        return outcome::open;
    const sample_history& history = stream.history;
    const float left = d_evidence.residual_energy();
    // Of all samples. The fit has fewer, by its taps, and as many unknowns: the limit is up to 1.3 times looser than by
    // the mean square.
    const float most = limit() * static_cast<float>(history.sample(judge::symbols));
    const bool as_usual = d_evidence.has_usual() ? d_evidence.is_as_usual()
                                                 : !was_lost() || d_noise.is_raised();
    const bool well = clearly_less(left, most);
    if (!d_evidence.determines(
            history.symbols().decided(history.latest(judge::symbols)))) {
        if (!well && d_evidence.has_usual())
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
        if (!by.none())
            return may_start && start_from_present(stream, by) ? outcome::started
                                                               : outcome::open;
    }
    d_channel.remember(d_evidence.channel());
    if (d_evidence.confirm() && !d_level.has_unusual_power(stream))
        d_lost.remembered().remember(stream);
    forget_loss();
    apply(recovery_event::settles);
    return outcome::settled;
}

// Delay and rotation of the labels that were fitted last.
displacement recovery::displaced(const tracked_stream& stream) const
{
    const double ahead = stream.carrier ? stream.carrier->ahead(stream.history) : 0;
    return d_channel.find(d_evidence.channel(), ahead);
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
    const float most =
        proposed.from == hypothesis::source::level ? d_noise.at_random() : limit();
    const std::size_t count = std::min(d_proposed.size(), n - displacement::most_late);
    const std::size_t last = n - static_cast<std::size_t>(std::max(by.later, 0));
    for (std::size_t k = 0; k < count; ++k)
        d_proposed[k] =
            d_symmetries[by.turned][proposed.labels[last - count + k +
                                                    static_cast<std::size_t>(by.later)]];
    carrier_follower* const carrier = stream.follower();
    const auto before = carrier ? carrier->settled().latest() : settled_carrier::moment{};
    if (carrier && !proposed.has_settled_phase() && !carrier->loop().idle())
        carrier->settled().set(carrier->present(
            stream.history, symmetry_angle(d_symmetries.size(), by.turned)));
    if (!stream.start(d_proposed.data(),
                      count,
                      stream.history.next() - (n - last),
                      proposed.rotates,
                      most)) {
        if (carrier)
            carrier->settled().set(before);
        return false;
    }
    d_noise.forget_tests();
    stream.history.forget_labels(); // earlier labels have another delay or rotation
    forget_tests();
    d_lost.note_start();
    ++d_resets;
    d_corrections += !by.none();
    apply(recovery_event::starts);
    return true;
}

void recovery::apply(recovery_event event)
{
    const bool was_used = is_used(), had_lost = was_lost();
    d_state = after(d_state, event);
    if (d_state == recovery_state::following || d_state == recovery_state::trained)
        d_lost.stop();
    if (was_lost() && !had_lost)
        d_schedule.forget_loss(); // tests so far were of a stream that was followed
    if (event == recovery_event::trains || event == recovery_event::resets)
        d_benefit.reset();
    d_changes += event == recovery_event::starts || event == recovery_event::trains ||
                 event == recovery_event::resets || is_used() != was_used;
}

void recovery::start_from(tracked_stream& stream, const carrier_line::line& found)
{
    start_over(stream);
    d_lost.note_start();
    stream.carrier->begin(stream.history, found);
    stream.history.forget_labels(); // that were decided with another phase
    ++d_resets;
}

void recovery::start_over(tracked_stream& stream)
{
    stream.start_over();
    d_lost.forget_start();
    forget_tests();
    apply(recovery_event::starts);
}

void recovery::state(archive& members)
{
    d_evidence.state(members);
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
    d_lost.state(members);
    members("benefit", d_benefit);
    members("noise_level", d_noise);
    members("resets", d_resets);
}

} // namespace gr::adann::core
