/* -*- c++ -*- */
/*
 * How and when an equalizer adapts.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/tracking/front_filter.h"
#include "core/training/trainer.h"

#include <string>
#include <vector>

namespace gr::adann::core {

//! How an equalizer learns: see learner.
struct learner_settings {
    std::size_t batch = 512; //!< symbols of one step (N_b), 16 to 2^20
    std::size_t average =
        10000; //!< symbols that the weights in use average over, to 10^9
    //! Its learning rate, sigma and epsilon may be `automatic`.
    training_settings training = automatic_training();
    //! Whether a core::guard and a signal_check watch. None does with "supervised", nor
    //! over a model of unknown error rate: of that nobody knows what is normal.
    bool guard = true;

    static training_settings automatic_training();
    //! \throws std::invalid_argument naming the setting that is out of range
    void check() const;

    //! What a step depends on, but for the seed: the state of the noise is the trainer's.
    void state(archive& members);
};

//! When an equalizer learns, and where it keeps what it has learnt: see
//! adaptive_equalizer.
struct adaptation_settings : learner_settings {
    std::string mode = "lockstep"; //!< lockstep, live or off
    //! Whether a front filter follows the signal, where the model's waveform lets it.
    bool front_filter = true;
    front_filter_settings front;
    //! File in a folder that exists; empty for none.
    std::string checkpoint = "";
    std::size_t checkpoint_interval = 60; //!< seconds, 0 (after each step) to 10^9

    static const std::vector<std::string>& modes();
    //! \throws std::invalid_argument naming the setting that is out of range
    void check() const;
};

} // namespace gr::adann::core
