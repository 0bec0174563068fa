/* -*- c++ -*- */
/*
 * What the log says of an adaptive equalizer.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adaptive_equalizer.h"
#include "log_limit.h"

#include <gnuradio/logger.h>

#include <chrono>
#include <optional>

namespace gr::adann {

/*! Logs events of an adapter: repeated ones once a minute, dropped batches when their share
 * grows. For the thread that reports events. */
class adaptation_log
{
public:
    explicit adaptation_log(gr::logger_ptr to) : d_logger(std::move(to)) {}

    /*! \param has_model whether the equalizer has one
     * \return whether the event is news to the user: not another try of a
     * start, nor another rollback to the same network */
    bool take(const core::adaptation_event& event, bool has_model);
    //! At the end: how many errors were not logged.
    void finish();

private:
    using clock = std::chrono::steady_clock;

    void log(const core::adaptation_event& event, bool has_model);
    void log_dropped(const core::adaptation_event& event);

    const gr::logger_ptr d_logger;
    log_limit d_errors, d_starts, d_refused_files;
    clock::time_point d_logged_drops, d_logged_pause;
    std::uint64_t d_drops_at_start = 0;
    double d_logged_share = 1; // share of batches trained on, as logged last
    bool d_pause_is_logged = false;
    std::optional<core::guard::candidate> d_rolled_back_to;
};

} // namespace gr::adann
