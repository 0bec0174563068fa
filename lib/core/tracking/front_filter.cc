/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/front_filter.h"

#include "core/common/checks.h"
#include "core/signal/pause_detector.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace gr::adann::core {

namespace {

tracked_stream make_stream(const std::shared_ptr<const expected_waveform>& waveform,
                           const window_geometry& window,
                           const constellation& symbols,
                           const front_filter_settings& settings)
{
    settings.check();
    const std::size_t taps = odd_taps(settings.length, window.sps());
    const std::size_t past = recovery::symbols_needed(*waveform) +
                             whole_symbols(taps, window.sps()) +
                             whole_symbols(window.samples(), window.sps()) + 2;
    const sample_history history(window,
                                 taps / 2,
                                 waveform->reach(),
                                 symbols.size(),
                                 past,
                                 front_filter::most_apart * front_filter::block);
    const learning_target target(waveform, symbols, tracked_stream::most_known);
    std::optional<carrier_follower> carrier;
    const auto drawn = waveform->drawn();
    corrections corrected{
        input_level(drawn, waveform->is_complex() ? 2 : 1, waveform->noise_power()),
        impulse_detector(window.sps(), waveform->peak()),
        interfering_tones(window.sps(), waveform->is_complex()),
        {},
        { taps / 2, window.sps(), waveform->is_complex() }
    };
    if (waveform->is_complex()) {
        carrier.emplace(*waveform, symbols, history);
        corrected.iq.emplace(symbols, drawn);
    }
    const adaptive_filter filter(target,
                                 history,
                                 taps,
                                 odd_taps((settings.length + 1) / 2, window.sps()),
                                 front_filter::block,
                                 settings.memories,
                                 front_filter::most_apart,
                                 tracked_stream::most_known);
    return { history, target, corrected, carrier, filter };
}

} // namespace

void front_filter_settings::check() const
{
    check_range("front filter's length", length, 1u, 64u);
    check_range<std::size_t>(
        "number of the front filter's memories", memories.size(), 1, 8);
    std::size_t least = front_filter::block;
    for (const std::size_t memory : memories) {
        check_range<std::size_t>("front filter's memory", memory, least, 10'000'000);
        least = memory + 1;
    }
}

front_filter::front_filter(const model& behind, const front_filter_settings& settings)
    : front_filter(behind,
                   std::make_shared<const expected_waveform>(waveform_of(behind)),
                   settings)
{
}

front_filter::front_filter(const model& behind,
                           const std::shared_ptr<const expected_waveform>& waveform,
                           const front_filter_settings& settings)
    : d_stream(make_stream(waveform, behind.window, behind.symbols, settings)),
      d_recovery(d_stream, waveform, behind.symbols),
      d_decides_well(d_stream.target.is_outdone_by(behind.symbol_error_rate)),
      d_own(most_apart * block),
      d_unfiltered((d_stream.history.sample(most_apart * block) +
                    behind.window.samples() + simd::lanes) *
                   d_stream.history.floats_per_sample()),
      d_training(most_training)
{
}

void front_filter::forget_samples()
{
    d_stream.history.forget();
    d_stream.corrected.forget_samples();
    d_recovery.forget_tries();
    d_pace.position = d_pace.update = 0;
    if (d_stream.carrier)
        d_stream.carrier->forget_line();
}

// Measures the level of the first window after an update. That window does not depend on how the
// stream is cut into calls. If the level has changed, the filter starts over with the new factor.
void front_filter::measure_level(const feature_view& windows)
{
    const tracking_state now = state();
    const bool is_lost = now == tracking_state::lost || now == tracking_state::doubtful;
    input_level& level = d_stream.corrected.level;
    const float before = level.factor();
    d_changed_level = level.look(windows.data, windows.dimension, is_lost);
    if (d_changed_level == level_change::none)
        return;
    // The next packet may have the level of the last one, and come through its channel.
    if (d_changed_level == level_change::of_signal)
        d_recovery.change_level(d_stream, level.factor() / before);
    else
        d_recovery.reset(d_stream);
    forget_corrections();
    forget_samples();
}

