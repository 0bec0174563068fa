/* -*- c++ -*- */
/*
 * The parts that decide by a model, from samples to labels.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/handover.h"
#include "core/adaptation/label_descent.h"
#include "core/adaptation/observed.h"
#include "core/adaptation/refined_stream.h"
#include "core/network/decider.h"
#include "core/network/model.h"
#include "core/network/prepared_network.h"
#include "core/signal/pause_detector.h"
#include "core/signal/soft_symbols.h"
#include "core/tracking/front_filter.h"

#include <memory>
#include <optional>
#include <vector>

namespace gr::adann::core {

/*! The parts of one model. They belong to the deciding thread; but the adapter publishes the
 * weights and the refinement, and reads the front filter. */
struct deciding_parts {
    explicit deciding_parts(const model& by, std::size_t stride)
        : runs(by.net),
          weights(prepared_network(by.net, stride, by.formats ? &*by.formats : nullptr)),
          signal(by.waveform ? refinement(*by.waveform) : refinement())
    {
        if (by.waveform && stride == by.window.stride())
            pauses.emplace(*by.waveform, by.window);
        // A decider's first call allocates, which the deciding thread must not do.
        const std::size_t dimension = by.window.dimension();
        const std::vector<float> windows(dimension + stride);
        std::vector<float> posteriors(2 * by.net.outputs());
        std::uint8_t labels[2];
        runs.decide(weights.newest(),
                    { windows.data(), stride, dimension, 2 },
                    labels,
                    posteriors.data());
    }

    //! Another stream begins.
    void start()
    {
        if (front)
            front->resting().start();
        if (soft)
            soft->start();
        if (refined)
            refined->start();
    }

    //! The carrier that a start has found.
    struct found_carrier {
        double frequency = 0; //!< cycles per symbol; 0: none
        //! Symbols from the stream's start on, at the last of which its phase is 0.
        std::uint64_t symbol = 0;
    };

    decider runs;
    latest_value<prepared_network> weights;
    latest_value<refinement> signal;
    std::optional<pause_detector> pauses; //!< with an expected waveform
    //! Each may be null.
    std::unique_ptr<observed<front_filter>> front;
    found_carrier carrier;
    std::unique_ptr<soft_symbols> soft;
    std::unique_ptr<refined_stream> refined;
};

} // namespace gr::adann::core
