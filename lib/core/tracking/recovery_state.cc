/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/recovery_state.h"

namespace gr::adann::core {

recovery_state after(recovery_state before, recovery_event event)
{
    using s = recovery_state;
    // From:  following, doubtful, interrupted, lost, degraded, trained.
    using row = std::array<s, recovery_states>;
    const auto all = [](s to) { return row{ to, to, to, to, to, s::trained }; };
    const auto next = [event, all]() -> row {
        switch (event) {
        case recovery_event::exceeds:
            return { s::interrupted, s::lost,     s::interrupted,
                     s::lost,        s::degraded, s::trained };
        case recovery_event::passes:
            return { s::following, s::doubtful, s::following,
                     s::lost,      s::degraded, s::trained };
        case recovery_event::explains:
            return { s::following, s::doubtful, s::following,
                     s::doubtful,  s::doubtful, s::trained };
        case recovery_event::unexplained:
            return all(s::doubtful);
        case recovery_event::settles:
        case recovery_event::known:
            return all(s::following);
        case recovery_event::fails:
            return all(s::lost);
        case recovery_event::stays_better:
            return all(s::degraded);
        case recovery_event::starts:
            return all(s::doubtful);
        case recovery_event::trains:
            return all(s::trained);
        case recovery_event::resets:
            break;
        }
        row reset;
        reset.fill(s::following);
        return reset;
    };
    return next()[static_cast<std::size_t>(before)];
}

tracking_state status_of(recovery_state state, bool exceeds)
{
    using t = tracking_state;
    // Of: following, doubtful, interrupted, lost, degraded, trained.
    constexpr std::array<t, recovery_states> below{
        t::following, t::doubtful, t::lost, t::lost, t::doubtful, t::trained
    };
    const t status = below[static_cast<std::size_t>(state)];
    return exceeds && status != t::trained ? t::lost : status;
}

} // namespace gr::adann::core
