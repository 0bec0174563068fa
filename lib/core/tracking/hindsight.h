/* -*- c++ -*- */
/*
 * What a front filter sees of symbols once they are decided.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/windows.h"

#include <cstdint>

namespace gr::adann::core {

/*! The latest symbols once more, rotated back by their carrier's phase as it is measured, not as it
 * was predicted. None where it is not measured, or there is no carrier. */
struct hindsight {
    feature_view windows{};               //!< of the network
    const std::uint8_t* labels = nullptr; //!< windows.count, as it decides these or did
};

} // namespace gr::adann::core
