/* -*- c++ -*- */
/*
 * A stream of samples with the filter and the carrier loop that follow it.
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

//! The state of a tracked stream. A front_filter updates it, and a recovery tests it.
struct tracked_stream {
    static constexpr std::size_t block = block_symbols;
    static constexpr std::size_t most_apart = 4; //!< blocks from an update to the next
    //! Symbols of a sequence that the taps start from, at most.
    static constexpr std::size_t most_known = 192;

    sample_history history;
    learning_target target;
    corrections corrected;                   //!< samples, before the taps
    std::optional<carrier_follower> carrier; //!< of complex samples
    adaptive_filter filter;

    carrier_follower* follower() { return carrier ? &*carrier : nullptr; }

    //! Whether the phase can be extrapolated: there is no carrier, or one with little phase noise.
    bool has_steady_phase() const
    {
        return !carrier || carrier->loop().idle() || !carrier->has_phase_noise(target);
    }
    //! Predicted mean square residual of a sample over a few blocks, and over the latest one.
    struct residuals {
        float mean, latest;
    };
    //! While the phase is searched: that at the best phase.
    residuals residual() const
    {
        if (carrier && carrier->selection().is_on())
            return { carrier->selection().residual(),
                     carrier->selection().latest_residual() };
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
    //! Goes on by these taps: adaptive_filter::resume().
    void resume(const std::uint8_t* labels,
                std::size_t n,
                const float* taps,
                std::size_t memory,
                const carrier_follower::extrapolation& from)
    {
        filter.resume(history, target, follower(), labels, n, taps, memory, from);
    }
    //! Back to the identity, and no carrier.
    void start_over()
    {
        filter.bank().reset();
        target.reset();
        if (carrier)
            carrier->reset();
    }
};

} // namespace gr::adann::core
