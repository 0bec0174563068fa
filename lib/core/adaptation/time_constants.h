/* -*- c++ -*- */
/*
 * How many symbols what is found of a signal is found from.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>

namespace gr::adann::core {

//! Of statistics: error rates, the residual's noise and its scatter, what patterns have in common.
inline constexpr std::size_t statistics_memory = 8192;
//! Of the channel: the filter behind the expected waveform, and the power that this leaves.
inline constexpr std::size_t channel_memory = 2048;

} // namespace gr::adann::core
