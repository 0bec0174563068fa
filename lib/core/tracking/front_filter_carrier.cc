/* What a front filter does about the carrier.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/front_filter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr double whole_turn = 2 * M_PI;
constexpr double steady = 0.95; // coherence of a line that phase noise does not make
// Turns a symbol: an eighth of a turn from one look to the next.
constexpr double slowest_line = 0.125 / front_filter::judged_every;
} // namespace

// Through a step that has ended.
void front_filter::follow_carrier(decider& decides, const prepared_network& net)
{
    search(decides, net);
    measure_phases();
    look_back(decides, net);
}

/* Whether the phase is surely a carrier's, of which taps know nothing: it began with a line, turns as
 * fast as one, or wanders so far that decisions at what is predicted may be wrong. Otherwise an echo
 * that turns looks like a phase, too, and what would be taken off the taps have to learn. */
bool front_filter::has_carrier() const
{
    // Of a step's phase, by the learnt noise alone; its mean over some 16 steps is not twice as much.
    const float measured_variance = d_soft.variance() / (2 * carrier::step);
    return d_turning || std::abs(d_good_frequency) > slowest_line ||
           d_search->is_worth(d_carrier->spread() - 2 * measured_variance);
}

/* Has the latest step decided at other phases, too, while it has a carrier. Of the step that is
 * measured next, and what follows it, the labels are those of the phase that is believed. */
void front_filter::search(decider& decides, const prepared_network& net)
{
    constexpr std::size_t step = carrier::step;
    const std::size_t reach = d_waveform->reach(), symbol = d_next - reach - step;
    const std::size_t first = sample(symbol) - d_window.sps() / 2;
    const float* const samples = &d_filtered[2 * first];
    const double power = power_of(samples, sample(step));
    const bool searches = d_search && d_step == step && !d_carrier->idle() &&
                          has_carrier() && phase_search::is_heard(power, sample(step));
    if (!std::exchange(d_searching, searches) && searches)
        begin_search(first - sample(step / 2));
    if (!searches)
        return;
    decide_at_angles(decides, net, 1 + static_cast<float>(reach) / step);
    const bool known = d_known >= step + 2 * reach && d_unusable <= first;
    for (std::size_t a = 0; a < d_labelled.size(); ++a) {
        phase_search::told told;
        if (known) {
            d_waveform->expect(&d_labelled[a][symbol], step, d_expected.data());
            told = { d_carrier->compare(d_expected.data(), samples, first),
                     power + power_of(d_expected.data(), sample(step)) };
        }
        d_search->take(a, told);
        d_told[a] = d_search->together(a);
    }
    const std::size_t believed = d_search->believe(d_told, step);
    if (!known)
        return;
    const auto labels = d_labelled[believed].begin();
    std::copy(labels + symbol, labels + d_next, d_labels.begin() + symbol);
    for (std::size_t k = symbol; k < d_next; ++k)
        if (!knows(k))
            d_decided[k] = d_labels[k];
    const float left = d_search->left(believed) / static_cast<float>(sample(step));
    d_left_latest += (left - d_left_latest) * step / block;
    d_left += (left - d_left) * step / (4 * block);
}

// From the carrier's line, in the step that was measured last.
void front_filter::begin_search(std::size_t middle)
{
    for (auto& labels : d_labelled)
        std::copy_n(d_labels.begin(), d_next, labels.begin());
    d_search->begin(
        { wrapped(static_cast<float>(d_carrier->phase_at(middle))),
          static_cast<float>(whole_turn * carrier::step) * d_carrier->frequency() });
    const float residual = d_bank.residual();
    d_left = d_left_latest = std::isnan(residual) ? lost() : residual;
}

// The latest step, turned to where the search expects the phase `later` steps after its latest.
void front_filter::decide_at_angles(decider& decides,
                                    const prepared_network& net,
                                    float later)
{
    constexpr std::size_t step = carrier::step;
    const std::size_t from = sample(d_next - step) - d_window.samples_before();
    const std::size_t middle = sample(d_next - step / 2) - d_window.sps() / 2;
    const std::complex<float> back =
        d_carrier->rotation(middle) * std::polar(1.0f, -d_search->expected(later));
    for (std::size_t a = 0; a < d_labelled.size(); ++a) {
        rotate(&d_filtered[2 * from],
               back * std::polar(1.0f, -d_search->angles()[a]),
               turned(step).floats() / 2,
               d_turned.data());
        decides.decide(net, turned(step), &d_labelled[a][d_next - step]);
        for (std::size_t k = d_next - step; k < d_next; ++k)
            if (knows(k))
                d_labelled[a][k] = d_truth[k];
    }
}

