/* -*- c++ -*- */
/*
 * Forgetting time constants of averages over a signal, symbols.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gr::adann::core {

//! Of statistics: error rates, the residual's power and its scatter, the bias of patterns.
inline constexpr std::size_t statistics_memory = 8192;
//! Of the channel: the filter after the expected waveform, and the power of the residual from it.
inline constexpr std::size_t channel_memory = 2048;

/*! The part of an average over the channel's memory, statistics_memory of the stream at most, that is kept.
 * \param symbols of a batch that is added
 * \param apart batches of the stream since the previous one, this one included */
inline double kept_of_channel(std::size_t symbols, std::size_t apart)
{
    const auto added = static_cast<double>(symbols);
    return std::exp(-std::max(added / channel_memory,
                              added * static_cast<double>(apart) / statistics_memory));
}

} // namespace gr::adann::core
