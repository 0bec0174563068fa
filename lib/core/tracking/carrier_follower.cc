/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/carrier_follower.h"

#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>
#include <utility>

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
// Symbols: a line's frequency, estimated from checked_every, is extrapolated over as many more.
constexpr std::uint64_t predicted_for = 2 * carrier_follower::checked_every;
static_assert(block_symbols % carrier_follower::step == 0);
// Averaging times of latest_residual() and residual(), as those of the taps' residuals.
constexpr auto latest_symbols = static_cast<float>(block_symbols);
constexpr float residual_symbols = 4 * latest_symbols;
} // namespace

carrier_follower::carrier_follower(const expected_waveform& waveform,
                                   const constellation& alphabet,
                                   const sample_history& history)
    : d_window(history.window()),
      d_reach(waveform.reach()),
      d_loop(history.most_samples(),
             d_window.sps(),
             d_reach + d_window.samples_before() / d_window.sps(),
             phase_search::tolerated(alphabet)),
      d_line(waveform, alphabet),
      d_tolerated(phase_search::tolerated(alphabet)),
      d_again(step + 2 * d_reach)
{
    d_turned.resize(turned(d_again.size()).floats());
    phase_decisions search(alphabet, d_window, d_reach, history.most_symbols());
    if (search.angles() > 1) {
        d_correlations.resize(search.angles());
        d_search = std::move(search);
    }
}

void carrier_follower::note(const sample_history& history,
                            std::size_t symbol,
                            std::size_t n)
{
    d_is_rotated_again = false;
    for (std::size_t k = symbol; k < symbol + n; ++k) {
        const signal_planes middle = history.received(history.sample(k));
        d_line.take({ *middle.re, *middle.im });
    }
}

void carrier_follower::move_back(const sample_history& history, std::size_t symbols)
{
    if (d_search)
        d_search->move_back(symbols);
    d_loop.move_back(history.sample(symbols));
}

/* Whether to search the phase. The rotation is surely a carrier's if the loop started from a
 * line, rotates as fast as one, or has so much phase noise that decisions at the predicted phase
 * may be wrong. A residual above the noise counts, too: the loop may be locked at a false phase,
 * where only some of the constellation's points fall onto others. */
bool carrier_follower::has_carrier(const learning_target& target, float residual) const
{
    const float noise = std::max(target.waveform().noise_power(), least_left);
    return d_from_line || std::abs(d_settled_frequency) > slowest_line ||
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
    const float* const samples = history.filtered(first);
    const double power = power_of(samples, n);
    const bool searches = d_search && taken == step && !idle() && !target.blurs_phase() &&
                          has_carrier(target, residual) &&
                          phase_search::has_signal(power / target.power(), n);
    if (!std::exchange(d_searching, searches) && searches)
        begin_search(history, first - n / 2, residual);
    if (!searches)
        return;
    const std::size_t newest = history.next() - step;
    const bool known = history.knows(step) && history.is_usable(first);
    d_search->decide(history.filtered(history.window_begin(newest)),
                     d_loop.rotation(history.owned(newest + step / 2)),
                     decides,
                     newest);
    for (std::size_t k = newest; k < history.next(); ++k)
        if (history.is_label_known(k))
            d_search->set_known(k, history.known_label(k));
    d_search->take(
        known,
        [&](const auto* labels, std::size_t n) { return target.expect(labels, n); },
        d_loop,
        samples,
        power,
        first,
        symbol);
    for (std::size_t a = 0; a < d_correlations.size(); ++a)
        d_correlations[a] = d_search->search().accumulated(a);
    const std::size_t selected = d_search->search().select(d_correlations, step);
    if (!known)
        return;
    history.replace(symbol, d_search->labels(selected, symbol));
    const float latest = d_search->search().residual(selected) / static_cast<float>(n);
    d_latest_residual += (latest - d_latest_residual) * step / latest_symbols;
    d_residual += (latest - d_residual) * step / residual_symbols;
}

// The search starts from the loop's phase and frequency at the latest measured step.
void carrier_follower::begin_search(const sample_history& history,
                                    std::size_t middle,
                                    float residual)
{
    d_search->set_labels(history.labels(0), history.next());
    d_search->search().begin(
        { wrapped(static_cast<float>(d_loop.phase_at(middle))),
          static_cast<float>(whole_turn * step) * d_loop.frequency() });
    d_residual = d_latest_residual = residual;
}

