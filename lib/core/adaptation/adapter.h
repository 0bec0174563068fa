/* -*- c++ -*- */
/*
 * From batches to new weights.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adaptation_exchange.h"
#include "core/adaptation/adaptation_requests.h"
#include "core/adaptation/blind_start.h"
#include "core/adaptation/learner.h"
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
    std::size_t queued;        //!< batches not yet learnt from, that of a step included
    front_filter_status front; //!< of the front filter, if there is one
    std::uint64_t symbols; //!< decided since start(), up to the end of the latest batch
    packet_count packets;  //!< that were decoded, see adaptive_equalizer::take_packet()
};

/*! Owns the model: a learner, the parts that decide by it, checkpoints, and blind starts where there is no
 * model, or it explains nothing any more.
 *
 * It has a thread of its own, which reads files, and learns where the mode is "live". In lockstep the
 * deciding thread calls serve(). */
class adapter
{
public:
    using listener = std::function<void(const adaptation_event&)>;

    /*! \param initial the model; with `start` what that has found before it saw anything
     * \param stride floats from one window to the next
     * \param settings checked; they outlive it
     * \param start null, or where there is no model
     * \param trials a start that has seen nothing, to be tried once the signal is lost; none: never
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
    //! Ends it after the step in hand, and writes the checkpoint.
    void stop();
    bool runs() const { return d_thread.joinable(); }
    //! Does what was asked for, and learns from the oldest batch. The thread, in lockstep the deciding one.
    void serve();

    //! As loaded, or untrained; its state is the learner's. Valid and the same as long as this.
    const model& initial() const { return d_initial; }
    //! Of the latest model. While the thread rests.
    deciding_parts& parts() { return *d_parts; }
    //! Anyone.
    adaptation_requests& requests() { return d_requests; }
    learner_status status() const;

private:
    using clock = std::chrono::steady_clock;

    //! Where the model in use comes from.
    enum class model_origin {
        starting, //!< from nowhere yet: a blind start is looking for one
        blind,    //!< from a blind start
        given     //!< from the caller or a file: left only while the front filter is lost
    };

    bool adapts() const { return d_settings.mode != adaptation_mode::off; }
    bool saves() const { return adapts() && !d_settings.checkpoint.empty(); }
    feature_view view_of(const std::vector<float>& samples) const;
    std::unique_ptr<deciding_parts> parts_of(const model& learnt, learner* learns) const;
    void restore(model& saved, deciding_parts& parts);
    void go_on_with(model found);
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
    void begin_with(const adaptation_batch& filled);
    void try_start(const adaptation_batch& filled);
    void share_status();
    void publish();
    model checkpoint();
    void save(const std::string& path, const model& saved);
    void report(const learner_event& event);

    const adaptation_settings& d_settings;
    model d_initial;
    const std::size_t d_stride;
    const bool d_has_waveform; // the model, or that of a start
    const listener d_on_event;
    adaptation_exchange& d_exchange;
    adaptation_requests d_requests;
    locked_value<learner_status> d_status;

    // Of whoever serves.
    std::mutex d_serving;
    model_origin d_origin;
    std::unique_ptr<blind_start> d_start;     // null unless `starting`
    const std::optional<blind_start> d_fresh; // none where nothing is tried
    std::unique_ptr<start_trials> d_trials;   // null where nothing is tried
    std::unique_ptr<learner> d_learner;       // null when off, or not yet
    std::optional<model> d_loaded;            // when off: instead of d_initial
    // Of the latest model, and of the one before: the deciding thread may still use that.
    std::unique_ptr<deciding_parts> d_parts, d_former_parts;
    std::optional<batch_recorder> d_recorder;
    bool d_was_frozen = false; // as reported
    std::uint64_t d_end = 0;   // of the latest batch, in symbols
    clock::time_point d_saved; // the latest checkpoint

    std::atomic<bool> d_stopping{ false };
    std::thread d_thread;
};

} // namespace gr::adann::core
