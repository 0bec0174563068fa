/* -*- c++ -*- */
/*
 * From decided symbols to batches that are worth a step.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adaptation_exchange.h"

#include <functional>

namespace gr::adann::core {

/*! Counts a stream in batches of as many symbols from its first one on, or from leave(), and copies those
 * that are worth a step into the queue. Belongs to the deciding thread. */
class batch_collector
{
public:
    /*! \param batch symbols
     * \param classes of the constellation
     * \param on_batch called once one is in the queue */
    batch_collector(adaptation_exchange& with,
                    std::size_t batch,
                    std::size_t classes,
                    std::function<void()> on_batch);

    //! What comes next is another stream.
    void start();

    //! Symbols of the batch so far, and to come.
    std::size_t position() const { return d_position; }
    std::size_t left() const { return d_batch - d_position; }

    /*! A batch begins, and is learnt from if there is reason to.
     * \param learns whether it may be
     * \param apart blocks that the front filter learns from: one in so many (front_filter::apart()) */
    void begin(const deciding_parts& by, bool learns, std::size_t apart);
    /*! A packet's batch, between two others, if there is one and room for it.
     * \param latest see decoded_packets::next_batch() */
    void
    add_packet(decoded_packets& packets, const deciding_parts& by, std::size_t latest);

    //! Some labels of consecutive symbols.
    struct run {
        const std::uint8_t* labels = nullptr;
        std::size_t count = 0;
    };
    /*! The next symbols, left() at most.
     * \param view what the network saw
     * \param received the same windows as they came in
     * \param known null, or view.count labels, see is_known()
     * \param start labels that a start without a model learns from: the first ones of these symbols */
    void add(const feature_view& view,
             const float* received,
             const std::uint8_t* decided,
             const std::uint8_t* known,
             run start);
    //! The batch is not learnt from; the next symbol begins another one.
    void leave();
    //! The batch is not learnt from, and what was learnt before is of no use.
    void restart();
    //! The next symbols, where nothing adapts.
    void pass(std::size_t n) { d_position = (d_position + n) % d_batch; }

private:
    bool is_due(std::size_t apart) const;
    void note_known(run start);

    adaptation_exchange& d_exchange;
    const std::size_t d_batch, d_classes;
    const std::function<void()> d_on_batch;
    adaptation_batch* d_filling =
        nullptr;                 // null while the current batch is not learnt from
    std::size_t d_position = 0;  // in the current batch
    std::uint64_t d_symbols = 0; // since the start
    bool d_gap = true;           // before the current batch
    bool d_restarts = false;     // with the next batch
};

} // namespace gr::adann::core
