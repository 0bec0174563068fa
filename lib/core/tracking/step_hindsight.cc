/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/step_hindsight.h"

#include <algorithm>

namespace gr::adann::core {

step_hindsight::step_hindsight(const window_geometry& window, std::size_t reach)
    : d_window(window), d_labels(step + 2 * reach)
{
    d_samples.resize(windows().floats());
}

void step_hindsight::rotate(const sample_history& history,
                            const carrier& loop,
                            const network_decider* decides)
{
    const std::size_t n = d_labels.size(), symbol = history.next() - n;
    const std::size_t first = history.window_begin(symbol);
    d_is_known = history.known() >= n && history.is_usable(first);
    if (!d_is_known)
        return;
    loop.turn_to(loop.measured(),
                 history.filtered(first),
                 first,
                 windows().floats() / 2,
                 d_samples.data());
    if (decides)
        (*decides)(windows(), d_labels.data());
    else
        std::copy_n(history.symbols().decided(symbol), n, d_labels.begin());
}

} // namespace gr::adann::core
