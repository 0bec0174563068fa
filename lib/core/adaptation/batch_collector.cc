/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/batch_collector.h"

#include "core/signal/known_symbols.h"

#include <algorithm>
#include <utility>

namespace gr::adann::core {

batch_collector::batch_collector(adaptation_exchange& with,
                                 std::size_t batch,
                                 std::size_t classes,
                                 std::function<void()> on_batch)
    : d_exchange(with),
      d_batch(batch),
      d_classes(classes),
      d_on_batch(std::move(on_batch))
{
}

void batch_collector::start()
{
    leave();
    d_restarts = false;
    d_symbols = 0;
}

void batch_collector::leave()
{
    d_filling = nullptr;
    d_position = 0;
    d_gap = true;
}

void batch_collector::restart()
{
    leave();
    d_restarts = true;
}

bool batch_collector::is_due(std::size_t interval) const
{
    return d_exchange.wants_received ||
           d_exchange.batches_skipped + 1 >=
               std::min(d_exchange.pace.load(), interval / d_batch);
}

void batch_collector::begin(const deciding_parts& by, bool learns, std::size_t interval)
{
    const bool due = learns && is_due(interval);
    d_filling = due ? d_exchange.queue.free_slot() : nullptr;
    if (!d_filling && due)
        ++d_exchange.dropped;
    if (d_filling) {
        d_filling->begin(by);
        d_filling->follows = !d_gap;
        d_filling->has_received =
            d_exchange.wants_received && !d_filling->received.empty();
    }
    d_gap = !d_filling;
}

void batch_collector::add_packet(decoded_packets& packets,
                                 const deciding_parts& by,
                                 std::size_t latest)
{
    adaptation_batch* const slot =
        packets.is_waiting() ? d_exchange.queue.free_slot() : nullptr;
    if (!slot)
        return;
    slot->begin(by);
    if (!packets.next_batch(
            latest, slot->samples.data(), slot->labels.data(), slot->truth.data()))
        return;
    slot->has_truth = slot->is_packet = true;
    slot->finish(d_symbols);
    d_exchange.queue.push();
    d_on_batch();
}

// Whether all labels of the batch are.
bool batch_collector::is_all_known() const
{
    const auto& truth = d_filling->truth;
    return std::find(truth.begin(), truth.end(), not_known) == truth.end();
}

void batch_collector::add(const feature_view& view,
                          const float* received,
                          const std::uint8_t* decided,
                          const std::uint8_t* known,
                          bool is_unexplained,
                          const pause_detector* pauses)
{
    d_symbols += view.count;
    const bool is_whole = d_position + view.count == d_batch;
    if (d_filling) {
        // Windows overlap, so this writes the last samples of the previous call again.
        const std::size_t first = d_position * view.stride;
        std::copy_n(view.data, view.floats(), d_filling->samples.begin() + first);
        if (d_filling->has_received)
            std::copy_n(received, view.floats(), d_filling->received.begin() + first);
        std::copy_n(decided, view.count, d_filling->labels.begin() + d_position);
        for (std::size_t i = 0; i < view.count; ++i) {
            const bool is = known && is_known(known[i], d_classes);
            d_filling->truth[d_position + i] = is ? known[i] : not_known;
            d_filling->has_truth |= is;
        }
    }
    if (d_filling)
        d_filling->is_unexplained |= is_unexplained;
    pass(view.count);
    if (!is_whole)
        return;
    ++d_exchange.since_estimate;
    if (d_filling && pauses && pauses->is_within(d_batch) && !is_all_known()) {
        d_filling = nullptr;
        d_gap = true;
    }
    if (!d_filling) {
        ++d_exchange.batches_skipped;
        return;
    }
    d_filling->finish(d_symbols, pauses ? pauses->part() : 0);
    d_filling->apart = d_exchange.batches_skipped.exchange(0) + 1;
    d_filling->restarts = std::exchange(d_restarts, false);
    d_exchange.queue.push();
    d_on_batch();
}

} // namespace gr::adann::core
