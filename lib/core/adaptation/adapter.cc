/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adapter.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>
#ifdef __linux__
#include <sys/resource.h>
#endif

namespace gr::adann::core {

namespace {
// Symbols that the model decides as it was loaded, after the guard of frequencies found that better. Learning again
// costs some 20,000 symbols with worse labels each time.
constexpr std::uint64_t first_as_loaded = 1 << 17, longest_as_loaded = 1 << 22;
// Symbols that nothing explains, beyond which they are no pause between packets.
constexpr std::size_t longest_gap = 1 << 16;
} // namespace

adapter::adapter(const model& initial,
                 std::size_t stride,
                 const adaptation_settings& settings,
                 listener on_event,
                 std::unique_ptr<blind_start> start,
                 const std::optional<blind_start>& trials,
                 adaptation_exchange& with)
    : d_settings(settings),
      d_initial(initial),
      d_stride(stride),
      d_has_waveform(initial.waveform || start),
      d_on_event(std::move(on_event)),
      d_exchange(with),
      d_requests(settings),
      d_origin(start ? model_origin::starting : model_origin::given),
      d_start(std::move(start)),
      d_fresh(trials),
      d_as_loaded(first_as_loaded)
{
    if (adapts() && !d_start)
        d_learner = std::make_unique<learner>(initial, settings);
    d_parts = parts_of(initial, d_learner.get());
    d_exchange.has_front = d_parts->front != nullptr;
    if (!adapts())
        return;
    if (saves())
        d_recorder.emplace(
            stride, initial.window.dimension(), settings.batch, d_exchange.queue.slots());
    d_exchange.has_model = !d_start;
    if (d_fresh)
        d_trials = std::make_unique<start_trials>(*d_fresh);
    if (d_start) {
        if (filters())
            d_start->offer_linear();
        return;
    }
    d_frequencies = frequencies_of(d_learner.get());
    restore(d_initial, *d_parts, d_frequencies.get());
    if (d_initial.state.has("state.pauses.level")) { // of the stream that it goes on with
        archive::restoring(d_initial.state, "state")("pauses",
                                                     d_exchange.pauses.writing());
        d_exchange.pauses.publish();
    }
    share_status();
    publish(); // after it is known whether the signal is
    want_received();
    if (d_parts->front)
        d_exchange.front.publish(d_parts->front->resting());
    d_initial.state = {};
}

adapter::~adapter() { stop(); }

void adapter::start()
{
    if (runs())
        return;
    while (d_exchange.queue.filled_slot())
        d_exchange.queue.pop();
    d_end = 0;
    const std::uint64_t decided = d_exchange.decided.exchange(0),
                        learns_from = d_exchange.learns_from;
    d_exchange.learns_from = learns_from - std::min(decided, learns_from);
    d_exchange.wake.clear();
    d_saved = clock::now();
    d_stopping = false;
    d_thread = std::thread([this] { run(); });
    d_exchange.wake.post(); // for requests made before the start
}

void adapter::stop()
{
    if (!runs())
        return;
    d_stopping = true;
    d_exchange.wake.post();
    d_thread.join();
}

learner_status adapter::status() const
{
    learner_status status = d_status.get();
    const std::size_t batches_overdue =
        d_exchange.queue.slots() + learner::estimate_every / d_settings.batch;
    if (status.estimated.untrusted == distrust::none &&
        d_exchange.since_estimate > batches_overdue * d_exchange.pace + 1)
        status.estimated.untrusted = distrust::outdated;
    return status;
}

feature_view adapter::view_of(const std::vector<float>& samples) const
{
    return { samples.data(), d_stride, d_initial.window.dimension(), d_settings.batch };
}

/* Makes the parts that decide by a model, with at least the present delay. There is no front
 * filter if it is switched off, without a waveform, or for separate vectors. Decisions are
 * refined if the learner can refine labels, unless refined labels had clearly more errors on the
 * signal that the model was trained on. */
std::unique_ptr<deciding_parts> adapter::parts_of(const model& learnt,
                                                  learner* learns) const
{
    auto parts = std::make_unique<deciding_parts>(learnt, d_stride);
    if (!learnt.waveform)
        return parts;
    if (filters()) {
        front_filter_settings front;
        front.length = d_settings.front_filter_length;
        parts->front =
            std::make_unique<observed<front_filter>>(front_filter(learnt, front));
    }
    parts->soft = std::make_unique<soft_symbols>(
        *learnt.waveform,
        learnt.symbols,
        learnt.window,
        d_parts && d_parts->soft ? d_parts->soft->lag() : 0);
    const std::size_t least_delay =
        d_parts && d_parts->refined ? d_parts->refined->delay() : 0;
    const bool refines = learns && d_settings.decisions == decision_kind::refined &&
                         learns->can_refine() && !learnt.refined_is_worse();
    if (refines)
        learns->decide_refined();
    if (refines || least_delay)
        parts->refined = std::make_unique<refined_stream>(
            learnt.symbols, *learnt.waveform, least_delay);
    return parts;
}

// Restores the part of a checkpoint that is not the learner's; of another model what it starts with. If it throws the
// exchange and this are unchanged.
void adapter::restore(model& saved, deciding_parts& parts, frequency_guard* frequencies)
{
    std::uint64_t left_as_loaded = 0;
    std::size_t as_loaded = first_as_loaded, unexplained = 0;
    if (!saved.state.tensors.empty()) {
        archive members = archive::restoring(saved.state, "state");
        if (parts.front && saved.state.has("state.front.taps"))
            members("front", parts.front->resting());
        std::uint64_t dropped = 0;
        std::size_t spared = 0, position = d_exchange.block_position;
        members("dropped", dropped);
        members("spared", spared);
        if (saved.state.has("state.block_position")) {
            members(
                "block_position", position, std::size_t{ 0 }, refined_stream::block - 1);
            if (parts.refined)
                parts.refined->continue_at(position);
        }
        if (frequencies && saved.state.has("state.frequencies.compares"))
            members("frequencies", *frequencies);
        if (saved.state.has("state.as_loaded")) {
            members("as_loaded", as_loaded, first_as_loaded, longest_as_loaded);
            members(
                "left_as_loaded", left_as_loaded, std::uint64_t{ 0 }, longest_as_loaded);
            members("unexplained", unexplained);
        }
        d_exchange.dropped = dropped;
        d_exchange.batches_skipped = spared;
        d_exchange.block_position = position;
    }
    d_as_loaded = as_loaded;
    d_unexplained = unexplained;
    d_exchange.learns_from = d_exchange.decided + left_as_loaded;
}

void adapter::run()
{
#ifdef __linux__
    // Decisions come first where cores are few. Under Linux this changes the calling thread alone.
    if (d_settings.mode == adaptation_mode::live)
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 10);
#endif
    for (d_exchange.wake.wait(); !d_stopping; d_exchange.wake.wait()) {
        d_requests.read();
        serve();
    }
    take_requests(); // that came after the latest serve()
    if (saves() && d_learner && !d_network)
        attempt([this] { save(d_settings.checkpoint, checkpoint()); });
}

