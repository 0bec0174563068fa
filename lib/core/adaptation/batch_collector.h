/* -*- c++ -*- */
/*
 * Collects decided symbols in batches, and chooses those that are worth a step.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adaptation_exchange.h"

#include <functional>

namespace gr::adann::core {

/*! Divides a stream into batches of equal length, counted from its first symbol or from leave(),
 * and copies those that are worth a step into the queue. Belongs to the deciding thread. */
class batch_collector
{
public:
    /*! \param batch symbols
     * \param classes of the constellation
     * \param on_batch called once a batch is in the queue */
    batch_collector(adaptation_exchange& with,
                    std::size_t batch,
                    std::size_t classes,
                    std::function<void()> on_batch);

    //! Another stream begins.
    void start();

    //! Symbols of the batch so far, and those to come.
    std::size_t position() const { return d_position; }
    std::size_t left() const { return d_batch - d_position; }
    std::uint64_t symbols() const { return d_symbols; } //!< since start()

    /*! Begins a batch, and chooses whether it is learnt from.
     * \param learns whether it may be
     * \param interval symbols from one batch that is learnt from to the next, at most; if it is
     * shorter than two batches, each one is */
    void begin(const deciding_parts& by, bool learns, std::size_t interval);
    /*! Hands over a batch of a decoded packet, between
     * two others, if there is one and the queue has room.
     * \param latest see decoded_packets::next_batch() */
    void
    add_packet(decoded_packets& packets, const deciding_parts& by, std::size_t latest);

    /*! Adds the next symbols, left() at most.
     * \param view the network's windows
     * \param received the same windows as they came in
     * \param known null, or view.count labels, see is_known()
     * \param is_unexplained adaptation_batch::is_unexplained
     * \param pauses null, or those up to the last of these symbols: of a batch with a part of one only known labels
     * are learnt from, if all are known */
    void add(const feature_view& view,
             const float* received,
             const std::uint8_t* decided,
             const std::uint8_t* known,
             bool is_unexplained,
             const pause_detector* pauses);
    //! Discards the batch; the next symbol begins another one.
    void leave();
    //! Discards the batch, and has learning start over: earlier batches were of another signal.
    void restart();
    //! Passes over the next symbols, where nothing adapts.
    void pass(std::size_t n) { d_position = (d_position + n) % d_batch; }

private:
    bool is_due(std::size_t interval) const;
    bool is_all_known() const;

    adaptation_exchange& d_exchange;
    const std::size_t d_batch, d_classes;
    const std::function<void()> d_on_batch;
    adaptation_batch* d_filling = nullptr; // null if the current batch is not learnt from
    std::size_t d_position = 0;            // in the current batch
    std::uint64_t d_symbols = 0;           // since start()
    bool d_gap = true;       // whether there is one before the current batch
    bool d_restarts = false; // whether the next batch has `restarts`
};

} // namespace gr::adann::core
