/* The equalizer's bursts: tags say where they begin and end.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "equalizer_impl.h"

#include "core/common/checks.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gr::adann {

namespace {
// Symbols: what the longest waveform that a start may find asks of a sequence.
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

// Symbols up to the next beginning or end of a burst; the first one's is taken, an end's
// once no label of the burst is left.
int equalizer_impl::up_to_mark(int symbols)
{
    const std::uint64_t items = d_items_per_symbol, first = nitems_read(0) / items;
    marks here = std::exchange(d_next, {});
    get_tags_in_window(d_tags, 0, 0, symbols * items);
    for (const auto& tag : d_tags) {
        const bool begins = pmt::eqv(tag.key, d_training_start);
        const bool ends = pmt::eqv(tag.key, d_burst_end);
        const int at = (tag.offset + items / 2) / items - first;
        if (!begins && !ends)
            continue;
        if (at > symbols)
            break;
        symbols = at > 0 ? at : symbols;
        if (at > 0 && tag.offset >= (first + at) * items) // it comes again
            continue;
        marks& of = at ? d_next : here;
        of = { of.end || ends, of.begin || begins };
    }
    if (here.end && d_held) {
        d_next = here;
        return 0;
    }
    reach(here);
    return symbols;
}

void equalizer_impl::reach(marks there)
{
    if (there.begin)
        d_core.begin_burst(d_training);
    else if (there.end && d_after_burst != after_burst_kind::keep)
        d_core.end_burst(d_after_burst == after_burst_kind::reset);
}

} // namespace gr::adann
