/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/sequence_search.h"

namespace gr::adann::core {

sequence_search::sequence_search(const constellation& symbols) : d_trellis(symbols) {}

void sequence_search::propose(label_descent& descent,
                              const label_descent::stretch& all,
                              std::size_t first)
{
    const std::size_t stride = descent.responses().waveform().stride(),
                      classes = descent.alternatives().classes();
    descent.responses().find_matches(
        &all.white[(first - all.first) * stride], window, d_matches.data());
    d_trellis.find(all.labels + first,
                   d_matches.data(),
                   window,
                   1,
                   window,
                   all.priors ? all.priors + first * classes : nullptr);
    d_count = 0;
    for (std::size_t i = step; i < window; ++i)
        if (const std::uint8_t label = d_trellis.most_probable(i);
            label != all.labels[first + i])
            d_proposed[d_count++] = { first + i, label };
}

} // namespace gr::adann::core