// The latest symbols, turned to their phase as it is known now, and decided there if decisions do not
// bear any.
void front_filter::look_back(decider& decides, const prepared_network& net)
{
    const std::size_t n = d_again.size();
    const std::size_t first = sample(d_next - n) - d_window.samples_before();
    d_looks_back = d_in_use && d_step == carrier::step && !d_carrier->idle() &&
                   d_known >= n && d_unusable <= first;
    if (!d_looks_back)
        return;
    d_carrier->turn_to(d_carrier->measured(),
                       &d_filtered[2 * first],
                       first,
                       turned(n).floats() / 2,
                       d_turned.data());
    if (d_searching)
        decides.decide(net, turned(n), d_again.data());
    else
        std::copy_n(&d_decided[d_next - n], n, d_again.begin());
}

hindsight front_filter::latest() const
{
    return d_looks_back ? hindsight{ turned(d_again.size()), d_again.data() }
                        : hindsight();
}

feature_view front_filter::turned(std::size_t n) const
{
    return { d_turned.data(), d_window.stride(), d_window.dimension(), n };
}

// Of the latest steps whose symbols' neighbours are decided: those of a block at most, the
// others before are passed over.
void front_filter::measure_phases()
{
    const std::size_t end = d_next - d_waveform->reach();
    for (std::size_t left = d_step; left > 0; left -= carrier::step) {
        const std::size_t symbol = end - left;
        const std::size_t first = sample(symbol) - d_window.sps() / 2;
        if (left > block || d_known < left + 2 * d_waveform->reach() ||
            d_unusable > first) {
            d_carrier->skip(first);
            continue;
        }
        if (!d_searching)
            soften(symbol, carrier::step);
        d_waveform->expect(&d_labels[symbol], carrier::step, d_expected.data());
        if (d_slope > 0 && !is_hard())
            d_soft.aim(&d_decisions[symbol], carrier::step, d_slope, d_expected.data());
        d_carrier->measure(d_expected.data(), &d_filtered[2 * first], first);
    }
}

/* Taps that turn and a carrier that is as much too slow leave the same. After a start from a
 * line all that turns is the carrier's, so that its frequency stays the line's: the taps keep
 * the phase in which the noise is wanted. */
void front_filter::hold_phase()
{
    if (!d_turning || d_carrier->idle())
        return;
    const float ahead = d_bank.phase(d_wanted_noise.data());
    d_bank.turn(-ahead);
    d_carrier->turn(-ahead, sample(d_next - d_past), d_ready);
    if (d_search)
        d_search->turn(-ahead);
}

/* How far a symbol was turned back, against where the filter was last not in use: by the carrier,
 * which may have gone on since if it wanders, and by the taps. Those that lie half a step of the
 * constellation's rotations aside, or more, do not explain that labels are turned. */
float front_filter::turned_by(std::size_t symbol) const
{
    const float carrier = std::arg(d_carrier->rotation(sample(symbol))) - d_reference;
    const float taps = d_bank.phase(d_wanted_noise.data());
    const double step = whole_turn / static_cast<double>(d_line->order());
    return d_carrier->idle() || std::abs(taps) > step / 2 ? carrier : carrier - taps;
}

/* Whether lines foretell the phase well enough to tell a slip, a step of the constellation's
 * rotations: beside it by a sixteenth of one at most, rms over the latest eight looks, by less
 * when there were fewer. Under phase noise they do not. */
bool front_filter::foretells(double beside, double step)
{
    constexpr std::size_t looks = 8;
    d_foretold = std::min(d_foretold + 1, looks);
    d_beside += (beside * beside - d_beside) / static_cast<double>(d_foretold);
    return d_foretold > 2 && d_beside < step * step / (256 * looks / d_foretold);
}

