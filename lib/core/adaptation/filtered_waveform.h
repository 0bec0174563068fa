/* -*- c++ -*- */
/*
 * Reach of the filter after an expected waveform.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>

namespace gr::adann::core {

//! Symbols on each side that the filter spans.
inline constexpr std::size_t filter_reach = 3;

} // namespace gr::adann::core
