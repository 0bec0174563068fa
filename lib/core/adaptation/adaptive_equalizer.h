/* -*- c++ -*- */
/*
 * The equalizer that keeps learning: decisions in the caller's thread, training in its
 * own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adaptation_settings.h"
#include "core/adaptation/guard.h"
#include "core/adaptation/handover.h"
#include "core/adaptation/replay.h"
#include "core/adaptation/signal_check.h"
#include "core/files/archive.h"
#include "core/network/decider.h"
#include "core/network/model.h"
#include "core/training/trainer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gr::adann::core {

//! A bit error rate estimated without labels: see error_estimate.
struct error_rate {
    double ber = std::numeric_limits<double>::quiet_NaN(); //!< NaN: not known
    double low = ber;  //!< 95 % interval for as many errors among as many symbols,
    double high = ber; //!< Clopper-Pearson
    bool trustworthy = false;
};

//! What the adapter thread tells after each step and each request.
struct adaptation_event {
    std::string what;        //!< "step", "paused", "resumed", "rollback", "reset",
                             //!< "saved", "error"
    std::string detail;      //!< of "saved" the path, of most others the reason
    step_result step;        //!< of "step"
    error_rate estimated;    //!< of the network in use
    std::string network;     //!< which one that is: guard::name()
    std::uint64_t steps;     //!< batches seen so far, the rejected ones included
    std::uint64_t updates;   //!< of them, those that changed the weights
    std::uint64_t dropped;   //!< batches that found the queue full
    std::uint64_t rejected;  //!< steps - updates
    std::uint64_t rollbacks; //!< times that training started over
    std::size_t queued;      //!< batches not yet trained on, that of a step included
};

/*! Decides feature vectors and re-trains its network on them (Fig. 2 and Algorithm 2).
 *
 * decide() works on whole batches of `batch` consecutive vectors, counted from the first
 * one after start(). It decides with the current weights and copies the batch's samples
 * into a bounded queue; the adapter thread makes one step for each and publishes new
 * weights.
 * - live: decide() never waits. It takes new weights whenever there are some; a batch
 * that finds the queue full is dropped and counted. Where cores are few, the adapter
 * thread comes last: with Linux's normal scheduler it is nicer than the others by 10.
 * - lockstep: batch t + 1 is decided with the weights that batch t produced, so decide()
 * waits for the step at the end of each batch. The result is the same to the bit for a
 * given seed, however the vectors are cut into calls.
 * - off: the network stays as it is.
 *
 * The adaptive weights are a running average of those that the trainer goes on from: each
 * step of N_b symbols brings them nearer by N_b / (average + N_b). The noise of single
 * steps is averaged out of the decisions, which `average` = 0 takes as they are.
 *
 * The guard chooses which weights are in use, the adaptive ones or others, and has the
 * trainer start over from better weights (guard.h). While the signal is away adaptation
 * pauses (signal_check.h), and the last good weights are in use. A batch that is not
 * learnt from is counted as rejected.
 *
 * A checkpoint is a model file of the weights in use, together with all that the next
 * step depends on. An equalizer that is made from one goes on: in lockstep, with the same
 * settings, as if it had never ended, to the bit. The batch, the loss and its parameters,
 * the learning rate and the average may be others than before; another optimizer is
 * refused. What belongs to the guard is left aside without one; a guard that was not
 * there before begins anew. The mode "off" decides with the weights in use. Checkpoints
 * are written between two steps: by request_save() and, if the setting `checkpoint` names
 * a file, there each `checkpoint_interval` seconds and when the thread ends. With such a
 * file, each rollback leaves another beside it, `.rollback.safetensors`, for replay().
 *
 * Threads: decide() belongs to one thread. start() and stop() belong to it too, or come
 * while it rests; stop() waits for the step in hand. Everything else may be called from
 * any thread at any time: it may wait for another such call, but neither waits for a step
 * nor makes decide() wait. Events come in the adapter thread.
 */
class adaptive_equalizer
{
public:
    /*! \param stride of all the views to come: initial.window.stride() for windows on a
     * stream, or initial.window.dimension() for separate vectors \throws
     * std::invalid_argument naming the setting that is out of range, model_file_error if
     * `initial` is a checkpoint that does not fit */
    adaptive_equalizer(const model& initial,
                       std::size_t stride,
                       const adaptation_settings& settings,
                       std::function<void(const adaptation_event&)> on_event = {});
    ~adaptive_equalizer();

    //! Starts the adapter thread, or does nothing if it runs. Weights and counters go on.
    void start();
    //! Ends it after the step in hand, and writes the checkpoint; batches in the queue
    //! are forgotten. Does nothing if ended.
    void stop();