void adapter::serve()
{
    const std::lock_guard<std::mutex> lock(d_serving);
    take_requests();
    const adaptation_batch* filled = d_exchange.queue.filled_slot();
    if (!filled)
        return;
    const std::uint64_t rollbacks = status().rollbacks;
    d_end = filled->end;
    if (d_origin == model_origin::starting)
        attempt([&] { begin_with(*filled); });
    else if (filled->by !=
                 d_parts.get() || // decided by a former model, or before it started over
             filled->end <= d_exchange.learns_from)
        ++d_exchange.dropped;
    else {
        if (filled->restarts)
            attempt([&] { reset("the samples have another level than those before"); });
        const std::uint64_t updates = d_learner->status().updates;
        attempt([&] { learn(*filled); });
        if (d_network && filled->is_followed && !filled->is_packet &&
            d_learner->status().updates > updates)
            attempt([&] { train_network(*filled); });
        if (d_frequencies && !d_network && !filled->is_packet && !d_unexplained)
            attempt([&] { guard_frequencies(*filled); });
        if (d_trials)
            attempt([&] { try_start(*filled); });
        want_received();
    }
    d_exchange.queue.pop();
    if (d_recorder && status().rollbacks > rollbacks)
        attempt([this] {
            save(std::filesystem::path(d_settings.checkpoint)
                     .replace_extension(".rollback.safetensors"),
                 d_recorder->recorded(d_learner->settings(),
                                      d_learner->decides_refined()));
        });
    if (saves() && d_learner && !d_network &&
        clock::now() - d_saved >= std::chrono::seconds(d_settings.checkpoint_interval)) {
        attempt([this] { save(d_settings.checkpoint, checkpoint()); });
        d_saved = clock::now();
    }
}

// Reports an exception as an event. Returns whether there was none.
template <typename work>
bool adapter::attempt(work make)
{
    std::string problem = "unknown";
    try {
        make();
        return true;
    } catch (const std::exception& error) {
        problem = error.what();
    } catch (...) {
    }
    try {
        if (d_learner)
            share_status();
        report({ status(), event_kind::error, problem });
    } catch (...) { // the listener throws as well
    }
    return false;
}

