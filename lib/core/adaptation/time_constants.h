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

//! The same in symbols of the stream, where few of them are taken: one in eight or fewer.
inline constexpr std::size_t channel_memory_of_stream = 8 * channel_memory;

/*! exp(-t / channel_memory), with t symbols of a batch, or exp(-s / channel_memory_of_stream), with s symbols of the
 * stream, if that is less: the factor of earlier batches in an average.
 * \param symbols of the batch
 * \param apart batches of the stream since the previous one, this one included */
inline double channel_memory_factor(std::size_t symbols, std::size_t apart)
{
    const auto taken = static_cast<double>(symbols);
    return std::exp(
        -std::max(taken / channel_memory,
                  taken * static_cast<double>(apart) / channel_memory_of_stream));
}

} // namespace gr::adann::core
