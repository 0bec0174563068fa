/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/carrier_follower.h"

#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
// Residual over noise: a mean over five blocks of complex samples has a deviation of 0.05.
constexpr float more_than_noise = 1.25f;
// Residual of the taps on a signal without noise, by their regularisation: -60 dB.
constexpr float least_left = 1e-6f;
// Least coherence of a steady carrier's line: with a strong echo it scatters by 0.03 below 1; phase
// noise makes it smaller.
constexpr double steady = 0.9;
// Cycles per symbol: an eighth of a cycle from one check to the next.
constexpr double slowest_line = 0.125 / carrier_follower::checked_every;
// Steps in which that distinguishes it from a phase of zero.
constexpr std::size_t slowest_is_seen =
    carrier_follower::checked_every / carrier_follower::step;
static_assert(block_symbols % carrier_follower::step == 0);
} // namespace

carrier_follower::carrier_follower(const expected_waveform& waveform,
                                   const constellation& alphabet,
                                   const sample_history& history)
    : d_loop(history.most_samples(),
             history.window().sps(),
             waveform.reach() +
                 history.window().samples_before() / history.window().sps(),
             phase_search::tolerated(alphabet)),
      d_line(waveform, alphabet),
      d_slip_detector(symmetry()),
      d_selection(alphabet, history.window(), waveform.reach(), history.most_symbols()),
      d_hindsight(history.window(), waveform.reach()),
      d_tolerated(phase_search::tolerated(alphabet))
{
}

void carrier_follower::note(const sample_history& history,
                            std::size_t symbol,
                            std::size_t n)
{
    d_hindsight.forget();
    for (std::size_t k = symbol; k < symbol + n; ++k) {
        const signal_planes middle = history.received(history.sample(k));
        d_line.take({ *middle.re, *middle.im });
    }
}

void carrier_follower::move_back(const sample_history& history, std::size_t symbols)
{
    d_selection.move_back(symbols);
    d_loop.move_back(history.sample(symbols));
}

/* Whether to search the phase. The rotation is surely a carrier's if the loop started from a
 * line, rotates as fast as one, or has so much phase noise that decisions at the predicted phase
 * may be wrong. A residual above the noise counts, too: the loop may be locked at a false phase,
 * where only some of the constellation's points fall onto others. */
bool carrier_follower::has_carrier(const learning_target& target, float residual) const
{
    const float noise = std::max(target.noise_power(), least_left);
    return d_from_line || std::abs(d_settled.frequency()) > slowest_line ||
           residual > more_than_noise * noise || has_phase_noise(target);
}

bool carrier_follower::has_phase_noise(const learning_target& target) const
{
    return phase_search::is_worth(d_loop.spread() - 2 * target.phase_variance(step),
                                  d_tolerated);
}

void carrier_follower::search(sample_history& history,
                              learning_target& target,
                              const network_decider& decides,
                              std::size_t taken,
                              float residual)
{
    const std::size_t symbol = history.latest(step), first = history.owned(symbol);
    const std::size_t n = history.sample(step);
    const double power = power_of(history.filtered(first), n);
    const bool searches = d_selection.is_possible() && taken == step && !d_loop.idle() &&
                          !target.blurs_phase() && has_carrier(target, residual) &&
                          phase_search::has_signal(power / target.power(), n);
    if (!searches)
        return d_selection.stop();
    if (!d_selection.is_on())
        d_selection.begin(history, d_loop, first - n / 2, residual);
    d_selection.select(history, target, d_loop, decides);
}

void carrier_follower::add_ambiguity(sample_history& history, std::size_t turned)
{
    d_loop.add_ambiguity(symmetry() * static_cast<double>(turned));
    forget_decisions(history);
    d_settled.set_phase(phase_now(history));
    d_settled.confirm();
    ++d_slips;
}

// Labels were decided at another rotation, and samples that are still to be decided were rotated by it.
void carrier_follower::forget_decisions(sample_history& history)
{
    d_selection.stop();
    history.forget_labels();
    history.filter_again();
}

double carrier_follower::phase_now(const sample_history& history) const
{
    return d_loop.phase_at(history.sample(history.next()));
}

