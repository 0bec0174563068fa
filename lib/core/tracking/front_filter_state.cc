/* What a checkpoint holds of a front filter.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/front_filter.h"

#include <algorithm>
#include <string>

namespace gr::adann::core {

void front_filter::state(archive& members)
{
    std::size_t taps = d_taps;
    members("taps", taps);
    if (taps != d_taps)
        members.refuse("taps",
                       "are " + std::to_string(taps) + ", but the front filter has " +
                           std::to_string(d_taps));
    members("bank", d_bank);
    members("judge", d_judge);
    members("blocks", d_blocks);
    members("resets", d_resets);
    members("slips", d_slips);
    members("in_use", d_in_use);
    members("clear", d_clear);
    members("vain_looks", d_vain_looks, std::size_t{ 0 }, judged_every / judge::symbols);
    members("reference", d_reference);
    members("turning", d_turning);
    members("good_phase", d_good_phase);
    members("good_frequency", d_good_frequency);
    members("good_at", d_good_at);
    members("beside", d_beside, 0.0, 100.0);
    members("foretold", d_foretold, std::size_t{ 0 }, std::size_t{ 8 });
    members("channel", d_channel);
    members.numbers("settled", d_settled.data(), { d_settled.size() }, -1e6f, 1e6f);
    members("usual", d_usual, 0.0f, 1e12f);
    members("unsettled", d_unsettled);
    members("next_blind", d_next_blind);
    members("was_lost", d_was_lost);
    members(
        "later", d_displaced.later, -last_channel::most_late, last_channel::most_late);
    members("turned", d_displaced.turned, std::size_t{ 0 }, d_symmetries.size() - 1);
    if (d_line)
        members("line", *d_line);
    members("acquired", d_acquired);
    members("bursts", d_bursts);
    members("unjudged", d_unjudged);
    members("update", d_update, std::size_t{ 0 }, most_apart * block);
    members("step", d_step, carrier::step, most_apart * block);
    members("position", d_position);
    members("known", d_known);
    // What the buffers still need: restored, it is at their start.
    const std::size_t symbol = d_next - d_past, from = sample(symbol);
    std::size_t loaded = d_loaded - from, ready = d_ready - from;
    std::size_t unusable = d_unusable - std::min(d_unusable, from);
    // From what forget_samples() or acquire() leaves to what filter() leaves.
    const std::size_t empty = sample(d_past) - d_window.samples_before();
    const std::size_t filled = empty + d_window.samples() - d_window.sps();
    const std::size_t expected =
        sample(d_past - d_waveform->reach()) - d_window.sps() / 2;
    members("loaded", loaded, empty - reach(), filled + reach());
    members("ready", ready, std::min(empty, expected), filled);
    members("unusable", unusable, std::size_t{ 0 }, loaded);
    if (d_update % block || d_step % carrier::step || d_update % d_step ||
        (d_update > block && !d_in_use))
        members.refuse("update", "is not one of these blocks");
    if ((d_position ? d_position >= d_update : d_update != 0) || d_known > d_past)
        members.refuse("position", "is out of range");
    // A reader that saves changes nothing.
    const auto set = [](std::size_t& to, std::size_t value) {
        if (to != value)
            to = value;
    };
    set(d_loaded, from + loaded);
    set(d_ready, from + ready);
    set(d_unusable, unusable + std::min(d_unusable, from));
    if (d_carrier)
        d_carrier->state(
            members, from, sample(d_past + most_apart * block) + d_window.samples());
    members.numbers("labels", &d_labels[symbol], { d_past });
    members.numbers("truth", &d_truth[symbol], { d_past });
    members.numbers("decided", &d_decided[symbol], { d_past });
    static_assert(sizeof(std::complex<float>) == 2 * sizeof(float));
    members.numbers("estimates",
                    reinterpret_cast<float*>(&d_estimates[symbol]),
                    { d_past, 2 },
                    -largest_sample,
                    largest_sample);
    members("ambiguity", d_ambiguity);
    members("slope", d_slope, 0.0f, most_slope);
    static_assert(sizeof(soft_decision) == 5 * sizeof(float));
    members.numbers("decisions",
                    reinterpret_cast<float*>(&d_decisions[symbol]),
                    { d_past, 5 },
                    -largest_sample,
                    largest_sample);
    members("searching", d_searching);
    members("left", d_left);
    members("left_latest", d_left_latest);
    if (d_search)
        members("search", *d_search);
    else if (d_searching)
        members.refuse("searching", "is true without a search");
    for (std::size_t a = 0; a < d_labelled.size(); ++a)
        members.numbers("labelled" + std::to_string(a),
                        &d_labelled[a][symbol],
                        { d_past },
                        std::uint8_t{ 0 },
                        static_cast<std::uint8_t>(d_waveform->classes() - 1));
    const float most = largest_sample;
    members.numbers("samples.re", &d_samples.re[from], { loaded }, -most, most);
    if (d_planes == 2)
        members.numbers("samples.im", &d_samples.im[from], { loaded }, -most, most);
    members.numbers(
        "filtered", &d_filtered[from * d_planes], { ready * d_planes }, archive::any);
    members.numbers("bad", &d_bad[from], { loaded });
    for (std::size_t i = 0; i < d_past; ++i)
        if (std::max(d_labels[symbol + i], d_decided[symbol + i]) >=
            d_waveform->classes())
            members.refuse("labels", "are not all of the constellation");
}

} // namespace gr::adann::core