// A request that fails does not prevent the others.
void adapter::take_requests()
{
    auto asked = d_requests.take(!d_exchange.is_handing_over);
    attempt([this] { follow_freeze(); });
    if (asked.loads)
        attempt([&] { load(std::move(*asked.loads)); });
    if (d_recorder && asked.changed)
        d_recorder->clear();
    if (d_learner && asked.changed)
        attempt([&] { d_learner->set_training(*asked.changed); });
    if (d_learner && asked.resets) {
        d_exchange.resets_front = true;
        d_exchange.learns_from = 0;
        d_as_loaded = first_as_loaded;
        attempt([this] { reset(""); });
    }
    for (const auto& path : asked.saves)
        attempt([&] { save(path, checkpoint()); });
}

void adapter::follow_freeze()
{
    const bool frozen = d_exchange.frozen;
    if (std::exchange(d_was_frozen, frozen) != frozen)
        report({ status(), frozen ? event_kind::frozen : event_kind::unfrozen, "" });
}

// Back to the model as it was loaded.
void adapter::reset(const std::string& why)
{
    if (d_recorder)
        d_recorder->clear();
    if (d_network)
        d_network->forget();
    d_unexplained = 0;
    d_frequencies = frequencies_of(d_learner.get());
    learner_event event = d_learner->reset();
    event.detail = why;
    share_status();
    publish();
    report(event);
}

// The blind start takes a batch, while there is no model.
void adapter::begin_with(const adaptation_batch& filled)
{
    const bool was_done = d_start->done();
    const std::string said = d_start->take(view_of(filled.samples),
                                           filled.truth.data(),
                                           filled.follows,
                                           [this] { return !d_stopping; });
    if (!said.empty())
        d_said = said;
    if (d_start->changed()) {
        d_parts->weights.writing().assign(d_start->found().net);
        d_parts->weights.publish();
    }
    if (d_start->done() && !was_done)
        d_done_at = filled.end;
    // A start may be an earlier one, with which go_on_with() failed.
    const bool is_done = d_start->done() || d_start->linear();
    if (d_start->linear()) {
        const linear_start& linear = *d_start->linear();
        auto trains = std::make_unique<network_start>(
            linear, d_stride, d_settings.batch, d_settings.seed);
        const std::size_t since = d_start->count() - linear.symbols;
        go_on_with(linear.found, { linear.carrier_frequency, filled.end - since });
        d_network = std::move(trains);
        if (linear.knows_rotation)
            d_trials = nullptr;
    } else if (is_done) {
        go_on_with(d_start->found(), { d_start->carrier_frequency(), d_done_at });
        if (!d_start->is_blind())
            d_trials = nullptr;
    }
    if (is_done)
        come_from(model_origin::blind);
    if (!d_said.empty())
        report({ status(), event_kind::start, std::exchange(d_said, "") });
}

// The start's network: the parts that decide stay, but for its weights.
void adapter::train_network(const adaptation_batch& filled)
{
    const std::string said =
        d_network->take(filled, d_learner->in_use(), [this] { return !d_stopping; });
    if (!said.empty())
        d_said = said;
    if (!d_network->done())
        return;
    const bool is_found = d_network->found().has_value();
    if (is_found) {
        auto learns = std::make_unique<learner>(*d_network->found(), training_now());
        if (d_learner->decides_refined())
            learns->decide_refined();
        d_learner = std::move(learns);
        d_frequencies = frequencies_of(d_learner.get());
        if (d_recorder)
            d_recorder->clear();
    }
    d_network = nullptr;
    if (is_found) {
        share_status();
        publish();
    }
    report({ status(), event_kind::start, std::exchange(d_said, "") });
}

learner_settings adapter::training_now() const
{
    learner_settings settings = d_settings;
    static_cast<training_settings&>(settings) = d_requests.training();
    return settings;
}

