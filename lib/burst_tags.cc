/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "burst_tags.h"

#include "core/common/checks.h"

#include <algorithm>
#include <utility>

namespace gr::adann {

namespace {
// Shortest training sequence for a blind start, symbols: enough for the
// longest waveform it may find.
constexpr std::size_t least_for_a_start = 40;
} // namespace

void check_training(const core::model& model,
                    bool starts,
                    const equalizer_settings& settings)
{
    const auto& labels = settings.training_sequence;
    if (labels.empty())
        return;
    if ((!model.waveform && !starts) || !settings.front_filter ||
        settings.mode == adaptation_mode::off || settings.input != input_kind::samples)
        core::refuse(
            "training_sequence",
            "given",
            "with a front filter only: a model with an expected waveform or none, "
            "samples at the input, a mode other than 'off'");
    core::check_range("training_sequence's length",
                      labels.size(),
                      starts ? least_for_a_start
                             : core::front_filter::least_training(*model.waveform),
                      core::front_filter::most_training);
    core::check_range<unsigned>("training_sequence's largest label",
                                *std::max_element(labels.begin(), labels.end()),
                                0,
                                model.symbols.size() - 1);
}

burst_tags::burst_tags(const equalizer_settings& settings)
    : d_training(settings.training_sequence),
      d_begins(pmt::mp(settings.training_start_tag)),
      d_ends(pmt::mp(settings.burst_end_tag)),
      d_after(settings.after_burst)
{
}

void burst_tags::start(core::adaptive_equalizer& equalizer)
{
    d_next = {};
    if (are_used())
        reach({ true, false }, equalizer);
}

int burst_tags::up_to_mark(const std::vector<gr::tag_t>& tags,
                           std::uint64_t first,
                           std::uint64_t items,
                           int symbols,
                           bool holds,
                           core::adaptive_equalizer& equalizer)
{
    marks here = std::exchange(d_next, {});
    for (const auto& tag : tags) {
        const bool begins = pmt::eqv(tag.key, d_begins);
        const bool ends = pmt::eqv(tag.key, d_ends);
        const int at = (tag.offset + items / 2) / items - first;
        if (!begins && !ends)
            continue;
        if (at > symbols)
            break;
        symbols = at > 0 ? at : symbols;
        if (at > 0 && tag.offset >= (first + at) * items) // the next call gets it again
            continue;
        marks& of = at ? d_next : here;
        of = { of.end || ends, of.begin || begins };
    }
    if (here.end && holds) {
        d_next = here;
        return 0;
    }
    reach(here, equalizer);
    return symbols;
}

void burst_tags::reach(marks there, core::adaptive_equalizer& equalizer) const
{
    if (there.begin)
        equalizer.begin_burst(d_training);
    else if (there.end && d_after != after_burst_kind::keep)
        equalizer.end_burst(d_after == after_burst_kind::reset);
}

} // namespace gr::adann