// The intervals after an update.
front_filter::pace front_filter::next_pace() const
{
    const std::size_t update = apart() * block;
    const auto& carrier = d_stream.carrier;
    const bool has_phase = carrier && !(carrier->loop().idle() && update > block);
    return { update, has_phase ? carrier_follower::step : update };
}

std::size_t front_filter::left() const
{
    const std::size_t step =
        d_pace.position ? d_pace.step - d_pace.position % d_pace.step : next_pace().step;
    return d_untrained ? std::min(step, d_untrained) : step;
}

feature_view front_filter::filter(const feature_view& windows)
{
    sample_history& history = d_stream.history;
    carrier_follower* const carrier = d_stream.follower();
    if (std::exchange(d_starts, false) && !history.goes_on(windows))
        forget_samples();
    const pace planned = next_pace(); // as left() has it, also if the level changes
    d_changed_level = level_change::none;
    if (d_pace.position == 0 && !d_holds && !d_untrained &&
        d_recovery.state() != recovery_state::trained) // training sets the gain as well
        measure_level(windows);
    if (const std::size_t moved = history.make_room(windows.count); moved && carrier)
        carrier->move_back(history, moved);
    d_stream.corrected.tones.search_if(d_recovery.has_more_noise() ||
                                       (d_recovery.state() != recovery_state::following &&
                                        d_recovery.state() != recovery_state::trained));
    history.load(windows, &d_stream.corrected);
    if (d_pace.position == 0)
        d_pace = planned;
    if (carrier && d_pace.position % d_pace.step == 0)
        carrier->loop().prepare(history.ready(),
                                history.window_end(history.next() + d_pace.step - 1));
    d_stream.filter.run(
        history, carrier, history.window_end(history.next() + windows.count - 1));
    return d_recovery.is_used()
               ? history.windows(history.next(), windows.count)
               : d_recovery.lost_windows(
                     d_stream, windows.count, d_pace.position, d_unfiltered);
}

acquisition_result front_filter::decided(const std::uint8_t* labels,
                                         const std::uint8_t* known,
                                         std::size_t n,
                                         decider& runs,
                                         const prepared_network& net,
                                         std::size_t since_quiet)
{
    constexpr std::size_t edge = pause_detector::group; // may have a part of it
    if (d_untrained ||
        d_recovery.state() == recovery_state::trained) // of a burst, whose ends are known
        since_quiet = std::numeric_limits<std::size_t>::max();
    const network_decider decides{ runs, net };
    d_holds = false;
    carrier_follower* const carrier = d_stream.follower();
    if (!d_recovery.is_used()) {
        const sample_history& history = d_stream.history;
        decides(history.windows(history.next(), n), d_own.data(), d_pace.position);
        labels = d_own.data();
    }
    const bool awaits = d_untrained;
    const bool ends_step = note(labels, known, n);
    if (ends_step && since_quiet < d_pace.step + edge) {
        carrier->skip(d_stream.history, d_pace.step);
    } else if (ends_step) {
        const float residual = d_stream.filter.bank().residual();
        carrier->search(d_stream.history,
                        d_stream.target,
                        decides,
                        d_pace.step,
                        std::isnan(residual) ? d_recovery.limit() : residual);
        carrier->measure(d_stream.history, d_stream.target, d_pace.step, is_hard());
        carrier->rotate_again(
            d_stream.history, decides, d_pace.step, d_recovery.is_used());
    }
    const std::size_t blocks = due();
    const auto found = awaits && !d_untrained ? acquire() : acquisition_result::pending;
    if (blocks && found != acquisition_result::acquired &&
        since_quiet >= block + d_stream.target.reach() + edge)
        follow(decides, blocks, since_quiet);
    return found;
}