// Changes to a model that a start has found, with the stream's carrier, or that was loaded. If it
// throws nothing has changed.
void adapter::go_on_with(model found, const deciding_parts::found_carrier& carrier)
{
    auto learns = adapts() ? std::make_unique<learner>(found, training_now()) : nullptr;
    auto parts = parts_of(found, learns.get());
    auto frequencies = frequencies_of(learns.get());
    parts->carrier = carrier;
    if (adapts())
        restore(found, *parts, frequencies.get());
    else
        d_loaded = std::move(found);
    d_learner = std::move(learns);
    d_frequencies = std::move(frequencies);
    d_network = nullptr;
    d_former_parts = std::exchange(d_parts, std::move(parts));
    d_exchange.has_front = d_parts->front != nullptr;
    if (d_recorder)
        d_recorder->clear();
    if (d_learner) {
        share_status();
        publish();
    }
    d_exchange.latest_parts = d_parts.get();
    d_exchange.is_handing_over = true; // after latest_parts was set
    // The batches that are still queued were decided by the former parts.
    for (; d_exchange.queue.filled() > 1; ++d_exchange.dropped)
        d_exchange.queue.pop();
}

// To be called once go_on_with() has succeeded.
void adapter::come_from(model_origin origin)
{
    d_origin = origin;
    d_start = nullptr;
    d_exchange.has_model = true;
}

// Whether the model that was read can go on with this stream.
void adapter::check_fits(const model& loaded, std::size_t training) const
{
    const auto refuse =
        [](const std::string& what, const std::string& its, const std::string& ours) {
            throw std::invalid_argument(what + " is " + its +
                                        ", the running equalizer's is " + ours);
        };
    compare_signals(
        loaded, d_initial, [&](const char* what, const auto& its, const auto& ours) {
            if (its != ours)
                refuse(what, its, ours);
        });
    const auto known = [](bool is) { return is ? "there" : "not there"; };
    if (loaded.waveform.has_value() != d_has_waveform)
        refuse("expected waveform", known(!d_has_waveform), known(d_has_waveform));
    if (training && loaded.waveform)
        check_range("training_sequence's length",
                    training,
                    front_filter::least_training(*loaded.waveform),
                    front_filter::most_training);
}

void adapter::load(adaptation_requests::read_file next)
{
    std::string problem = next.problem;
    try {
        if (next.found) {
            check_fits(*next.found, next.training);
            const bool tries =
                d_fresh && d_settings.guard && !row(d_settings.loss).supervised();
            auto trials = tries ? std::make_unique<start_trials>(*d_fresh) : nullptr;
            go_on_with(std::move(*next.found), {});
            d_trials = std::move(trials);
            want_received();
            come_from(model_origin::given);
        }
    } catch (const model_file_error& error) {
        problem = error.what();
    } catch (const std::exception& error) {
        problem = model_file_error(next.path, error.what()).what();
    }
    report({ status(),
             problem.empty() ? event_kind::loaded : event_kind::refused,
             problem.empty() ? next.path : problem });
}

// Whether another start explains the samples better.
void adapter::try_start(const adaptation_batch& filled)
{
    const front_filter_status front = d_exchange.front.status();
    if (d_origin == model_origin::given ? front.state == tracking_state::following
                                        : d_trials->explains(front.residual))
        d_trials->give_up();
    if (!filled.has_received || !d_trials->tries()) {
        const bool is_left = d_origin == model_origin::given
                                 ? front.state == tracking_state::lost && !front.bursts &&
                                       !filled.has_truth
                                 : !d_trials->explains(front.residual);
        d_trials->pass(filled.apart * d_settings.batch, is_left);
        return;
    }
    const feature_view view = view_of(filled.received);
    const std::string found = d_trials->take(
        view, filled.labels.data(), filled.follows, [this] { return !d_stopping; });
    if (!d_trials->done())
        return;
    go_on_with(d_trials->found(), { d_trials->carrier_frequency(), filled.end });
    come_from(model_origin::blind);
    report({ status(), event_kind::start, found });
}

void adapter::learn(const adaptation_batch& filled)
{
    // Its labels are decisions of noise, or of another channel.
    if (filled.is_unexplained && !filled.has_truth)
        return pass_over(filled);
    const bool waited = is_unexplained();
    d_unexplained = 0;
    if (waited)
        report({ status(), event_kind::resumed, "" });
    if (d_recorder && !attempt([&] {
            d_recorder->add({ filled.samples.data(),
                              filled.labels.data(),
                              filled.has_truth ? filled.truth.data() : nullptr,
                              filled.apart,
                              std::max(filled.missed.residual, filled.missed.slips) },
                            [this] { return d_learner->checkpoint(); });
        }))
        d_recorder->clear();
    const feature_view view = view_of(filled.samples);
    d_learner->set_missed_errors(filled.missed);
    const auto& events =
        d_learner->step(view,
                        filled.labels.data(),
                        filled.apart,
                        filled.has_truth ? filled.truth.data() : nullptr);
    share_status();
    if (!events.empty())
        publish();
    for (const auto& event : events)
        report(event);
}

