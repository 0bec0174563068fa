/* What a front filter does when it is wrong.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/front_filter.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
constexpr float far_more = 2; // power: no block leaves so much by chance
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
    if (found != judge::verdict::displaced && begin_at_level(decides, net))
        return;
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
            relabel(first, d_plain.data(), d_plain.size());
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
        turned = turned_by(d_next - d_plain.size() / 2);
    }
    return d_judge.compare(
        still, &d_decided[first + around], samples, &d_plain[around], turned);
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
    d_ambiguity.reset();
    d_vain_looks = 0;
    d_reference = 0;
    d_turning = false;
}

void front_filter::reset()
{
    start_over();
    d_channel.reset();
    d_settled = d_nothing;
    d_good_phase = d_good_frequency = 0;
    d_good_at = 0;
    d_usual = 0;
    forget_loss();
    if (d_position) // the rest of a block
        d_update = (d_position + block) / block * block;
    if (d_step > carrier::step)
        d_step = block;
    d_untrained = 0;
    d_in_use = true;
}

} // namespace gr::adann::core
