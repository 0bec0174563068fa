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

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace gr::adann::core {

/*! Slots of the queue: one is being filled and one trained on; the others ride out a
 * slow step and the bursts in which a scheduler hands over samples, some 65536
 * symbols, or 8 MiB if that is less.
 * \param floats of a batch */
inline std::size_t queue_slots(std::size_t batch, std::size_t floats)
{
    constexpr std::size_t most_floats = (8 << 20) / sizeof(float);
    return std::max<std::size_t>(4, std::min(65536 / batch, most_floats / floats));
}

/*! Each value has one writer, or takes any order of writes. The deciding thread waits for none but
 * `packets`, which is locked for as long as a copy of three numbers takes. */
struct adaptation_exchange {
    /*! \param slots of the queue, each a copy of `batch`
     * \param taps most that a front filter has */
    adaptation_exchange(std::size_t slots,
                        const adaptation_batch& batch,
                        std::size_t taps)
        : queue(slots, batch), front(taps)
    {
    }

    // From the deciding thread. A checkpoint restores `dropped`, `batches_skipped` and `block_position`.
    slot_queue<adaptation_batch> queue;
    front_reports front;
    locked_value<packet_count> packets;
    //! Batches; the adapter adds those of a former model.
    std::atomic<std::uint64_t> dropped{ 0 };
    //! Batches since one was handed over.
    std::atomic<std::size_t> batches_skipped{ 0 };
    //! Symbols in the refined stream's block, as a batch ended.
    std::atomic<std::size_t> block_position{ 0 };
    //! Batches decided; the adapter begins anew.
    std::atomic<std::uint64_t> since_estimate{ 0 };

    // From the adapter.
    std::atomic<deciding_parts*> latest_parts{ nullptr }; // of the latest model
    //! While the former ones may be in use; the deciding thread ends it.
    std::atomic<bool> is_handing_over{ false };
    std::atomic<bool> has_model{ true };
    std::atomic<bool> has_front{ false };
    std::atomic<bool> tries{ false };   // starts
    std::atomic<std::size_t> pace{ 1 }; // the learner's

    // From anyone.
    std::atomic<bool> frozen{ false };
    std::atomic<bool> follows{ true };       // the front filter
    std::atomic<bool> resets_front{ false }; // the deciding thread takes it
    semaphore wake;                          // the adapter: a batch, a request, or stop
};

} // namespace gr::adann::core
