/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/stream_decider.h"

#include "core/common/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr std::size_t any_age = std::numeric_limits<std::size_t>::max();
} // namespace

stream_decider::stream_decider(const model& signal,
                               deciding_parts& in_use,
                               std::size_t stride,
                               std::size_t dimension,
                               std::size_t batch,
                               bool needs_known,
                               adaptation_exchange& with,
                               std::function<void()> on_batch)
    : d_signal(signal),
      d_stride(stride),
      d_dimension(dimension),
      d_needs_known(needs_known),
      d_exchange(with),
      d_using(&in_use),
      d_decided(batch),
      d_posteriors(batch * signal.net.outputs()),
      d_output(signal),
      d_batches(with, batch, signal.net.outputs(), std::move(on_batch)),
      d_packets(signal.symbols, stride, signal.window.dimension(), batch)
{
    if (in_use.pauses)
        in_use.pauses->go_on(with.pauses.newest());
}

void stream_decider::start(deciding_parts& in_use, bool learns)
{
    d_learns = learns;
    d_batches.start();
    d_bursts.start();
    if (d_frame)
        d_frame->start();
    d_known_position = 0;
    d_packets.start();
    d_exchange.packets.exchange({});
    d_using = &in_use;
    d_using->start();
    d_output.start();
    d_exchange.is_handing_over = false;
}

stream_decider::written stream_decider::decide(const feature_view& view,
                                               const std::uint8_t* known_labels,
                                               std::uint8_t* labels,
                                               float* posteriors,
                                               float* soft,
                                               soft_symbol_kind kind,
                                               const float* a_priori)
{
    if (d_needs_known && !known_labels && !d_frame)
        refuse("known labels",
               "missing",
               "one per feature vector for the loss 'supervised'");
    const std::uint8_t* const decided = d_decided.data();
    float* const decided_posteriors = posteriors ? d_posteriors.data() : nullptr;
    const std::size_t classes = d_signal.net.outputs(),
                      bits = d_signal.symbols.bits_per_symbol();
    written all;
    for (std::size_t done = 0; done < view.count;) {
        std::size_t n = d_bursts.most(std::min(view.count - done, d_batches.left()));
        const std::uint8_t* known = known_labels ? known_labels + done : nullptr;
        if (!known && d_frame) {
            n = std::min(n, d_frame->left());
            known = d_frame->next();
        }
        const std::size_t changes = d_changes, rotations = d_rotations;
        const auto [seen, acquired] =
            decide_some(view.from(done, n), known, decided_posteriors);
        std::uint8_t* const written_labels = labels + all.labels;
        const std::size_t out =
            d_output.labels(*d_using,
                            seen,
                            decided,
                            d_latest,
                            decided_posteriors,
                            written_labels,
                            posteriors ? posteriors + all.labels * classes : nullptr,
                            a_priori ? a_priori + done * bits : nullptr);
        all.labels += out;
        d_packets.see(seen);
        if (d_changes != changes)
            d_packets.change_channel();
        if (d_rotations != rotations)
            d_packets.change_receiver();
        d_packets.hand_out(written_labels, out);
        if (!soft || kind != soft_symbol_kind::received)
            d_output.drop_former_points();
        if (soft)
            all.points +=
                d_output.points(*d_using,
                                seen,
                                decided,
                                decided_posteriors,
                                soft + all.points * d_signal.window.floats_per_sample(),
                                kind);
        if (seen.count == d_batches.left()) { // a step may save it
            if (d_using->refined)
                d_exchange.block_position = d_using->refined->block_position();
            if (d_using->pauses) {
                d_exchange.pauses.writing() = d_using->pauses->now();
                d_exchange.pauses.publish();
            }
            d_exchange.decided = d_batches.symbols() + seen.count;
        }
        collect(seen, known);
        if (!known_labels && d_frame) {
            d_frame->take(decided, seen.count);
            const auto position = d_frame->position();
            d_known_position = position ? *position + 1 : 0;
        }
        done += seen.count;
        if (d_bursts.take(seen.count, acquired))
            d_batches.leave();
    }
    return all;
}

std::size_t
stream_decider::flush(std::uint8_t* labels, std::size_t room, float* posteriors)
{
    const std::size_t n = d_output.flush(*d_using, labels, room, posteriors);
    if (n)
        d_packets.hand_out(labels, n);
    return n;
}