// Updates the taps by the latest blocks; recovery tests whether the stream is still followed.
// A test's symbols are of a signal, too.
void front_filter::follow(const network_decider& decides,
                          std::size_t blocks,
                          std::size_t since_quiet)
{
    if (d_recovery.state() == recovery_state::trained)
        return update(blocks);
    const sample_history& history = d_stream.history;
    if (!history.symbols().count_unknown(history.next() - blocks * block,
                                         blocks * block)) {
        d_recovery.note_known_symbols(blocks * block);
        return update(blocks);
    }
    d_recovery.resolve(d_stream, blocks, d_untrained == 0);
    const std::size_t tested = judge::symbols + 2 * d_stream.target.reach();
    if (since_quiet >= tested + pause_detector::group)
        d_recovery.supervise(d_stream, decides, blocks, d_untrained == 0);
    update(blocks);
    d_recovery.check(d_stream);
    d_recovery.remember_or_resume(d_stream, decides, d_untrained == 0);
}

void front_filter::hold(const std::uint8_t* labels, std::size_t n)
{
    if (!std::exchange(d_holds, true)) // nothing compares while nothing is learnt
        d_recovery.forget_benefit();
    // These labels are given: there is nothing to decide at several phases.
    carrier_follower* const carrier = d_stream.follower();
    if (carrier)
        carrier->selection().stop();
    if (note(labels, nullptr, n)) {
        if (d_recovery.is_used())
            carrier->measure(d_stream.history, d_stream.target, d_pace.step, is_hard());
        else // the labels are decisions of unfiltered samples, which have another phase
            carrier->skip(d_stream.history, d_pace.step);
    }
    due();
}

// Returns whether a step of the carrier has ended.
bool front_filter::note(const std::uint8_t* labels,
                        const std::uint8_t* known,
                        std::size_t n)
{
    sample_history& history = d_stream.history;
    d_untrained -= std::min(d_untrained, n);
    if (d_stream.carrier)
        d_stream.carrier->note(history, history.next(), n);
    history.note(labels, n, known);
    d_pace.position += n;
    return d_stream.carrier && d_pace.position % d_pace.step == 0;
}

// Blocks since the latest update if the next one is due, else 0.
std::size_t front_filter::due()
{
    if (d_pace.position < d_pace.update)
        return 0;
    d_pace.position = 0;
    const std::size_t symbols = std::exchange(d_pace.update, 0);
    if (d_stream.carrier)
        d_stream.carrier->settled().pass(symbols);
    return symbols / block;
}

// Whether decisions count as sure: where the network decides far better than linear estimates, in as much noise as it
// was trained in, after a training sequence, whose taps have more error than the model's noise from which posteriors
// are computed, and while the filter is lost.
bool front_filter::is_hard() const
{
    return (d_decides_well && !d_recovery.has_more_noise()) ||
           d_recovery.state() == recovery_state::trained ||
           !d_recovery.explains(d_stream);
}

void front_filter::update(std::size_t blocks)
{
    const sample_history& history = d_stream.history;
    const std::size_t symbol = history.latest(block), first = history.owned(symbol);
    if (!d_recovery.explains(d_stream) && d_recovery.state() != recovery_state::trained &&
        history.knows(block) && history.is_usable(first))
        d_stream.corrected.learn_lost(history.received(first),
                                      history.symbols().decided(symbol),
                                      history.window().sps(),
                                      block);
    d_stream.filter.learn(d_stream.history,
                          d_stream.target,
                          d_stream.follower(),
                          d_stream.corrected,
                          blocks,
                          is_hard());
}

void front_filter::train(const std::uint8_t* labels, std::size_t n)
{
    check_range("training sequence's length",
                n,
                least_training(d_stream.target.waveform()),
                most_training);
    std::copy_n(labels, n, d_training.begin());
    d_trained = d_untrained = n;
}

