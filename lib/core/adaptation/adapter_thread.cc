/* How an adaptive_equalizer learns, from a batch to new weights: in the adapter thread and, in
 * lockstep, in the one that decides.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptive_equalizer.h"

#include <filesystem>
#include <stdexcept>
#include <utility>
#ifdef __linux__
#include <sys/resource.h>
#endif

namespace gr::adann::core {

void adaptive_equalizer::run()
{
#ifdef __linux__
    // Where cores are few, decisions come first. This thread alone becomes nicer.
    if (d_adapts && !d_lockstep)
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 10);
#endif
    for (d_wake.wait(); !d_stopping; d_wake.wait()) {
        read();
        serve();
    }
    take_requests(); // those of the last moment
    if (saves() && d_learner)
        attempt([this] { save(d_settings.checkpoint, checkpoint()); });
}

bool adaptive_equalizer::saves() const
{
    return d_adapts && !d_settings.checkpoint.empty();
}

// Does what was asked for, and learns from the oldest batch.
void adaptive_equalizer::serve()
{
    const std::lock_guard<std::mutex> lock(d_serving);
    attempt([this] { take_requests(); });
    const batch* filled = d_queue.filled_slot();
    if (!filled)
        return;
    const std::uint64_t rollbacks = status().rollbacks;
    d_end = filled->end;
    if (d_start)
        attempt([&] { begin_with(*filled); });
    else if (filled->by != d_parts.get()) // decided by what came before
        ++d_dropped;
    else {
        attempt([&] { learn(*filled); });
        if (d_trials)
            attempt([&] { try_start(*filled); });
    }
    d_queue.pop();
    if (d_recorder && status().rollbacks > rollbacks)
        attempt([this] {
            save(std::filesystem::path(d_settings.checkpoint)
                     .replace_extension(".rollback.safetensors"),
                 d_recorder->recorded(d_learner->settings()));
        });
    if (saves() && d_learner &&
        clock::now() - d_saved >= std::chrono::seconds(d_settings.checkpoint_interval)) {
        attempt([this] { save(d_settings.checkpoint, checkpoint()); });
        d_saved = clock::now();
    }
}

// Whether it did not throw: if it did, the error is told.
template <typename work>
bool adaptive_equalizer::attempt(work make)
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
    } catch (...) { // whoever listens fails too
    }
    return false;
}

void adaptive_equalizer::take_requests()
{
    std::optional<training_settings> changed;
    bool reset = false;
    std::vector<std::string> paths;
    std::optional<read_file> next;
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        if (std::exchange(d_settings_changed, false))
            changed = d_training;
        std::swap(reset, d_reset_requested);
        std::swap(paths, d_save_requests);
        if (!d_handing_over)
            std::swap(next, d_read);
    }
    if (const bool frozen = d_frozen; std::exchange(d_told_frozen, frozen) != frozen)
        report({ status(), frozen ? event_kind::frozen : event_kind::unfrozen, "" });
    if (next)
        load(std::move(*next));
    if (d_learner && changed)
        d_learner->set_training(*changed);
    if (d_recorder && (changed || reset))
        d_recorder->clear();
    if (d_learner && reset) {
        d_reset_front = true;
        const learner_event event = d_learner->reset();
        share_status();
        publish();
        report(event);
    }
    for (const auto& path : paths)
        attempt([&] { save(path, checkpoint()); });
}

// The start of one without a model.
void adaptive_equalizer::begin_with(const batch& filled)
{
    const feature_view view{
        filled.samples.data(), d_stride, d_initial.window.dimension(), d_batch
    };
    const std::string told = d_start->take(view,
                                           &filled.labels[filled.first],
                                           filled.first,
                                           filled.known,
                                           filled.follows,
                                           [this] { return !d_stopping; });
    if (d_start->changed()) {
        d_parts->weights.writing().assign(d_start->found().net);
        d_parts->weights.publish();
    }
    if (d_start->done()) {
        const std::unique_ptr<blind_start> done = std::move(d_start);
        if (!done->is_blind())
            d_trials = nullptr;
        go_on_with(done->found());
        d_started = true;
    }
    if (!told.empty())
        report({ status(), event_kind::start, told });
}

// From a model that a start has found, or that was loaded. Nothing has changed if it throws.
void adaptive_equalizer::go_on_with(model found)
{
    learner_settings settings = d_settings;
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        static_cast<training_settings&>(settings) = d_training;
    }
    auto learns = d_adapts ? std::make_unique<learner>(found, settings) : nullptr;
    auto parts = parts_of(found, learns.get());
    if (d_adapts)
        restore(found, *parts);
    else
        d_loaded = std::move(found);
    d_learner = std::move(learns);
    d_former_parts = std::exchange(d_parts, std::move(parts));
    d_has_front = d_parts->front != nullptr;
    if (d_recorder)
        d_recorder->clear();
    if (d_learner) {
        share_status();
        publish();
    }
    d_latest_parts = d_parts.get();
    d_handing_over = true; // behind it
    // What waits behind this batch was decided by what came before.
    for (; d_queue.filled() > 1; ++d_dropped)
        d_queue.pop();
}

// The file that is to be loaded: in the adapter thread, in lockstep too.
void adaptive_equalizer::read()
{
    read_file next;
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        if (d_read)
            return;
        if (!d_load_request)
            return;
        next.path = *std::exchange(d_load_request, std::nullopt);
        next.training = d_training_symbols;
    }
    try {
        next.found = load_model(next.path);
    } catch (const std::exception& error) {
        next.problem = error.what();
    }
    const std::lock_guard<std::mutex> lock(d_mutex);
    d_read = std::move(next);
}

// Whether the model that was read can go on with this stream.
void adaptive_equalizer::check_fits(const model& loaded, std::size_t training) const
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

void adaptive_equalizer::load(read_file next)
{
    std::string problem = next.problem;
    try {
        if (next.found) {
            check_fits(*next.found, next.training);
            go_on_with(std::move(*next.found));
        }
    } catch (const model_file_error& error) {
        problem = error.what();
    } catch (const std::exception& error) {
        problem = model_file_error(next.path, error.what()).what();
    }
    if (problem.empty()) {
        d_start = nullptr; // that of one without a model is over
        const bool is_tried = d_beside && d_settings.guard && !d_supervised;
        d_trials = is_tried ? std::make_unique<start_trials>(*d_beside) : nullptr;
        d_tries = false;
        d_is_given = d_started = true;
    }
    report({ status(),
             problem.empty() ? event_kind::loaded : event_kind::refused,
             problem.empty() ? next.path : problem });
}

// Whether another start explains the samples better.
void adaptive_equalizer::try_start(const batch& filled)
{
    const front_filter_status front = front_status();
    if (!filled.is_tried || !d_trials->tries()) {
        const bool is_left = d_is_given ? front.state == tracking_state::lost &&
                                              !front.bursts && !filled.tells
                                        : !d_trials->explains(front.residual);
        d_trials->pass(filled.apart * d_batch, is_left);
        d_tries = d_trials->tries();
        return;
    }
    const feature_view view{
        filled.received.data(), d_stride, d_initial.window.dimension(), d_batch
    };
    const std::string told = d_trials->take(
        view, filled.labels.data(), filled.follows, [this] { return !d_stopping; });
    d_tries = d_trials->tries();
    if (!d_trials->done())
        return;
    go_on_with(d_trials->found());
    d_is_given = false;
    report({ status(), event_kind::start, told });
}

void adaptive_equalizer::learn(const batch& filled)
{
    if (d_recorder && !attempt([&] {
            d_recorder->add(
                filled.samples.data(),
                filled.labels.data(),
                filled.apart,
                [this] { return d_learner->checkpoint(); },
                filled.tells ? filled.truth.data() : nullptr);
        }))
        d_recorder->clear();
    const feature_view view{
        filled.samples.data(), d_stride, d_initial.window.dimension(), d_batch
    };
    d_learner->set_unexplained_errors(filled.unexplained);
    const auto& events = d_learner->step(view,
                                         filled.labels.data(),
                                         filled.apart,
                                         filled.tells ? filled.truth.data() : nullptr);
    share_status();
    if (!events.empty())
        publish();
    for (const auto& event : events)
        report(event);
}

void adaptive_equalizer::share_status()
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    const std::uint64_t estimates =
        std::exchange(d_status, d_learner->status()).estimates;
    if (d_status.estimates != estimates)
        d_since_estimate = 0;
    d_pace = d_learner->pace();
}

void adaptive_equalizer::publish()
{
    d_parts->weights.writing().assign(d_learner->in_use());
    d_parts->weights.publish();
    if (const refinement* const found = d_learner->refines())
        d_parts->signal.writing().assign(*found);
    else
        d_parts->signal.writing().known = false;
    d_parts->signal.publish();
}

model adaptive_equalizer::checkpoint()
{
    if (d_start)
        throw std::runtime_error("nothing has been learnt yet that could be saved");
    if (!d_learner)
        return d_loaded ? *d_loaded : d_initial;
    model saved = d_learner->checkpoint();
    archive members = archive::saving(saved.state, "state");
    members("dropped", d_dropped);
    members("spared", d_spared);
    if (d_parts->front)
        d_parts->front->read([&](front_filter& front) { members("front", front); });
    return saved;
}

void adaptive_equalizer::save(const std::string& path, const model& saved)
{
    save_model(path, saved);
    report({ status(), event_kind::saved, path });
}

void adaptive_equalizer::report(const learner_event& event)
{
    if (d_on_event)
        d_on_event({ event, d_dropped, queued(), front_status(), d_end, packets() });
}

} // namespace gr::adann::core