// Decides those of the first vectors that belong to one batch.
stream_decider::part stream_decider::decide_some(const feature_view& view,
                                                 const std::uint8_t* known_labels,
                                                 float* posteriors)
{
    adopt();
    std::uint8_t* const labels = d_decided.data();
    const prepared_network& net = d_using->weights.newest();
    const std::size_t dimension = d_signal.window.dimension();
    d_received = view.data + (d_dimension - dimension) / 2;
    pause_detector* const pauses =
        d_using->pauses && d_learns ? &*d_using->pauses : nullptr;
    if (!d_using->front) {
        const feature_view middle{ d_received, d_stride, dimension, view.count };
        if (pauses)
            pauses->add(middle);
        d_using->runs.decide(net, middle, labels, posteriors, d_batches.position());
        return { middle, acquisition_result::acquired }; // there is nothing to acquire
    }
    front_filter& front = d_using->front->enter();
    prepare(front);
    const std::size_t n = std::min(view.count, front.left());
    const feature_view seen = front.filter(view.from(0, n));
    if (front.changed_level() == level_change::of_noise)
        d_batches.restart();
    else if (front.changed_level() != level_change::none)
        d_batches.leave();
    d_has_level = front.has_level();
    d_using->runs.decide(net, seen, labels, posteriors, d_batches.position());
    if (pauses)
        pauses->add({ d_received, d_stride, dimension, n });
    auto acquired = acquisition_result::pending;
    if (d_exchange.frozen || is_as_loaded() || !d_followed || d_bursts.is_between())
        front.hold(labels, n);
    else
        acquired = front.decided(labels,
                                 known_labels,
                                 n,
                                 d_using->runs,
                                 net,
                                 pauses ? pauses->since_quiet() : any_age);
    d_latest = front.latest();
    d_changes = front.changes();
    d_is_unexplained = front.is_unexplained();
    d_rotations = front.rotations();
    if (n == d_batches.left() || n == d_bursts.remaining()) {
        d_exchange.front.publish(front);
        const front_filter_status now = front.status();
        const bool is_lost = now.state == tracking_state::lost;
        d_learnable = is_lost ? 0 : now.memory ? now.memory : any_age; // 0: the identity
    }
    d_using->front->leave();
    return { seen, acquired };
}

// Before the next symbol: carries out requests to the front filter, and announces a training sequence.
void stream_decider::prepare(front_filter& front)
{
    d_bursts.leave_known();
    const bool follows = d_exchange.follows;
    const bool changes = std::exchange(d_followed, follows) != follows;
    if (d_exchange.resets_front.exchange(false) || changes)
        front.reset();
    if (d_bursts.is_first())
        front.train(d_bursts.labels(), d_bursts.remaining());
    if (d_batches.position() == 0)
        d_interval = front.time_constant();
}

// Changes to the parts of another model, where a batch begins and not within a training sequence. Notifies
// the adapter once the former parts are no longer used.
void stream_decider::adopt()
{
    const bool is_handing_over = d_exchange.is_handing_over; // before what is handed over
    deciding_parts* const latest = d_exchange.latest_parts;
    if (is_handing_over && latest == d_using && d_output.has_left_former()) {
        d_exchange.is_handing_over = false;
        d_exchange.wake.post();
    }
    if (d_batches.position() || d_bursts.is_within() || !latest || latest == d_using)
        return;
    d_output.leave(*d_using);
    if (d_using->pauses && latest->pauses)
        latest->pauses->go_on(d_using->pauses->now());
    d_using = latest;
    begin_carrier();
    d_packets.change_receiver();
}

// The carrier that the start has found has gone on while its network was trained.
void stream_decider::begin_carrier()
{
    const auto& [frequency, symbol] = d_using->carrier;
    if (!d_using->front || frequency == 0)
        return;
    // From the symbol at which its phase was 0 to the next one.
    const double later =
        static_cast<double>(d_batches.symbols()) - static_cast<double>(symbol) + 1;
    d_using->front->enter().begin_carrier(
        frequency, 2 * M_PI * std::remainder(frequency * later, 1.0));
    d_using->front->leave();
}

void stream_decider::collect(const feature_view& view, const std::uint8_t* known_labels)
{
    if (!d_learns)
        return d_batches.pass(view.count);
    if (d_batches.position() == 0) {
        const bool learns =
            !d_exchange.frozen && !is_as_loaded() && d_bursts.is_inside() && d_has_level;
        if (learns && d_exchange.has_model) // what is older came through another channel
            d_batches.add_packet(
                d_packets, *d_using, d_using->front ? d_learnable : any_age);
        d_batches.begin(*d_using, learns, d_interval);
    }
    if (!known_labels && d_bursts.state() == burst_state::known)
        known_labels = d_bursts.labels();
    d_batches.add(view,
                  d_received,
                  d_decided.data(),
                  known_labels,
                  d_is_unexplained,
                  d_using->pauses && !d_needs_known ? &*d_using->pauses : nullptr);
}

void stream_decider::set_known_frame(std::vector<std::uint8_t> labels)
{
    d_frame.emplace(d_signal.symbols, std::move(labels));
}

std::optional<std::size_t> stream_decider::known_position() const
{
    const std::size_t position = d_known_position;
    return position ? std::optional(position - 1) : std::nullopt;
}

void stream_decider::take_packet(std::uint64_t first, std::vector<std::uint8_t> labels)
{
    d_packets.take(first, std::move(labels));
    d_exchange.packets.exchange(d_packets.counted());
    const displacement by = d_packets.displaced();
    const bool follows = d_using->front && d_exchange.follows && !d_exchange.frozen &&
                         !d_bursts.is_between();
    if (by.none() || !follows)
        return;
    d_using->front->enter().displace(by);
    d_using->front->leave();
    d_packets.change_receiver();
}

void stream_decider::begin_burst(const std::vector<std::uint8_t>& training)
{
    const bool was_between = d_bursts.is_between(), has_model = d_exchange.has_model;
    d_bursts.begin(training, has_model);
    if (has_model || was_between)
        d_batches.leave();
}

void stream_decider::end_burst(bool resets)
{
    if (d_bursts.state() == burst_state::training) // the next one's, without a pause
        return;                                    // between the two
    d_bursts.end();
    if (resets)
        d_exchange.resets_front = true;
    d_batches.leave();
}

} // namespace gr::adann::core
