/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "adaptation_log.h"

#include "core/common/printable.h"

#include <string>
#include <utility>

namespace gr::adann {

namespace {
constexpr double drops_grow =
    10; // factor of the share trained on, since it was logged last

// Whether a minute has passed since it returned true last.
bool is_due(std::chrono::steady_clock::time_point& last)
{
    const auto now = std::chrono::steady_clock::now();
    if (last.time_since_epoch().count() && now - last < std::chrono::minutes(1))
        return false;
    last = now;
    return true;
}
} // namespace

bool adaptation_log::take(const core::adaptation_event& event, bool has_model)
{
    using core::event_kind;
    if (event.what == event_kind::start && !has_model && !d_starts.allows())
        return false;
    log(event, has_model);
    if (event.what == event_kind::rollback &&
        std::exchange(d_rolled_back_to, event.in_use) == event.in_use)
        return false;
    if (d_rolled_back_to != event.in_use)
        d_rolled_back_to.reset();
    return true;
}

void adaptation_log::finish()
{
    if (const std::string more = d_errors.left_out(); !more.empty())
        d_logger->error("adaptation: errors{:s}", more);
}

void adaptation_log::log(const core::adaptation_event& event, bool has_model)
{
    using core::event_kind;
    switch (event.what) {
    case event_kind::error:
        if (d_errors.allows())
            d_logger->error("adaptation: {:s}{:s}", event.detail, d_errors.left_out());
        break;
    case event_kind::refused:
        if (d_refused_files.allows())
            d_logger->warn(
                "not loaded: {:s}{:s}", event.detail, d_refused_files.left_out());
        break;
    case event_kind::loaded: // counts are the file's
        d_drops_at_start = event.dropped;
        d_logged_share = 1;
        d_rolled_back_to.reset();
        if (d_starts.allows())
            d_logger->info(
                "loaded {:s}{:s}", core::printable(event.detail), d_starts.left_out());
        break;
    case event_kind::start:
        d_drops_at_start = event.dropped;
        d_logger->info("{:s}{:s}", event.detail, d_starts.left_out());
        break;
    case event_kind::reset:
        if (!event.detail.empty() && d_starts.allows())
            d_logger->info("started over: {:s}{:s}", event.detail, d_starts.left_out());
        break;
    case event_kind::paused:
        if ((d_pause_is_logged = is_due(d_logged_pause)))
            d_logger->warn("adaptation: paused: {:s}; the last good network decides",
                           event.detail);
        break;
    case event_kind::resumed:
        if (std::exchange(d_pause_is_logged, false))
            d_logger->info("adaptation: resumed");
        break;
    case event_kind::frozen:
        if (!has_model)
            d_logger->warn("frozen before it has started: linear decides until it is "
                           "resumed");
        break;
    case event_kind::step:
        log_dropped(event);
        break;
    default:
        break;
    }
}

void adaptation_log::log_dropped(const core::adaptation_event& event)
{
    const std::uint64_t dropped = event.dropped - d_drops_at_start;
    const double all = static_cast<double>(event.steps + dropped);
    const double share = static_cast<double>(event.steps) / all;
    const bool grows = share < d_logged_share / drops_grow;
    if (!dropped || !(is_due(d_logged_drops) || grows))
        return;
    d_logged_share = share;
    d_logger->info("trained on {:d} of {:d} batches; decisions are not affected",
                   event.steps,
                   event.steps + dropped);
}

} // namespace gr::adann
