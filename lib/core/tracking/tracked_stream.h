/* -*- c++ -*- */
/*
 * A stream of samples that a filter and a carrier loop follow.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/adaptive_filter.h"
#include "core/tracking/carrier_follower.h"
#include "core/tracking/learning_target.h"
#include "core/tracking/sample_history.h"

#include <optional>

namespace gr::adann::core {

//! What follows a stream; a front_filter decides when, a recovery whether it does so rightly.
struct tracked_stream {
    static constexpr std::size_t block = block_symbols;
    //! Symbols of a sequence that the taps start from, at most.
    static constexpr std::size_t most_known = 192;

    sample_history history;
    learning_target target;
    corrections corrected;                   //!< samples, before the taps
    std::optional<carrier_follower> carrier; //!< of complex samples
    adaptive_filter filter;

    carrier_follower* follower() { return carrier ? &*carrier : nullptr; }

    //! Mean squares of a sample that is left, predicted: over a few blocks, over the latest one.
    struct residuals {
        float mean, latest;
    };
    //! While the phase is searched, whatever the phase.
    residuals residual() const
    {
        if (carrier && carrier->is_searching())
            return { carrier->residual(), carrier->latest_residual() };
        return { filter.bank().residual(), filter.bank().latest_residual() };
    }
    //! Starts from known labels: adaptive_filter::start().
    bool start(const std::uint8_t* labels,
               std::size_t n,
               std::size_t end,
               bool finds_carrier,
               float most)
    {
        return filter.start(
            history, target, follower(), labels, n, end, finds_carrier, most);
    }
    //! Taps that do nothing, and no carrier.
    void start_over()
    {
        filter.bank().reset();
        target.forget_noise();
        if (carrier)
            carrier->reset();
    }
};

} // namespace gr::adann::core