    /*! Decides every vector of `view`, which has the model's dimension and the stride
     * given. \param known_labels view.count labels 0 … M-1 for the loss "supervised",
     * else null \param labels view.count decisions \param posteriors null, or view.count
     * × M floats */
    void decide(const feature_view& view,
                const std::uint8_t* known_labels,
                std::uint8_t* labels,
                float* posteriors = nullptr);

    //! Stops (true) or resumes learning; what was learnt stays in use.
    void freeze(bool frozen) { d_frozen = frozen; }
    //! Back to the offline weights and an empty optimizer. Needs start().
    void request_reset();
    //! Writes a checkpoint. Needs start().
    void request_save(const std::string& path);

    /*! Makes the step of one batch in the caller's thread, while the adapter thread does
     * not run: for replay(). */
    void learn(const float* samples, const std::uint8_t* labels);
    //! guard::badness() of the offline, the adaptive and the last good network, or NaN;
    //! while the thread does not run.
    std::array<double, 3> badness() const;

    //! \throws std::invalid_argument naming the value that is out of range
    void set_learning_rate(float rate);
    void set_sigma(float sigma);
    void set_epsilon(float epsilon);

    /*! Slots of the queue: one is being filled and one trained on; the others ride out a
     * slow step and the bursts in which a scheduler hands over samples, some 65536
     * symbols, or 8 MiB if that is less.
     * \param floats of a batch */
    static std::size_t queue_slots(std::size_t batch, std::size_t floats)
    {
        constexpr std::size_t most_floats = (8 << 20) / sizeof(float);
        return std::max<std::size_t>(4, std::min(65536 / batch, most_floats / floats));
    }

    std::uint64_t steps() const { return d_steps; }
    std::uint64_t updates() const { return d_updates; }
    std::uint64_t dropped() const { return d_dropped; }
    std::uint64_t rejected() const { return d_steps - d_updates; }
    std::uint64_t rollbacks() const { return d_rollbacks; }
    //! How far the adapter lags: batches handed over and not yet trained on.
    std::size_t queued() const { return d_queue.filled(); }
    //! Of the network in use. Not known without a guard, nor in the first 4096 symbols
    //! that are learnt from: after the start, a reset, a pause, or from a checkpoint.
    error_rate estimated() const;

private:
    struct batch {
        std::vector<float> samples;
        std::vector<std::uint8_t> labels; // known ones for "supervised", else decided
    };

    void collect(const feature_view& view, const std::uint8_t* labels);
    template <typename change>
    void change_training(change make);
    void run();
    void take_requests();
    static model offline(model from);
    model checkpoint();
    void state(archive& members);
    void save(const std::string& path, const model& saved);
    void save_rollback();
    bool watch(const feature_view& view, const std::uint8_t* decided);
    void forget_estimate();
    void estimate_errors(std::size_t more_symbols);
    void approach_trained(float part);
    const network& in_use() const;
    void publish();
    void
    report(const std::string& what, const std::string& detail, step_result step = {});

    const adaptation_settings d_settings;
    model d_initial; // offline
    const std::size_t d_stride;
    const std::size_t d_batch;
    const float d_approach; // how far a step brings the average to the trained weights
    const bool d_adapts;
    const bool d_lockstep;
    const bool d_supervised;
    const std::function<void(const adaptation_event&)> d_on_event;

    // The deciding thread's.
    decider d_decider;
    const std::size_t d_floats; // of a batch
    batch* d_filling = nullptr; // null while the current batch is not learnt from
    std::size_t d_position = 0; // in the current batch

    // Handed over.
    slot_queue<batch> d_queue;
    latest_value<prepared_network> d_weights;
    semaphore d_wake; // the adapter: a batch, a request, or stop
    semaphore d_done; // decide() in lockstep: the batch has been trained on
    std::atomic<bool> d_frozen{ false };
    std::atomic<bool> d_stopping{ false };
    std::atomic<std::uint64_t> d_steps{ 0 }, d_updates{ 0 }, d_dropped{ 0 },
        d_rollbacks{ 0 };

    // Between anyone and the adapter: neither decide() nor a step holds this lock.
    mutable std::mutex d_requests_mutex;
    error_rate d_estimated;
    training_settings d_training;
    bool d_settings_changed = false;
    bool d_reset_requested = false;
    std::vector<std::string> d_save_requests;

    // The adapter thread's.
    trainer d_trainer;
    network d_average;                    // the adaptive weights
    std::optional<signal_check> d_signal; // beside a guard
    std::optional<core::guard> d_guard;
    std::optional<batch_recorder> d_recorder;
    bool d_paused = false;
    std::size_t d_unestimated = 0; // symbols since d_estimated was made

    std::thread d_thread;
};

} // namespace gr::adann::core
