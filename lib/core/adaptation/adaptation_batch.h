/* -*- c++ -*- */
/*
 * What the adapter learns from in one step.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/deciding_parts.h"
#include "core/adaptation/time_constants.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

//! The samples of consecutive symbols, with their labels. A slot of the queue: its vectors keep their size.
struct adaptation_batch {
    std::vector<float> samples;  //!< as the network saw them
    std::vector<float> received; //!< as they came in; empty unless a start may be tried
    std::vector<std::uint8_t>
        labels; //!< decided; while a start looks for a model, `known` of them
    std::vector<std::uint8_t> truth;    //!< known ones, not_known elsewhere
    bool has_truth = false;             //!< whether any is known
    bool is_tried = false;              //!< whether `received` is filled
    bool follows = false;               //!< directly the one handed over before it
    bool starts = false;                //!< of labels only the known ones are there:
    bool restarts = false;              //!< what was learnt before is of another signal
    std::size_t first = 0, known = 0;   //!< where they begin, and how many
    const deciding_parts* by = nullptr; //!< what decided it
    std::uint64_t end = 0;              //!< symbols since start()
    double unexplained = 0;             //!< part of the symbols: unexplained_errors()
    std::size_t apart = 1;              //!< batches since the one handed over before

    void begin(const deciding_parts& decides)
    {
        by = &decides;
        has_truth = is_tried = follows = starts = restarts = false;
        first = known = 0;
        apart = 1;
    }
    //! It is whole. \param symbols since start(), up to its end
    void finish(std::uint64_t symbols)
    {
        unexplained = unexplained_errors();
        end = symbols;
    }

private:
    /* That are wrong where noise does not explain the residual (refined_stream), or by cycle slips: one
     * turns all that an estimate remembers. */
    double unexplained_errors() const
    {
        const double residual = by->refined ? by->refined->unexplained_errors() : 0;
        const double slips =
            by->front ? by->front->resting().slip_probability() * statistics_memory : 0;
        return std::max(residual, std::min(slips, 1.0));
    }
};

} // namespace gr::adann::core
