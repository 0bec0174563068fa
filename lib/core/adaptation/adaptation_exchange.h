/* -*- c++ -*- */
/*
 * All that the deciding thread and the adapter share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adaptation_batch.h"
#include "core/adaptation/decoded_packets.h"
#include "core/adaptation/front_reports.h"
#include "core/adaptation/handover.h"
#include "core/signal/pause_detector.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace gr::adann::core {

/*! Slots of the queue: one is being filled and one trained on. The others buffer a slow
 * step, and the bursts in which a scheduler hands over samples: some 65536 symbols, or
 * 8 MiB if that is less.
 * \param floats of a batch */
inline std::size_t queue_slots(std::size_t batch, std::size_t floats)
{
    constexpr std::size_t most_floats = (8 << 20) / sizeof(float);
    return std::max<std::size_t>(4, std::min(65536 / batch, most_floats / floats));
}

/*! Each value has one writer, or its writes may come in any order. The deciding thread waits for
 * `packets` only, which is locked while three numbers are copied. */
struct adaptation_exchange {
    /*! \param slots of the queue, each a copy of `batch`
     * \param taps largest number of a front filter */
    adaptation_exchange(std::size_t slots,
                        const adaptation_batch& batch,
                        std::size_t taps)
        : queue(slots, batch), front(taps)
    {
    }

    // Written by the deciding thread; a checkpoint restores `dropped`, `batches_skipped`,
    // `block_position` and `pauses`.
    slot_queue<adaptation_batch> queue;
    front_reports front;
    locked_value<packet_count> packets;
    latest_value<pause_detector::found> pauses{ {} }; // at the end of a batch
    //! Dropped batches; the adapter adds those that a former model decided.
    std::atomic<std::uint64_t> dropped{ 0 };
    //! Batches since one was handed over.
    std::atomic<std::size_t> batches_skipped{ 0 };
    //! Symbols in the refined stream's unfinished block at the end of a batch.
    std::atomic<std::size_t> block_position{ 0 };
    //! Batches decided since the latest error estimate; the adapter sets it to 0.
    std::atomic<std::uint64_t> since_estimate{ 0 };
    //! Symbols from start() up to the end of a batch; start() sets it to 0.
    std::atomic<std::uint64_t> decided{ 0 };

    // Written by the adapter.
    std::atomic<deciding_parts*> latest_parts{ nullptr }; // of the latest model
    //! Whether the former parts may still be in use; the deciding thread clears it.
    std::atomic<bool> is_handing_over{ false };
    std::atomic<bool> has_model{ true };
    std::atomic<bool> has_front{ false };
    //! Whether batches are wanted with their samples as received, one after the other.
    std::atomic<bool> wants_received{ false };
    //! Symbols from start() up to which nothing is learnt: the model decides as it was loaded.
    std::atomic<std::uint64_t> learns_from{ 0 };
    std::atomic<std::size_t> pace{ 1 }; // learner::pace()

    // Written by any thread.
    std::atomic<bool> frozen{ false };
    std::atomic<bool> follows{ true };       // whether the front filter does
    std::atomic<bool> resets_front{ false }; // the deciding thread clears it
    semaphore wake; // wakes the adapter for a batch, a request, or stop
};

} // namespace gr::adann::core
