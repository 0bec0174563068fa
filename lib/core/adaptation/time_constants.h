/* -*- c++ -*- */
/*
 * Forgetting time constants of averages over a signal, symbols.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>

namespace gr::adann::core {

//! Of statistics: error rates, the residual's power and its scatter, the bias of patterns.
inline constexpr std::size_t statistics_memory = 8192;
//! Of the channel: the filter after the expected waveform, and the power of the residual from it.
inline constexpr std::size_t channel_memory = 2048;

} // namespace gr::adann::core