// Whether the carrier is another one than what is followed, or has slipped.
void front_filter::mind_carrier(bool settled)
{
    if (is_lost() || std::isnan(d_bank.residual()))
        return;
    const bool first = d_good_at == 0;
    const double frequency = d_carrier->frequency();
    const double now = d_carrier->phase_at(sample(d_next));
    const auto since = static_cast<double>(d_blocks * block - d_good_at);
    std::optional<double> of_line;
    if (d_line->is_ready() && (first || !d_carrier->idle())) {
        const auto found = d_line->find(frequency, slowest_line);
        if (!found && first && begin_with_carrier(steady))
            return;
        const double step = whole_turn / static_cast<double>(d_line->order());
        if (found)
            of_line = found->frequency;
        if (found && !d_carrier->idle() && since <= 2 * judged_every) {
            const double further =
                d_good_phase + whole_turn * found->frequency * since - now;
            const double slipped = step * std::nearbyint(further / step);
            const double beside = further - slipped;
            const bool foretold =
                foretells(beside, step) || (first && found->coherence >= steady);
            if (foretold && std::abs(beside) < step / 4 &&
                std::abs(std::remainder(slipped, whole_turn)) > step / 2) {
                ++d_slips;
                d_carrier->turn(slipped);
                d_searching = false;
                d_known = 0; // labels that were decided a part of a turn aside
            }
        }
    }
    if (!settled)
        return;
    d_good_phase = d_carrier->phase_at(sample(d_next));
    // A loop that follows quickly has a frequency that means nothing for long.
    const double other = d_line->is_usable() ? d_good_frequency : frequency;
    d_good_frequency = d_carrier->idle() ? 0 : of_line.value_or(other);
    if (d_line->is_ready() || !d_line->is_usable())
        d_good_at = d_blocks * block;
}

/* Undoes a rotation or a delay that known symbols show. Such labels tell what they are once those
 * around them are estimated: of float samples with the next update. Returns whether there was one. */
bool front_filter::resolve(std::size_t blocks)
{
    const std::size_t n = blocks * block;
    const std::size_t behind =
        d_waveform->reach() + ambiguity::around + (d_planes == 1 ? n : std::size_t{ 0 });
    if (d_known < n + behind + ambiguity::around || is_hard())
        return false;
    for (std::size_t k = d_next - behind - n; k < d_next - behind; ++k)
        if (knows(k))
            d_ambiguity.take(d_truth[k], &d_estimates[k]);
    const displacement by = d_ambiguity.found();
    if (by.none())
        return false;
    d_ambiguity.reset();
    const std::size_t turns = d_symmetries.size();
    if (by.later == 0 && d_carrier) {
        d_carrier->turn_aside(whole_turn * static_cast<double>(by.turned) /
                              static_cast<double>(turns));
        d_searching = false;
        d_known = 0; // labels that were decided a part of a turn aside
        d_good_phase = d_carrier->phase_at(sample(d_next));
        d_good_at = std::max<std::uint64_t>(d_blocks * block, 1);
        ++d_slips;
    } else {
        const std::size_t from = std::min(d_known, blind_symbols);
        if (!begin_in_phase(&d_decided[d_next - from],
                            from,
                            { by.later, (turns - by.turned) % turns },
                            lost()))
            return false;
        forget_loss();
    }
    d_channel.reset();
    return true;
}

/* Starts over if the samples have a carrier that decisions cannot pull in. Which of the
 * phases that its line leaves open it has, it had when the filter was last not lost. */
bool front_filter::begin_with_carrier(double coherence)
{
    const auto found = d_line->find();
    if (!found || found->coherence < coherence ||
        std::abs(found->frequency) < slowest_line)
        return false;
    start_over();
    const double step = whole_turn / static_cast<double>(d_line->order());
    const auto since = static_cast<double>(d_blocks * block - d_good_at);
    // The line's phase is that of the symbol before the next one.
    const double now = found->phase + whole_turn * found->frequency;
    const double before = d_good_phase + whole_turn * found->frequency * since;
    const double phase = now + step * std::nearbyint((before - now) / step);
    d_carrier->begin(found->frequency, phase, sample(d_next));
    d_turning = true;
    d_known = 0; // labels that were decided with another phase
    ++d_resets;
    return true;
}

} // namespace gr::adann::core
