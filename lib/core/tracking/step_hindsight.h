/* -*- c++ -*- */
/*
 * The latest step of a stream once more, at its measured phase.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/decider.h"
#include "core/tracking/carrier.h"
#include "core/tracking/hindsight.h"
#include "core/tracking/sample_history.h"

#include <vector>

namespace gr::adann::core {

//! Rotates the latest symbols again, by the measured instead of the predicted phase of their carrier.
class step_hindsight
{
public:
    static constexpr std::size_t step = carrier::step;

    //! \param reach symbols on each side that the expected waveform depends on
    step_hindsight(const window_geometry& window, std::size_t reach);

    /*! After the phase of a step was measured.
     * \param decides null where the labels are decisions at several phases already */
    void rotate(const sample_history& history,
                const carrier& loop,
                const network_decider* decides);
    void forget() { d_is_known = false; }
    //! The result of rotate(), until forget().
    hindsight latest() const
    {
        return d_is_known ? hindsight{ windows(), d_labels.data() } : hindsight();
    }

private:
    feature_view windows() const
    {
        return d_window.view(d_samples.data(), d_labels.size());
    }

    window_geometry d_window;
    // The windows of a step and of twice the reach before it, and their labels.
    aligned_floats d_samples;
    std::vector<std::uint8_t> d_labels;
    bool d_is_known = false; // whether they are those of the latest step
};

} // namespace gr::adann::core