void carrier_follower::add_ambiguity(sample_history& history, std::size_t turned)
{
    d_loop.add_ambiguity(symmetry() * static_cast<double>(turned));
    d_searching = false;
    history.forget_labels(); // they were decided at another rotation
    d_settled.phase = d_loop.phase_at(history.sample(history.next()));
    d_settled.at = std::max<std::uint64_t>(d_now, 1);
    ++d_slips;
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
        const bool is_soft = !d_searching && !hard;
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

void carrier_follower::skip(const sample_history& history, std::size_t taken)
{
    for (std::size_t back = taken; back > 0; back -= step)
        d_loop.skip(history.owned(history.latest(back)));
}

void carrier_follower::rotate_again(const sample_history& history,
                                    const network_decider& decides,
                                    std::size_t taken,
                                    bool in_use)
{
    const std::size_t n = d_again.size(), symbol = history.next() - n;
    const std::size_t first = history.window_begin(symbol);
    d_is_rotated_again = in_use && taken == step && !idle() && history.known() >= n &&
                         history.is_usable(first);
    if (!d_is_rotated_again)
        return;
    d_loop.turn_to(d_loop.measured(),
                   history.filtered(first),
                   first,
                   turned(n).floats() / 2,
                   d_turned.data());
    if (d_searching)
        decides(turned(n), d_again.data());
    else
        std::copy_n(history.decided(symbol), n, d_again.begin());
}

hindsight carrier_follower::latest() const
{
    return d_is_rotated_again ? hindsight{ turned(d_again.size()), d_again.data() }
                              : hindsight();
}

void carrier_follower::turn_expected(const sample_history& history,
                                     std::size_t symbol,
                                     std::size_t n,
                                     float* expected) const
{
    if (d_searching)
        rotate_expected(history.filtered(history.owned(symbol)),
                        history.sample(step),
                        expected,
                        n / step);
}

void carrier_follower::absorb_tap_phase(const sample_history& history, float ahead)
{
    d_loop.turn(-ahead, history.first_sample(), history.ready());
    if (d_search)
        d_search->search().turn(-ahead);
}

// A phase of the taps beyond half a symmetry is not
// counted: labels would agree with the next symmetry.
float carrier_follower::turned_by(std::size_t sample, float taps) const
{
    const float turned = std::arg(d_loop.rotation(sample));
    return idle() || std::abs(taps) > symmetry() / 2 ? turned : turned - taps;
}

/* Whether lines predict the phase well enough to detect a slip, which is a step of one symmetry:
 * the rms error over the latest eight checks is below a sixteenth of that, or less after fewer
 * checks. Under phase noise it is not. */
bool carrier_follower::predicts(double error)
{
    constexpr std::size_t checks = 8;
    d_predicted = std::min(d_predicted + 1, checks);
    d_squared_error +=
        (error * error - d_squared_error) / static_cast<double>(d_predicted);
    return d_predicted > 2 &&
           d_squared_error < symmetry() * symmetry() / (256 * checks / d_predicted);
}

std::optional<carrier_line::line> carrier_follower::check(sample_history& history,
                                                          bool settled)
{
    const bool first = !d_settled.is_by_line();
    const double frequency = d_loop.frequency();
    const double now = d_loop.phase_at(history.sample(history.next()));
    const auto since = static_cast<double>(d_now - d_settled.at);
    std::optional<double> of_line;
    if (d_line.is_ready() && (first || !idle())) {
        const auto found = d_line.find(frequency, slowest_line);
        if (!found && first)
            if (const auto start = find_line(steady))
                return start;
        if (found)
            of_line = found->frequency;
        if (found && !idle() && since <= static_cast<double>(predicted_for)) {
            const double step = symmetry();
            const double further =
                phase_before() + whole_turn * found->frequency * since - now;
            const double slipped = step * std::nearbyint(further / step);
            const double off_symmetry = further - slipped;
            const bool predicted =
                predicts(off_symmetry) || (first && found->coherence >= steady);
            if (predicted && std::abs(off_symmetry) < step / 4 &&
                std::abs(std::remainder(slipped, whole_turn)) > step / 2) {
                ++d_slips;
                d_loop.turn(slipped);
                d_searching = false;
                history.forget_labels(); // they were decided at another rotation
            }
        }
    }
    if (!settled)
        return {};
    d_settled.phase = d_loop.phase_at(history.sample(history.next()));
    // The frequency of a wide-band loop is too noisy to be extrapolated.
    const double other = d_line.is_usable() ? d_settled_frequency : frequency;
    d_settled_frequency = idle() ? 0 : of_line.value_or(other);
    if (d_line.is_ready() || !d_line.is_usable())
        d_settled.at = d_now;
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
    d_searching = d_from_line = false;
}

// A line gives the phase up to a symmetry: the one nearest to the remembered phase is taken.
void carrier_follower::begin(const sample_history& history,
                             const carrier_line::line& found)
{
    const auto since = static_cast<double>(d_now - d_settled.at);
    // The line's phase is that of the symbol before the next one.
    const double now = found.phase + whole_turn * found.frequency;
    const double before = phase_before() + whole_turn * found.frequency * since;
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
    d_settled_frequency = frequency;
    d_from_line = true;
}

void carrier_follower::begin_settled(const sample_history& history,
                                     std::size_t first,
                                     std::size_t end)
{
    if (!has_settled())
        return;
    begin_at({ settled_phase(), d_settled_frequency }, history, first, end);
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
    if (idle())
        return {};
    return { d_loop.phase_at(history.sample(history.next())),
             d_settled_frequency != 0 ? d_settled_frequency : d_loop.frequency() };
}

void carrier_follower::go_on(const sample_history& history,
                             std::size_t first,
                             std::size_t end,
                             const extrapolation& from)
{
    reset();
    d_line.reset();
    if (from.phase == 0 && from.frequency == 0)
        return;
    begin_at(from, history, first, end);
    d_settled.phase = from.phase;
    if (d_settled.is_by_line())
        d_settled.at = d_now;
    d_settled_frequency = from.frequency;
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
    d_settled.phase = d_loop.phase_at(history.sample(history.next()));
    d_settled_frequency = d_loop.frequency();
    d_settled.at = std::max<std::uint64_t>(d_now, 1); // 0 stands for never
}

double carrier_follower::settled_phase() const
{
    const auto since = std::min<std::uint64_t>(d_now - d_settled.at, predicted_for);
    return d_settled.phase +
           whole_turn * d_settled_frequency * static_cast<double>(since);
}

void carrier_follower::turn_settled(const sample_history& history,
                                    planes& samples,
                                    std::size_t first,
                                    std::size_t n,
                                    double way) const
{
    if (!has_settled())
        return;
    const double per_sample =
        whole_turn * d_settled_frequency / static_cast<double>(d_window.sps());
    const double since =
        static_cast<double>(first) - static_cast<double>(history.sample(history.next()));
    rotate_back(samples.re.data(),
                samples.im.data(),
                n,
                -way * (settled_phase() + per_sample * since),
                -way * per_sample);
}

bool carrier_follower::is_confirmed() const
{
    return d_settled.is_by_line() || d_now > predicted_for;
}

carrier_follower::moment carrier_follower::present(const sample_history& history,
                                                   double turned) const
{
    return { d_loop.phase_at(history.sample(history.next())) - turned,
             is_confirmed() ? d_now : 0 };
}

double carrier_follower::ahead(const sample_history& history) const
{
    return d_from_line
               ? 0
               : d_loop.phase_at(history.sample(history.next())) - settled_phase();
}

void carrier_follower::state(archive& members, const sample_history& history)
{
    const std::size_t from = history.first_sample();
    d_loop.state(members, from, history.kept_samples());
    members("line", d_line);
    members("now", d_now);
    members("settled_phase", d_settled.phase);
    members("settled_frequency", d_settled_frequency);
    members("settled_at", d_settled.at);
    members("turning", d_from_line);
    members("squared_error", d_squared_error, 0.0, 100.0);
    members("predicted", d_predicted, std::size_t{ 0 }, std::size_t{ 8 });
    members("slips", d_slips);
    members("searching", d_searching);
    members("left", d_residual);
    members("left_latest", d_latest_residual);
    if (d_search)
        d_search->state(
            members, history.first_symbol(), history.kept_symbols(), history.classes());
    else if (d_searching)
        members.refuse("searching", "is true without a search");
}

} // namespace gr::adann::core