// At most the steps of a block are measured; earlier ones are passed over.
void carrier_follower::measure(sample_history& history,
                               learning_target& target,
                               std::size_t taken,
                               bool hard)
{
    for (std::size_t back = taken; back > 0; back -= step) {
        const std::size_t symbol = history.latest(back), first = history.owned(symbol);
        if (back > block_symbols || !history.knows(back) || !history.is_usable(first)) {
            d_loop.skip(first);
            continue;
        }
        const bool is_soft = !d_selection.is_on() && !hard;
        if (is_soft)
            target.soften(history, symbol, step);
        const bool known_only = is_soft && target.hides_phase();
        const float* const expected = known_only
                                          ? target.aim_known(history, symbol, step)
                                          : target.aim(history, symbol, step, hard);
        const float* const samples = history.filtered(first);
        const std::size_t n = history.sample(step);
        if (!expected ||
            !phase_search::has_signal(power_of(samples, n) / target.power(), n))
            d_loop.skip(first);
        else if (is_soft && !known_only && target.blurs_phase())
            d_loop.measure_by_means(expected, samples, first, target.power());
        else
            d_loop.measure(expected,
                           samples,
                           first,
                           !hard && target.is_uncertain() ? phase_reference::labels
                                                          : phase_reference::decisions);
    }
}

// The search's phases are those of the latest step that was measured.
void carrier_follower::skip(const sample_history& history, std::size_t taken)
{
    d_selection.stop();
    for (std::size_t back = taken; back > 0; back -= step)
        d_loop.skip(history.owned(history.latest(back)));
}

void carrier_follower::rotate_again(const sample_history& history,
                                    const network_decider& decides,
                                    std::size_t taken,
                                    bool in_use)
{
    if (in_use && taken == step && !d_loop.idle())
        d_hindsight.rotate(history, d_loop, d_selection.is_on() ? &decides : nullptr);
    else
        d_hindsight.forget();
}

void carrier_follower::absorb_tap_phase(const sample_history& history, float ahead)
{
    d_loop.turn(-ahead, history.first_sample(), history.ready());
    d_selection.turn(-ahead);
}

// A phase of the taps beyond half a symmetry is not
// counted: labels would agree with the next symmetry.
float carrier_follower::turned_by(std::size_t sample, float taps) const
{
    const float turned = std::arg(d_loop.rotation(sample));
    return d_loop.idle() || std::abs(taps) > symmetry() / 2 ? turned : turned - taps;
}

// By the advance of the loop's phase since it was confirmed, and that by the line's frequency.
double carrier_follower::find_slip(const sample_history& history,
                                   const carrier_line::line& found)
{
    const double further = d_settled.phase_before() +
                           whole_turn * found.frequency * d_settled.since() -
                           phase_now(history);
    return d_slip_detector.find(further,
                                !d_settled.is_by_line() && found.coherence >= steady);
}

std::optional<carrier_line::line> carrier_follower::check(sample_history& history,
                                                          bool settled)
{
    const bool first = !d_settled.is_by_line();
    const double frequency = d_loop.frequency();
    std::optional<double> of_line;
    if (d_line.is_ready() && (first || !d_loop.idle())) {
        const auto found = d_line.find(frequency, slowest_line);
        if (!found && first)
            if (const auto start = find_line(steady))
                return start;
        if (found)
            of_line = found->frequency;
        if (found && !d_loop.idle() && d_settled.is_recent())
            if (const double slipped = find_slip(history, *found); slipped != 0) {
                ++d_slips;
                d_loop.turn(slipped);
                forget_decisions(history);
            }
    }
    if (!settled)
        return {};
    // A phase that a line has confirmed goes with its time: a slip since then is still to be found.
    const bool confirms = d_line.is_ready() || !d_line.is_usable();
    if (confirms || !d_settled.is_by_line())
        d_settled.set_phase(phase_now(history));
    // The frequency of a wide-band loop is too noisy to be extrapolated.
    const double other = d_line.is_usable() ? d_settled.frequency() : frequency;
    d_settled.set_frequency(d_loop.idle() ? 0 : of_line.value_or(other));
    if (confirms)
        d_settled.confirm();
    return {};
}

