/* -*- c++ -*- */
/*
 * Trains a start's network on what its linear equalizer decides after a front filter.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adaptation_batch.h"
#include "core/adaptation/blind_start.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gr::adann::core {

/*! From a linear equalizer to a network, for a start without a model.
 *
 * The linear equalizer decides, after a front filter that follows carrier and channel, and a learner starts
 * from it. What is decided is collected while the filter follows and the learner accepts it. From `symbols`
 * of them a network is trained (first_network.h). It decides the same filtered samples: the filter, the
 * carrier and the rotation of the labels go on. A learner starts from it anew, unless what has been
 * learnt so far explains the samples better. */
class network_start
{
public:
    //! Symbols that are collected.
    static constexpr std::size_t symbols = blind_start::symbols - blind_start::first_look;

    /*! \param seed of the training's random numbers
     * \param batch symbols of a batch */
    network_start(linear_start linear,
                  std::size_t stride,
                  std::size_t batch,
                  std::uint64_t seed);

    /*! Takes a batch that was decided after a front filter that followed.
     * \param in_use the network that decides
     * \param goes_on called from time to time while it trains: false stops it, and the next batch
     * begins it again
     * \return a message for the user once it is done */
    std::string take(const adaptation_batch& batch,
                     const network& in_use,
                     const std::function<bool()>& goes_on);
    //! Another signal comes: forgets what was collected.
    void forget() { d_parts.clear(); }

    //! Whether a network has been trained, and compared.
    bool done() const { return d_is_done; }
    //! Of the network, if that is better than the one in use.
    const std::optional<model>& found() const { return d_found; }

private:
    void add(const adaptation_batch& batch);

    linear_start d_linear;
    std::size_t d_stride, d_batch;
    std::size_t d_part; // symbols of a part: a multiple of the batch
    std::uint64_t d_seed;
    //! Consecutive symbols. Batches too short for waveform_judge are joined.
    struct part {
        std::vector<float> samples;
        std::vector<std::uint8_t> labels;
    };
    std::vector<part> d_parts; // the last one may be incomplete
    std::uint64_t d_end = 0;   // of the latest batch in it, symbols from start() on
    bool d_is_done = false;
    std::optional<model> d_found;
};

} // namespace gr::adann::core
