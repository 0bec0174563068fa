/* -*- c++ -*- */
/*
 * From samples to the labels that are handed out.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/batch_collector.h"
#include "core/adaptation/burst_progress.h"
#include "core/adaptation/decided_output.h"
#include "core/signal/known_frame.h"

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

namespace gr::adann::core {

/*! What an adaptive_equalizer does in the thread that decides: takes over what the adapter has made, has
 * the front filter follow and the network decide, hands out, and collects batches. Its methods are
 * described there. */
class stream_decider
{
public:
    struct written {
        std::size_t labels = 0, points = 0;
    };

    /*! \param signal a model of the signal
     * \param in_use decides
     * \param stride floats from one window to the next
     * \param dimension floats of a vector of decide(): a front filter's reach around a window
     * \param needs_known whether nothing is decided without known labels
     * \param on_batch called once one is in the queue */
    stream_decider(const model& signal,
                   deciding_parts& in_use,
                   std::size_t stride,
                   std::size_t dimension,
                   std::size_t batch,
                   bool needs_known,
                   adaptation_exchange& with,
                   std::function<void()> on_batch);

    std::size_t dimension() const { return d_dimension; }
    //! \param learns whether batches are collected, until stop()
    void start(deciding_parts& in_use, bool learns);
    void stop() { d_learns = false; }

    written decide(const feature_view& view,
                   const std::uint8_t* known_labels,
                   std::uint8_t* labels,
                   float* posteriors,
                   float* soft,
                   soft_symbol_kind kind,
                   const float* a_priori);
    std::size_t flush(std::uint8_t* labels, std::size_t room, float* posteriors);

    void set_known_frame(std::vector<std::uint8_t> labels);
    //! Anyone.
    std::optional<std::size_t> known_position() const;

    void take_packet(std::uint64_t first, std::vector<std::uint8_t> labels);
    void begin_burst(const std::vector<std::uint8_t>& training);
    void end_burst(bool resets);

private:
    void adopt();
    void begin_carrier();
    struct part {
        feature_view seen; // by the network
        acquisition_result acquired;
    };
    part decide_some(const feature_view& view,
                     const std::uint8_t* known_labels,
                     float* posteriors);
    // Whether the model decides as it was loaded.
    bool is_as_loaded() const { return d_batches.symbols() < d_exchange.learns_from; }
    void prepare(front_filter& front);
    void collect(const feature_view& view, const std::uint8_t* known_labels);

    const model& d_signal;
    const std::size_t d_stride, d_dimension;
    const bool d_needs_known;
    adaptation_exchange& d_exchange;
    deciding_parts* d_using;
    const float* d_received = nullptr;   // windows, before a front filter
    std::vector<std::uint8_t> d_decided; // by the network
    std::vector<float> d_posteriors;     // (batch, M), of these
    // Of the front filter.
    bool d_followed = true;        // whether it did
    std::size_t d_interval = 0;    // its time constant as the batch began; 0 without one
    bool d_has_level = true;       // whether the samples have the model's
    bool d_is_unexplained = false; // front_filter::is_unexplained()
    std::size_t d_changes = 0;     // of delay and rotation
    std::size_t d_rotations = 0;   // front_filter::rotations()
    std::size_t d_learnable = 0;   // latest symbols that packets teach, as a batch ended
    hindsight d_latest;            // up to the last symbol decided

    decided_output d_output;
    burst_progress d_bursts;
    bool d_learns = false; // whether batches are collected
    batch_collector d_batches;
    decoded_packets d_packets;
    std::optional<known_frame> d_frame;             // without known labels at the input
    std::atomic<std::size_t> d_known_position{ 0 }; // its, and one
};

} // namespace gr::adann::core