std::optional<carrier_line::line> carrier_follower::find_line(double coherence)
{
    auto found = d_line.find();
    if (found &&
        (found->coherence < coherence || std::abs(found->frequency) < slowest_line))
        found.reset();
    return found;
}

void carrier_follower::reset()
{
    d_loop.reset();
    d_selection.stop();
    d_from_line = false;
}

// A line gives the phase up to a symmetry: the one nearest to the remembered phase is taken.
void carrier_follower::begin(const sample_history& history,
                             const carrier_line::line& found)
{
    // The line's phase is that of the symbol before the next one.
    const double now = found.phase + whole_turn * found.frequency;
    const double before =
        d_settled.phase_before() + whole_turn * found.frequency * d_settled.since();
    const double phase = now + symmetry() * std::nearbyint((before - now) / symmetry());
    d_loop.begin(found.frequency, phase, history.sample(history.next()));
    d_from_line = true;
}

void carrier_follower::begin(const sample_history& history,
                             double frequency,
                             double phase)
{
    const double fast = std::abs(frequency);
    if (fast < slowest_line)
        return;
    d_loop.skip(history.owned(history.latest(step))); // the step before the first one
    d_loop.begin(frequency, phase, history.sample(history.next()), slowest_is_seen);
    d_settled.set_frequency(frequency);
    d_from_line = true;
}

void carrier_follower::begin_settled(const sample_history& history,
                                     std::size_t first,
                                     std::size_t end)
{
    if (d_settled.has_carrier())
        begin_at({ d_settled.phase(), d_settled.frequency() }, history, first, end);
}

void carrier_follower::begin_at(const extrapolation& from,
                                const sample_history& history,
                                std::size_t first,
                                std::size_t end)
{
    d_loop.begin(from.frequency, from.phase, history.sample(history.next()));
    d_loop.prepare(first, end);
    d_from_line = true;
}

carrier_follower::extrapolation
carrier_follower::current(const sample_history& history) const
{
    if (d_loop.idle())
        return { phase_now(history), 0 };
    return { phase_now(history),
             d_settled.frequency() != 0 ? d_settled.frequency() : d_loop.frequency() };
}

void carrier_follower::go_on(const sample_history& history,
                             std::size_t first,
                             std::size_t end,
                             const extrapolation& from)
{
    reset();
    d_line.reset();
    if (from.frequency == 0) { // no carrier: a rotation that known symbols have shown
        d_loop.add_ambiguity(from.phase);
        d_loop.prepare(first, end);
        return;
    }
    begin_at(from, history, first, end);
    d_settled.set_phase(from.phase);
    if (d_settled.is_by_line())
        d_settled.confirm();
    d_settled.set_frequency(from.frequency);
}

void carrier_follower::begin_trained(const sample_history& history,
                                     std::size_t first,
                                     std::size_t n,
                                     float phase,
                                     float growth)
{
    const std::size_t latest =
        first + n - history.sample(step) / 2; // middle of the last step
    const std::size_t middle = first + n / 2;
    const float since = static_cast<float>(latest) - static_cast<float>(middle);
    d_loop.set(latest, wrapped(phase + since * growth), growth);
    d_loop.prepare(first, first + n);
    d_line.reset();
    d_settled.set_phase(phase_now(history));
    d_settled.set_frequency(d_loop.frequency());
    d_settled.confirm();
}

settled_carrier::moment carrier_follower::present(const sample_history& history,
                                                  double turned) const
{
    return { phase_now(history) - turned,
             d_settled.is_confirmed() ? d_settled.passed() : 0 };
}

double carrier_follower::ahead(const sample_history& history) const
{
    return d_from_line ? 0 : phase_now(history) - d_settled.phase();
}

void carrier_follower::state(archive& members, const sample_history& history)
{
    const std::size_t from = history.first_sample();
    d_loop.state(members, from, history.kept_samples());
    members("line", d_line);
    d_settled.state(members);
    members("turning", d_from_line);
    d_slip_detector.state(members);
    members("slips", d_slips);
    d_selection.state(members, history);
}

} // namespace gr::adann::core
