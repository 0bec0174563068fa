/* -*- c++ -*- */
/*
 * Trains a network on the decisions of a linear equalizer.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/model.h"
#include "core/signal/windows.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gr::adann::core {

//! Windows of consecutive symbols, and their labels.
struct labelled_windows {
    feature_view windows;
    const std::uint8_t* labels;
};

struct first_network {
    network trained;
    //! Whether its decisions explain the samples no worse than those of the network in use.
    bool is_better;
};

/*! Trains the network of a model, which is a linear equalizer (initialize_linear()), for 20 epochs of
 * Adam on the first three quarters of the parts. On the others waveform_judge compares it with the
 * network in use, by the model's expected waveform.
 * \param in_use that linear equalizer, or what has been learnt from it since
 * \param parts of equal length, waveform_judge::least_batch() symbols or more; labels as they were decided,
 * or known ones
 * \param seed of the order of symbols
 * \param goes_on called from time to time: false stops it
 * \return none if it was stopped */
std::optional<first_network>
train_first_network(const model& linear,
                    const network& in_use,
                    const std::vector<labelled_windows>& parts,
                    std::uint64_t seed,
                    const std::function<bool()>& goes_on);

} // namespace gr::adann::core
