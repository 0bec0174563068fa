/* -*- c++ -*- */
/*
 * Owns the model and its learner: from batches to new weights.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adaptation_exchange.h"
#include "core/adaptation/adaptation_requests.h"
#include "core/adaptation/blind_start.h"
#include "core/adaptation/frequency_guard.h"
#include "core/adaptation/learner.h"
#include "core/adaptation/network_start.h"
#include "core/adaptation/replay.h"
#include "core/adaptation/start_trials.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace gr::adann::core {

//! An event of the adaptation: what the learner did, a checkpoint saved, an error.
struct adaptation_event : learner_event {
    std::uint64_t dropped;     //!< batches that found the queue full
    std::size_t queued;        //!< batches not yet learnt from, including that of a step
    front_filter_status front; //!< if there is a front filter
    std::uint64_t symbols;     //!< decided from start() up to the end of the latest batch
    packet_count packets;      //!< see adaptive_equalizer::take_packet()
};

//! Whether samples pass a front filter, once there is an expected waveform.
//! \param stride floats from one window to the next
inline bool wants_front_filter(const adaptation_settings& settings,
                               const window_geometry& window,
                               std::size_t stride)
{
    return settings.mode != adaptation_mode::off && settings.front_filter &&
           stride == window.stride();
}

/*! Owns the model with its learner, the parts that decide by it, and checkpoints. It makes blind
 * starts where there is no model, or where the model no longer explains the signal.
 *
 * It has a thread of its own, which reads files, and in the mode "live" learns. In lockstep the
 * deciding thread calls serve(). */
class adapter
{
public:
    using listener = std::function<void(const adaptation_event&)>;

    /*! \param initial the model; with `start` that start's found(), untrained
     * \param stride floats from one window to the next
     * \param settings checked; they outlive the adapter
     * \param start a blind start where there is no model, else null
     * \param trials an unused blind start, to be tried once the signal is lost; none: never
     * \throws model_file_error if `initial` is a checkpoint that does not fit */
    adapter(const model& initial,
            std::size_t stride,
            const adaptation_settings& settings,
            listener on_event,
            std::unique_ptr<blind_start> start,
            const std::optional<blind_start>& trials,
            adaptation_exchange& with);
    ~adapter();

    //! Starts the thread, or does nothing if it runs.
    void start();
    //! Ends the thread after its present step, and writes the checkpoint.
    void stop();
    bool runs() const { return d_thread.joinable(); }
    //! Carries out requests, and learns from the oldest batch. Called by the adapter's thread, in
    //! lockstep by the deciding thread.
    void serve();

    //! The model as loaded, or untrained; the same object throughout.
    const model& initial() const { return d_initial; }
    //! Of the latest model. Only while the adapter's thread does not run.
    deciding_parts& parts() { return *d_parts; }
    //! For any thread.
    adaptation_requests& requests() { return d_requests; }
    learner_status status() const;

private:
    using clock = std::chrono::steady_clock;

    //! Where the model in use comes from.
    enum class model_origin {
        starting, //!< there is none yet: a blind start is looking for one
        blind,    //!< a blind start
        given     //!< the caller or a file: replaced only while the front filter is lost
    };

    bool adapts() const { return d_settings.mode != adaptation_mode::off; }
    bool saves() const { return adapts() && !d_settings.checkpoint.empty(); }
    feature_view view_of(const std::vector<float>& samples) const;
    learner_settings training_now() const;
    std::unique_ptr<deciding_parts> parts_of(const model& learnt, learner* learns) const;
    void restore(model& saved, deciding_parts& parts, frequency_guard* frequencies);
    void go_on_with(model found, const deciding_parts::found_carrier& carrier);
    void come_from(model_origin origin);
    void check_fits(const model& loaded, std::size_t training) const;
    void load(adaptation_requests::read_file next);
    void run();
    template <typename work>
    bool attempt(work make);
    void take_requests();
    void follow_freeze();
    void reset(const std::string& why);
    void learn(const adaptation_batch& filled);
    void pass_over(const adaptation_batch& filled);
    bool is_unexplained() const;
    std::unique_ptr<frequency_guard> frequencies_of(const learner* learns) const;
    void guard_frequencies(const adaptation_batch& filled);
    void want_received();
    void begin_with(const adaptation_batch& filled);
    void train_network(const adaptation_batch& filled);
    bool filters() const
    {
        return wants_front_filter(d_settings, d_initial.window, d_stride);
    }
    void try_start(const adaptation_batch& filled);
    void share_status();
    void publish();
    model checkpoint();
    void save(const std::string& path, const model& saved);
    void report(const learner_event& event);

    const adaptation_settings& d_settings;
    model d_initial;
    const std::size_t d_stride;
    const bool d_has_waveform; // whether the model has one, or that of a start will
    const listener d_on_event;
    adaptation_exchange& d_exchange;
    adaptation_requests d_requests;
    locked_value<learner_status> d_status;

    // Used by serve(), under d_serving.
    std::mutex d_serving;
    model_origin d_origin;
    std::unique_ptr<blind_start> d_start; // null unless `starting`
    std::string d_said;                   // by it or by d_network, and not yet reported
    std::uint64_t d_done_at = 0;          // end of the batch with which it was done
    // Null unless a linear equalizer decides, until there is a network.
    std::unique_ptr<network_start> d_network;
    const std::optional<blind_start> d_fresh; // unused one; none: no trials
    std::unique_ptr<start_trials> d_trials;   // null: no trials
    std::unique_ptr<learner> d_learner; // null in mode "off", and before a model is found
    std::unique_ptr<frequency_guard> d_frequencies; // of the learner's model
    std::size_t d_unexplained = 0; // symbols in a row that nothing explains
    std::uint64_t d_as_loaded;     // symbols, once d_frequencies finds labels worse
    std::optional<model> d_loaded; // in mode "off": replaces d_initial
    // Of the latest model, and of the one before, which the deciding thread may still use.
    std::unique_ptr<deciding_parts> d_parts, d_former_parts;
    std::optional<batch_recorder> d_recorder;
    bool d_was_frozen = false; // as reported last
    std::uint64_t d_end = 0;   // end of the latest batch, symbols
    clock::time_point d_saved; // time of the latest checkpoint

    std::atomic<bool> d_stopping{ false };
    std::thread d_thread;
};

} // namespace gr::adann::core
