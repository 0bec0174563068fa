/* What an adaptive_equalizer does in the thread that decides.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptive_equalizer.h"

#include "core/common/checks.h"
#include "core/signal/known_symbols.h"

#include <algorithm>
#include <utility>

namespace gr::adann::core {

adaptive_equalizer::written adaptive_equalizer::decide(const feature_view& view,
                                                       const std::uint8_t* known_labels,
                                                       std::uint8_t* labels,
                                                       float* posteriors,
                                                       float* soft,
                                                       soft_symbol_kind kind)
{
    written all;
    std::uint8_t* const decided = d_decided.data();
    float* const of_decided = posteriors ? d_posteriors.data() : nullptr;
    const std::size_t classes = d_initial.net.outputs();
    if (d_supervised && !known_labels && !d_frame)
        refuse("known labels",
               "missing",
               "one per feature vector for the loss 'supervised'");
    for (std::size_t done = 0; done < view.count;) {
        std::size_t n = std::min(view.count - done, d_batch - d_position);
        for (const std::size_t left : { d_untrained, d_sequence })
            n = left ? std::min(n, left) : n;
        const std::uint8_t* known = known_labels ? known_labels + done : nullptr;
        if (!known && d_frame) {
            n = std::min(n, d_frame->left());
            known = d_frame->next();
        }
        const std::size_t changes = d_changes;
        const feature_view part =
            decide_some(view.from(done, n), known, decided, of_decided);
        const std::size_t out =
            hand_out(part,
                     of_decided,
                     labels + all.labels,
                     posteriors ? posteriors + all.labels * classes : nullptr);
        d_packets.see(part);
        if (d_changes != changes)
            d_packets.change_channel();
        d_packets.hand_out(labels + all.labels, out);
        all.labels += out;
        if (!soft || kind != soft_symbol_kind::received)
            d_left_points = nullptr; // nobody takes them
        if (soft)
            all.points += show(part,
                               decided,
                               of_decided,
                               soft + all.points * d_initial.window.floats_per_sample(),
                               kind);
        d_symbols += part.count;
        if (d_adapts && d_thread.joinable())
            collect(part, decided, known);
        if (!known_labels && d_frame) {
            d_frame->take(decided, part.count);
            const auto position = d_frame->position();
            d_known_position = position ? *position + 1 : 0;
        }
        d_position = (d_position + part.count) % d_batch;
        done += part.count;
        d_sequence -= std::min(d_sequence, part.count);
        if (d_untrained && (d_untrained -= part.count) == 0)
            leave_batch();
    }
    return all;
}

// The decisions of what the network saw, refined if they are to be.
std::size_t adaptive_equalizer::hand_out(const feature_view& view,
                                         const float* decided_posteriors,
                                         std::uint8_t* labels,
                                         float* posteriors)
{
    const std::size_t classes = d_initial.net.outputs();
    std::size_t before =
        0; // of another model's, whose delay is no longer than this one's
    if (d_left_labels) {
        before = d_left_labels->flush(labels, view.count, posteriors);
        if (before == 0)
            d_left_labels = nullptr;
    }
    if (d_using->refined)
        return before + d_using->refined->take(view,
                                               d_decided.data(),
                                               d_using->signal.newest(),
                                               labels + before,
                                               d_latest,
                                               decided_posteriors,
                                               posteriors ? posteriors + before * classes
                                                          : nullptr);
    std::copy_n(d_decided.begin(), view.count, labels);
    if (posteriors)
        std::copy_n(decided_posteriors, view.count * classes, posteriors);
    return view.count;
}

std::size_t
adaptive_equalizer::flush(std::uint8_t* labels, std::size_t room, float* posteriors)
{
    for (refined_stream* const from : { d_left_labels, d_using->refined.get() })
        if (const std::size_t n = from ? from->flush(labels, room, posteriors) : 0) {
            d_packets.hand_out(labels, n);
            return n;
        }
    return 0;
}

std::size_t adaptive_equalizer::show(const feature_view& view,
                                     const std::uint8_t* labels,
                                     const float* posteriors,
                                     float* soft,
                                     soft_symbol_kind kind)
{
    if (d_using->soft && kind == soft_symbol_kind::received) {
        std::size_t before = 0; // as hand_out() has it
        if (d_left_points) {
            before = d_left_points->flush(soft, view.count);
            if (before == 0)
                d_left_points = nullptr;
        }
        soft += before * d_initial.window.floats_per_sample();
        return before + d_using->soft->take(view, labels, soft);
    }
    for (std::size_t i = 0; i < view.count; ++i, posteriors += d_initial.net.outputs()) {
        const std::complex<float> mean = d_initial.symbols.mean(posteriors);
        *soft++ = mean.real();
        if (d_initial.complex)
            *soft++ = mean.imag();
    }
    return view.count;
}

// Decides the first vectors of those that belong to one batch. Returns what the network
// saw.
feature_view adaptive_equalizer::decide_some(const feature_view& view,
                                             const std::uint8_t* known_labels,
                                             std::uint8_t* labels,
                                             float* posteriors)
{
    adopt();
    const prepared_network& net = d_using->weights.newest();
    observed<front_filter>* const following = d_using->front.get();
    const std::size_t dimension = d_initial.window.dimension();
    d_received = view.data + (d_dimension - dimension) / 2;
    if (!following) {
        if (!d_sequence)
            d_known.clear();
        const feature_view middle{ d_received, d_stride, dimension, view.count };
        d_using->runs.decide(net, middle, labels, posteriors, d_position);
        return middle;
    }
    if (std::exchange(d_sequence, 0)) // it began before the filter
        d_known.clear();
    front_filter& front = following->enter();
    const bool follows = d_follows;
    if (d_reset_front.exchange(false) || std::exchange(d_followed, follows) != follows)
        front.reset();
    if (!d_known.empty()) {
        front.train(d_known.data(), d_known.size());
        d_bursts = front.status().bursts;
    }
    d_known.clear();
    if (d_position == 0)
        d_apart = front.apart();
    const std::size_t n = std::min(view.count, front.left());
    const feature_view seen = front.filter(view.from(0, n));
    d_using->runs.decide(net, seen, labels, posteriors, d_position);
    if (d_frozen || !follows || d_between)
        front.hold(labels, n);
    else
        front.decided(labels, known_labels, n, d_using->runs, net);
    d_latest = front.latest();
    d_changes = front.changes();
    if (n == d_untrained && d_paused && front.status().bursts == d_bursts)
        d_between = true; // no burst has begun
    if (d_position + n == d_batch || n == d_untrained)
        tell(front);
    following->leave();
    return seen;
}

// Takes over what the adapter has made of another model, where a batch begins, and not within a
// training sequence. Tells it once nothing is left of the former one.
void adaptive_equalizer::adopt()
{
    const bool is_handing_over = d_handing_over; // before what is handed over
    deciding_parts* const latest = d_latest_parts;
    if (is_handing_over && latest == d_using && !d_left_labels && !d_left_points) {
        d_handing_over = false;
        d_wake.post();
    }
    const bool is_training = d_untrained && d_known.empty();
    if (d_position || is_training || !latest || latest == d_using)
        return;
    d_left_labels = d_using->refined.get();
    d_left_points = d_using->soft.get();
    d_using = latest;
    d_packets.change_network();
    d_packets.change_channel();
}

// For the start: what input 1 or the training sequence tells.
void adaptive_equalizer::note_known(const std::uint8_t* known_labels, std::size_t n)
{
    batch& of = *d_filling;
    if (!known_labels) {
        known_labels = d_known.data() + d_known.size() - d_sequence;
        n = std::min(n, d_sequence);
    }
    if (of.known == 0)
        of.first = d_position;
    if (of.first + of.known != d_position)
        return; // a second sequence in one batch
    std::copy_n(known_labels, n, of.labels.begin() + d_position);
    of.known += n;
}

void adaptive_equalizer::tell(const front_filter& front)
{
    auto& report = d_front_report.writing();
    const signal_planes taps = front.in_use();
    report.status = front.status();
    report.taps.resize(front.taps());
    for (std::size_t k = 0; k < report.taps.size(); ++k)
        report.taps[k] = { taps.re[k], taps.im ? taps.im[k] : 0.0f };
    d_front_report.publish();
}

// Whether the batch that begins is worth a step. What the front filter looks at in each block, or in
// one of so many, is learnt from in one of as many batches at least; without one each batch is.
bool adaptive_equalizer::is_due() const
{
    return d_tries || d_spared + 1 >= std::min(d_pace.load(), d_apart);
}

void adaptive_equalizer::collect(const feature_view& view,
                                 const std::uint8_t* decided,
                                 const std::uint8_t* known_labels)
{
    const bool learns = !d_frozen && !d_between && !d_untrained;
    if (d_position == 0) {
        if (learns && d_started)
            collect_packet();
        const bool due = learns && is_due();
        d_filling = due ? d_queue.free_slot() : nullptr;
        if (!d_filling && due)
            ++d_dropped;
        if (d_filling)
            d_filling->begin(!d_gap, d_using, !d_started, d_tries);
        d_gap = !d_filling;
    }
    if (d_filling) {
        // Windows overlap: this writes the end of the last call's samples once more.
        std::copy_n(view.data,
                    view.floats(),
                    d_filling->samples.begin() + d_position * view.stride);
        if (d_filling->is_tried)
            std::copy_n(d_received,
                        view.floats(),
                        d_filling->received.begin() + d_position * view.stride);
        if (d_filling->starts)
            note_known(known_labels, view.count);
        else
            std::copy_n(decided, view.count, d_filling->labels.begin() + d_position);
        for (std::size_t i = 0; known_labels && i < view.count; ++i) {
            const bool known = is_known(known_labels[i], d_initial.net.outputs());
            d_filling->truth[d_position + i] = known ? known_labels[i] : not_known;
            d_filling->tells |= known;
        }
    }
    const bool is_whole = d_position + view.count == d_batch;
    if (is_whole)
        ++d_since_estimate;
    if (is_whole && !d_filling)
        ++d_spared;
    if (d_filling && is_whole) {
        d_filling->end = d_symbols;
        d_filling->unexplained =
            d_using->refined ? d_using->refined->unexplained_errors() : 0;
        d_filling->apart = d_spared.exchange(0) + 1;
        d_queue.push();
        if (d_lockstep)
            serve();
        else
            d_wake.post();
    }
}

// Of a packet that was decoded: one batch at most between two others.
void adaptive_equalizer::collect_packet()
{
    batch* const slot = d_packets.is_waiting() ? d_queue.free_slot() : nullptr;
    if (!slot)
        return;
    slot->begin(false, d_using, false, false);
    if (!d_packets.next_batch(
            slot->samples.data(), slot->labels.data(), slot->truth.data()))
        return;
    slot->tells = true;
    slot->unexplained = d_using->refined ? d_using->refined->unexplained_errors() : 0;
    slot->end = d_symbols;
    slot->apart = 1;
    d_queue.push();
    if (d_lockstep)
        serve();
    else
        d_wake.post();
}

void adaptive_equalizer::take_packet(std::uint64_t first,
                                     std::vector<std::uint8_t> labels)
{
    d_packets.take(first, std::move(labels));
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        d_packet_count = d_packets.counted();
    }
    const displacement by = d_packets.displaced();
    const bool follows = d_using->front && d_follows && !d_frozen && !d_between;
    if (by.none() || !follows)
        return;
    d_using->front->enter().displace(by);
    d_using->front->leave();
    d_packets.change_channel();
}

void adaptive_equalizer::begin_burst(const std::vector<std::uint8_t>& training)
{
    d_known = training;
    if (!d_started) { // it is learnt from, as what follows it
        d_sequence = training.size();
        if (std::exchange(d_between, false))
            leave_batch();
        return;
    }
    if (!d_untrained)
        d_paused = d_between;
    d_untrained = training.size();
    d_between = false;
    leave_batch();
}

void adaptive_equalizer::end_burst(bool resets)
{
    if (d_untrained) // that of the burst before, without a pause between the two
        return;
    d_between = true;
    d_reset_front = d_reset_front || resets;
    d_known.clear();
    d_untrained = d_sequence = 0;
    leave_batch();
}

// What is in it is not learnt from; the next symbol begins another one.
void adaptive_equalizer::leave_batch()
{
    d_filling = nullptr;
    d_position = 0;
    d_gap = true;
}

} // namespace gr::adann::core