// Starts from the training sequence whose symbols have just come; if they differ, nothing changes.
acquisition_result front_filter::acquire()
{
    const sample_history& history = d_stream.history;
    // The residual of other symbols is the whole power.
    const float most = acceptance_limit(d_stream.target.power());
    if (history.known() < d_trained ||
        !d_stream.start(d_training.data(), d_trained, history.next(), true, most))
        return acquisition_result::missed;
    d_pace.position = d_pace.update = 0;
    d_recovery.train();
    ++d_bursts;
    return acquisition_result::acquired;
}

void front_filter::begin_carrier(double frequency, double phase)
{
    if (d_stream.carrier)
        d_stream.carrier->begin(d_stream.history, frequency, phase);
}

void front_filter::reset()
{
    d_recovery.reset(d_stream);
    forget_corrections();
}

void front_filter::forget_corrections()
{
    d_stream.corrected.reset();
    if (d_pace.position) // the next update comes at the end of the present block
        d_pace.update = (d_pace.position + block) / block * block;
    if (d_pace.step > carrier_follower::step)
        d_pace.step = block;
    d_untrained = 0;
}

signal_planes front_filter::in_use() const
{
    const adaptive_filter& filter = d_stream.filter;
    const float* const used = d_recovery.taps(d_stream);
    const float* const taps = used ? used : filter.identity().data();
    return { taps, d_stream.carrier ? taps + filter.shape().pitch() : nullptr };
}

// The constant that the offset of complex taps removes: a constant of the samples passes all taps.
std::complex<float> front_filter::leakage() const
{
    if (!d_stream.carrier)
        return 0;
    const auto [re, im] = in_use();
    const std::complex<float> gain(std::accumulate(re, re + taps(), 0.0f),
                                   std::accumulate(im, im + taps(), 0.0f));
    const std::complex<float> offset(re[taps()], im[taps()]);
    return std::norm(gain) > 0 ? -offset / gain : 0;
}

front_filter_status front_filter::status() const
{
    const auto& carrier = d_stream.carrier;
    const corrections& corrected = d_stream.corrected;
    const late_echoes::echo echo = corrected.echoes.strongest();
    return { state(),
             d_recovery.memory(d_stream),
             d_stream.filter.residual(d_stream.target.noise()),
             d_recovery.resets(),
             carrier ? carrier->slips() : 0,
             carrier ? carrier->loop().phase() : 0,
             carrier ? carrier->loop().frequency() : 0,
             d_bursts,
             carrier ? 0 : in_use().re[taps()],
             corrected.iq ? corrected.iq->image() : 0,
             leakage(),
             static_cast<float>(echo.lag) /
                 static_cast<float>(d_stream.history.window().sps()),
             std::abs(echo.strength),
             corrected.tones.strongest().frequency() *
                 static_cast<float>(d_stream.history.window().sps()),
             corrected.tones.strongest().amplitude(),
             1 / corrected.level.factor() };
}

void front_filter::state(archive& members)
{
    std::size_t count = taps();
    members("taps", count);
    if (count != taps())
        members.refuse("taps",
                       "are " + std::to_string(count) + ", but the front filter has " +
                           std::to_string(taps()));
    members("bank", d_stream.filter.bank());
    members("target", d_stream.target);
    members("history", d_stream.history);
    if (d_stream.carrier)
        d_stream.carrier->state(members, d_stream.history);
    members("corrections", d_stream.corrected);
    members("recovery", d_recovery);
    members("bursts", d_bursts);
    members("holds", d_holds);
    members("update", d_pace.update, std::size_t{ 0 }, most_apart * block);
    members("step", d_pace.step, carrier_follower::step, most_apart * block);
    members("position", d_pace.position);
    if (d_pace.update % block || d_pace.step % carrier_follower::step ||
        d_pace.update % d_pace.step)
        members.refuse("update", "is not one of these blocks");
    if (d_pace.position ? d_pace.position >= d_pace.update : d_pace.update != 0)
        members.refuse("position", "is out of range");
}

} // namespace gr::adann::core
