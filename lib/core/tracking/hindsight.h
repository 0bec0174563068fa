/* -*- c++ -*- */
/*
 * Symbols of a front filter once more, after their phase was measured.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/windows.h"

#include <cstdint>

namespace gr::adann::core {

/*! The latest symbols, rotated back by the measured instead of the predicted phase of the carrier.
 * None where the phase is not measured, or there is no carrier. */
struct hindsight {
    feature_view windows{};               //!< of the network
    const std::uint8_t* labels = nullptr; //!< windows.count decisions of the network
};

} // namespace gr::adann::core
