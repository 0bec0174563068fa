/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/blind_start.h"

#include "core/adaptation/first_network.h"
#include "core/adaptation/start_message.h"
#include "core/signal/carrier_track.h"

#include <cmath>
#include <complex>

namespace gr::adann::core {

namespace {

// Names in the model what it was made from.
void name_training(const start_search& from, model& made, bool has_network)
{
    made.training = (from.knows_rotation() ? "known labels, " : "blind start, ") +
                    made.training + (has_network ? trained_on_decisions : "");
}

} // namespace

blind_start::blind_start(const std::string& constellation,
                         unsigned sps,
                         unsigned half_window,
                         bool complex,
                         std::uint64_t seed)
    : d_search(linear_network(constellation, sps, half_window, complex, seed))
{
}

std::string blind_start::take(const feature_view& batch,
                              const std::uint8_t* known,
                              bool follows,
                              const std::function<bool()>& goes_on)
{
    d_changed = false;
    d_search.forget_news();
    const bool usable = all_usable(batch.data, batch.floats());
    if (!follows || !usable)
        begin();
    if (!usable || done())
        return "";
    start_symbols& taken = d_search.symbols();
    const std::size_t fresh_labels = taken.add(batch, known);
    try {
        std::string said;
        const bool looked = d_state == start_state::equalizing;
        const bool is_odd = looked && d_search.contradicts_known(batch.count);
        if (is_odd &&
            taken.known() > fresh_labels) // the earlier known labels were a false alarm
            taken.forget_known(count() - batch.count);
        else if (is_odd ||
                 (!looked && (count() >= first_look || d_search.knows_enough())))
            said = look();
        else if (looked && !taken.known() && count() >= d_next_look &&
                 count() < symbols) {
            d_search.follow();
            d_search.look_again();
            d_changed = true;
        }
        if (count() >= d_next_look)
            d_next_look = 2 * count();
        if (count() >= d_next_linear && count() < symbols) {
            if (d_offers_linear)
                d_linear = find_linear();
            d_next_linear = count() + first_look;
        }
        if (count() < symbols)
            return said;
        return (said.empty() ? "" : said + "; then ") + train(goes_on);
    } catch (const eye_closed& problem) {
        const next_failure now = d_failure;
        d_failure = now == next_failure::ignored ? next_failure::reported
                                                 : next_failure::repeated;
        begin();
        if (now == next_failure::reported)
            return std::string(problem.what()) +
                   "; until one does, decisions are those of the sample in the middle";
    }
    return "";
}

std::string blind_start::compare_with(const feature_view& batch,
                                      const std::uint8_t* in_use,
                                      bool follows,
                                      const std::function<bool()>& goes_on)
{
    if (!follows)
        begin();
    d_search.symbols().add_in_use(in_use, batch.count);
    return take(batch, nullptr, true, goes_on);
}

void blind_start::begin()
{
    d_linear.reset();
    d_search.symbols().clear();
    d_next_look = d_next_linear = first_look;
    if (!done())
        d_state = start_state::searching;
}

std::string blind_start::look()
{
    if (!d_search.look(d_state == start_state::searching))
        return "";
    d_state = start_state::equalizing;
    d_failure = next_failure::reported;
    return formatted(
               "a linear equalizer decides, modulation error ratio %.1f dB; a network is "
               "trained after ",
               -10 * std::log10(d_search.linear().fitted().error)) +
           std::to_string(symbols) + " symbols" + carrier_said();
}

// Describes the carrier for messages; empty for real samples.
std::string blind_start::carrier_said() const
{
    if (!d_search.linear().has_carrier())
        return "";
    const feature_view all = d_search.symbols().view();
    const std::size_t middle = found().window.samples_before() * 2;
    std::vector<std::complex<double>> middles(all.count);
    for (std::size_t i = 0; i < all.count; ++i)
        middles[i] = { all[i][middle], all[i][middle + 1] };
    return carrier_advice(track_power(middles, found().symbols).frequency);
}

std::string blind_start::train(const std::function<bool()>& goes_on)
{
    const bool moves = d_search.finish();
    const auto labels = d_search.best_labels();
    d_search.check_better(labels);
    d_search.set_waveform(labels);
    model& made = d_search.linear().made();
    bool better = false;
    if (!moves) {
        std::vector<labelled_windows> parts;
        for (std::size_t at = 0; at + part <= count(); at += part)
            parts.push_back({ d_search.symbols().view().from(at, part), &labels[at] });
        const auto trained =
            train_first_network(made, made.net, parts, d_search.linear().seed(), goes_on);
        if (!trained) {
            begin();
            return "";
        }
        better = trained->is_better;
        if (better)
            made.net = trained->trained;
    }
    d_changed = true;
    d_state = start_state::done;
    const bool known = d_search.knows_rotation();
    d_is_blind = !known;
    name_training(d_search, made, better);
    begin();
    const char* const decides =
        better  ? network_decides
        : moves ? "the channel moves: it is fitted to the latest 4096 symbols, and the "
                  "network starts as it"
                : "its decisions explain the samples better than those of the network "
                  "trained on them, which starts as the linear equalizer";
    const std::string& compared = d_search.compared();
    return start_message(compared.empty() ? "started" : "started again, " + compared,
                         carrier_frequency(),
                         d_search.linear().fitted().error,
                         decides,
                         known);
}

std::optional<linear_start> blind_start::find_linear() const
{
    auto latest = d_search.of_latest();
    if (!latest)
        return {};
    model& made = latest->linear().made();
    name_training(*latest, made, false);
    return linear_start{ made,
                         latest->carrier_frequency(),
                         latest->linear().fitted().error,
                         latest->knows_rotation(),
                         count() };
}

} // namespace gr::adann::core
