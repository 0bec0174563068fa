/* What a front filter does when it is wrong.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/front_filter.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
constexpr double whole_turn = 2 * M_PI;
constexpr double steady = 0.95; // coherence of a line that phase noise does not make
constexpr float far_more = 2;   // power: no block leaves so much by chance
// Turns a symbol: an eighth of a turn from one look to the next.
constexpr double slowest_line = 0.125 / front_filter::judged_every;
} // namespace

// Not before the first block: nothing is known then, and the residual NaN.
bool front_filter::is_lost() const
{
    const float latest = d_searching ? d_left_latest : d_bank.latest_residual();
    const float left = d_searching ? d_left : d_bank.residual();
    return left > lost() || (latest > lost() && latest > far_more * left);
}

// Judges the filter, and whether it stays in use.
void front_filter::look(decider& decides, const prepared_network& net)
{
    const std::size_t first = d_next - d_plain.size();
    if (d_known < d_plain.size() ||
        d_unusable > sample(first) - d_window.samples_before())
        return;
    if (d_carrier && !d_in_use && !d_turning)
        d_reference = d_carrier->phase();
    const auto found = compare(decides, net);
    const bool is_worse = found == judge::verdict::displaced ||
                          (found == judge::verdict::worse && d_in_use);
    const std::uint64_t before = d_resets;
    d_was_lost |= is_lost();
    if (found == judge::verdict::displaced) // and so is the channel that was remembered
        d_channel.reset();
    const bool settled =
        !is_worse && !is_lost() && !std::isnan(d_bank.residual()) && settle();
    if (d_was_lost && !settled && d_resets == before)
        begin_blindly();
    if (d_resets != before)
        return;
    d_clear = is_lost() && found == judge::verdict::clear;
    d_vain_looks = d_in_use || d_clear ? 0 : d_vain_looks + 1;
    if (is_worse || d_vain_looks == judged_every / judge::symbols) {
        if (!d_line || !begin_with_carrier()) {
            start_over();
            ++d_resets;
            std::copy(d_plain.begin(), d_plain.end(), d_labels.begin() + first);
        }
    }
    d_in_use = d_clear || !is_lost();
    if (d_carrier)
        mind_carrier(settled);
}

// Compares the latest decisions with those that the network makes without the filter.
judge::verdict front_filter::compare(decider& decides, const prepared_network& net)
{
    const std::size_t first = d_next - d_plain.size();
    const std::size_t start = sample(first) - d_window.samples_before();
    const feature_view windows{
        interleaved(start, sample(d_plain.size() - 1) + d_window.samples()),
        d_window.stride(),
        d_window.dimension(),
        d_plain.size()
    };
    decides.decide(net, windows, d_plain.data());
    const std::size_t around = d_waveform->reach();
    const auto owned = sample(first + around) - d_window.sps() / 2;
    const signal_planes samples = d_samples + static_cast<std::ptrdiff_t>(owned);
    signal_planes still = samples;
    float turned = 0;
    if (d_carrier) {
        const std::size_t n = sample(judge::symbols);
        d_carrier->rotate_back(samples.re, samples.im, owned, n, d_interleaved.data());
        d_still.assign(d_interleaved.data(), n);
        still = d_still;
        // Of the symbols that are compared: a phase that wanders has gone on. Taps that have a
        // part of it are explained, taps that lie a rotation of the constellation aside are not.
        const std::size_t middle = sample(d_next - d_plain.size() / 2);
        turned = std::arg(d_carrier->rotation(middle)) - d_reference;
        const float taps = d_bank.phase(d_wanted_noise.data());
        if (!d_carrier->idle() &&
            std::abs(taps) < whole_turn / 2 / static_cast<double>(d_line->order()))
            turned -= taps;
    }
    return d_judge.compare(
        still, &d_labels[first + around], samples, &d_plain[around], turned);
}

void front_filter::start_over()
{
    d_bank.reset();
    d_judge.reset();
    if (d_carrier)
        d_carrier->reset();
    d_clear = d_acquired = d_searching = false;
    d_was_lost = true;
    d_displaced = {};
    d_vain_looks = 0;
    d_reference = 0;
    d_turning = false;
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
            const bool foretold = foretells(beside, step);
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
