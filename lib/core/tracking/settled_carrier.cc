/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/settled_carrier.h"

#include "core/signal/rotate.h"

namespace gr::adann::core {

double settled_carrier::phase() const
{
    const auto since = std::min<std::uint64_t>(d_now - d_latest.at, extrapolated_for);
    return d_latest.phase + whole_turn * d_frequency * static_cast<double>(since);
}

void settled_carrier::rotate(const sample_history& history,
                             planes& samples,
                             std::size_t first,
                             std::size_t n,
                             double way) const
{
    if (!has_carrier())
        return;
    const double per_sample =
        whole_turn * d_frequency / static_cast<double>(history.window().sps());
    const double since =
        static_cast<double>(first) - static_cast<double>(history.sample(history.next()));
    rotate_back(samples.re.data(),
                samples.im.data(),
                n,
                -way * (phase() + per_sample * since),
                -way * per_sample);
}

void settled_carrier::state(archive& members)
{
    members("now", d_now);
    members("settled_phase", d_latest.phase);
    members("settled_frequency", d_frequency);
    members("settled_at", d_latest.at);
}

} // namespace gr::adann::core
