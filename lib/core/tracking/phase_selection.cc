/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/phase_selection.h"

#include <utility>

namespace gr::adann::core {

namespace {
// Averaging times of latest_residual() and residual(), as those of the taps' residuals.
constexpr auto latest_symbols = static_cast<float>(block_symbols);
constexpr float residual_symbols = 4 * latest_symbols;
} // namespace

phase_selection::phase_selection(const constellation& alphabet,
                                 const window_geometry& window,
                                 std::size_t reach,
                                 std::size_t symbols)
{
    phase_decisions decisions(alphabet, window, reach, symbols);
    if (decisions.angles() > 1) {
        d_correlations.resize(decisions.angles());
        d_decisions = std::move(decisions);
    }
}

void phase_selection::begin(const sample_history& history,
                            const carrier& loop,
                            std::size_t middle,
                            float residual)
{
    d_is_on = true;
    d_decisions->set_labels(history.symbols().labels(0), history.next());
    d_decisions->search().begin(
        { wrapped(static_cast<float>(loop.phase_at(middle))),
          static_cast<float>(whole_turn * step) * loop.frequency() });
    d_residual = d_latest_residual = residual;
}

void phase_selection::select(sample_history& history,
                             learning_target& target,
                             const carrier& loop,
                             const network_decider& decides)
{
    const std::size_t symbol = history.latest(step), first = history.owned(symbol);
    const std::size_t n = history.sample(step);
    const float* const samples = history.filtered(first);
    const std::size_t newest = history.next() - step;
    const bool known = history.knows(step) && history.is_usable(first);
    d_decisions->decide(history.filtered(history.window_begin(newest)),
                        loop.rotation(history.owned(newest + step / 2)),
                        decides,
                        newest);
    for (std::size_t k = newest; k < history.next(); ++k)
        if (history.symbols().is_label_known(k))
            d_decisions->set_known(k, history.symbols().known_label(k));
    d_decisions->take(
        known,
        [&](const auto* labels, std::size_t n) { return target.expect(labels, n); },
        loop,
        samples,
        power_of(samples, n),
        first,
        symbol);
    phase_search& search = d_decisions->search();
    for (std::size_t a = 0; a < d_correlations.size(); ++a)
        d_correlations[a] = search.accumulated(a);
    const std::size_t selected = search.select(d_correlations, step);
    if (!known)
        return;
    history.symbols().replace(
        symbol, history.next(), d_decisions->labels(selected, symbol));
    const float latest = search.residual(selected) / static_cast<float>(n);
    d_latest_residual += (latest - d_latest_residual) * step / latest_symbols;
    d_residual += (latest - d_residual) * step / residual_symbols;
}

void phase_selection::rotate_expected(const sample_history& history,
                                      std::size_t symbol,
                                      std::size_t n,
                                      float* expected) const
{
    if (d_is_on)
        rotate_by_steps(history.filtered(history.owned(symbol)),
                        history.sample(step),
                        expected,
                        n / step);
}

void phase_selection::turn(float by)
{
    if (d_decisions)
        d_decisions->search().turn(by);
}

void phase_selection::move_back(std::size_t symbols)
{
    if (d_decisions)
        d_decisions->move_back(symbols);
}

void phase_selection::state(archive& members, const sample_history& history)
{
    members("searching", d_is_on);
    members("left", d_residual);
    members("left_latest", d_latest_residual);
    if (d_decisions)
        d_decisions->state(members,
                           history.first_symbol(),
                           history.kept_symbols(),
                           history.symbols().classes());
    else if (d_is_on)
        members.refuse("searching", "is true without a search");
}

} // namespace gr::adann::core