bool adapter::is_unexplained() const { return d_unexplained > longest_gap; }

// After a long time its signal is not known any more: its noise may have risen.
void adapter::pass_over(const adaptation_batch& filled)
{
    const bool waited = is_unexplained();
    d_unexplained += filled.apart * d_settings.batch;
    share_status();
    if (waited || !is_unexplained())
        return;
    publish();
    report(
        { status(),
          event_kind::paused,
          "neither the front filter's taps nor those of when it was followed explain the samples" });
}

// If labels are worse than those of the model as it was loaded, that decides for a while.
void adapter::guard_frequencies(const adaptation_batch& filled)
{
    const feature_view seen = view_of(filled.samples);
    if (!all_usable(seen.data, seen.floats()) || d_exchange.front.status().bursts)
        return; // of bursts that are trained no filter is left
    const bool is_filtered = d_parts->front != nullptr;
    const feature_view received = is_filtered ? view_of(filled.received) : seen;
    const std::uint8_t* const refined =
        d_learner->decides_refined() ? d_learner->refined() : nullptr;
    if (!d_frequencies->add(seen,
                            is_filtered && !filled.has_received ? nullptr : &received,
                            refined ? refined : filled.labels.data()))
        return;
    d_exchange.learns_from = filled.end + d_as_loaded;
    d_exchange.resets_front = true;
    reset(
        "its labels are less equally frequent than those of the model as it was loaded, which "
        "decides the next " +
        std::to_string(d_as_loaded) + " symbols");
    d_as_loaded = std::min(2 * d_as_loaded, longest_as_loaded);
}

void adapter::want_received()
{
    d_exchange.wants_received =
        (d_trials && d_trials->tries()) || (d_frequencies && d_frequencies->compares());
}

// None where the data need not be random, or labels cannot be compared.
std::unique_ptr<frequency_guard> adapter::frequencies_of(const learner* learns) const
{
    if (!learns || !learns->can_refine() || training_now().balance <= 0 ||
        d_settings.batch < frequency_guard::least_batch(*learns->loaded().waveform))
        return nullptr;
    return std::make_unique<frequency_guard>(learns->loaded(), d_settings.batch);
}

void adapter::share_status()
{
    learner_status now = d_learner->status();
    if (d_unexplained > learner::estimate_every &&
        now.estimated.untrusted == distrust::none)
        now.estimated.untrusted = distrust::large_residual;
    if (d_status.exchange(now).estimates != now.estimates)
        d_exchange.since_estimate = 0;
    d_exchange.pace = d_network ? 1 : d_learner->pace(); // the start gathers all symbols
}

void adapter::publish()
{
    d_parts->weights.writing().assign(d_learner->in_use());
    d_parts->weights.publish();
    if (const refinement* const found = is_unexplained() ? nullptr : d_learner->refines())
        d_parts->signal.writing().assign(*found);
    else
        d_parts->signal.writing().known = false;
    d_parts->signal.publish();
}

model adapter::checkpoint()
{
    if (d_origin == model_origin::starting || d_network)
        throw std::runtime_error("nothing has been learnt yet that could be saved");
    if (!d_learner)
        return d_loaded ? *d_loaded : d_initial;
    model saved = d_learner->checkpoint();
    archive members = archive::saving(saved.state, "state");
    members("dropped", d_exchange.dropped);
    members("spared", d_exchange.batches_skipped);
    members("block_position", d_exchange.block_position);
    const std::uint64_t learns_from = d_exchange.learns_from;
    std::uint64_t left =
        learns_from - std::min<std::uint64_t>(d_exchange.decided, learns_from);
    members("as_loaded", d_as_loaded, first_as_loaded, longest_as_loaded);
    members("left_as_loaded", left, std::uint64_t{ 0 }, longest_as_loaded);
    members("unexplained", d_unexplained);
    pause_detector::found pauses = d_exchange.pauses.newest();
    members("pauses", pauses);
    if (d_frequencies)
        members("frequencies", *d_frequencies);
    if (d_parts->front)
        d_parts->front->read([&](front_filter& front) { members("front", front); });
    return saved;
}

void adapter::save(const std::string& path, const model& saved)
{
    save_model(path, saved);
    report({ status(), event_kind::saved, path });
}

void adapter::report(const learner_event& event)
{
    if (d_on_event)
        d_on_event({ event,
                     d_exchange.dropped,
                     d_exchange.queue.filled(),
                     d_exchange.front.status(),
                     d_end,
                     d_exchange.packets.get() });
}

} // namespace gr::adann::core
