/* -*- c++ -*- */
/*
 * What the adapter learns from in one step.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/deciding_parts.h"
#include "core/adaptation/distrust.h"
#include "core/adaptation/time_constants.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

//! The samples and labels of consecutive symbols. A slot of the queue: its vectors keep their size.
struct adaptation_batch {
    std::vector<float> samples;  //!< the network's windows
    std::vector<float> received; //!< as they came in; empty unless they may be wanted
    std::vector<std::uint8_t> labels; //!< decided
    std::vector<std::uint8_t> truth;  //!< known labels, not_known elsewhere
    bool has_truth = false;           //!< whether any is known
    bool has_received = false;        //!< whether `received` is filled
    bool is_packet = false;           //!< of a decoded packet, between two others
    bool follows = false;             //!< directly after the batch handed over before
    bool restarts = false;            //!< earlier batches were of another signal
    bool is_unexplained =
        false; //!< whether nothing explains some of it: front_filter::is_unexplained()
    bool is_followed = false;           //!< whether a front filter follows, at its end
    const deciding_parts* by = nullptr; //!< what decided it
    std::uint64_t end = 0;              //!< symbols from start() up to its end
    missed_errors missed;               //!< of the latest symbols
    std::size_t apart = 1;              //!< batches since the one handed over before

    void begin(const deciding_parts& decides)
    {
        by = &decides;
        has_truth = has_received = is_packet = follows = restarts = is_unexplained =
            is_followed = false;
        apart = 1;
    }
    /*! Completes it.
     * \param symbols from start() up to its end
     * \param paused part of the latest ones that are no signal's */
    void finish(std::uint64_t symbols, double paused = 0)
    {
        missed = find_missed(paused);
        const auto tracks =
            by->front ? by->front->resting().state() : tracking_state::lost;
        is_followed =
            tracks == tracking_state::following || tracks == tracking_state::trained;
        end = symbols;
    }

private:
    // A cycle slip rotates all symbols of the estimate's averaging time.
    missed_errors find_missed(double paused) const
    {
        const double slips =
            by->front ? by->front->resting().slip_probability() * statistics_memory : 0;
        return { std::max(by->refined ? by->refined->unexplained_errors() : 0, paused),
                 std::min(slips, 1.0) };
    }
};

} // namespace gr::adann::core
