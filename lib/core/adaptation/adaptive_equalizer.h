/* -*- c++ -*- */
/*
 * The equalizer that keeps learning: decisions in the caller's thread, training in its
 * own, or in lockstep in the caller's, too.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/blind_start.h"
#include "core/adaptation/deciding_parts.h"
#include "core/adaptation/decoded_packets.h"
#include "core/adaptation/handover.h"
#include "core/adaptation/learner.h"
#include "core/adaptation/replay.h"
#include "core/adaptation/start_trials.h"
#include "core/network/decider.h"
#include "core/network/model.h"
#include "core/signal/known_frame.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <complex>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gr::adann::core {

//! What is told of the adaptation: what the learner did, a checkpoint saved, an error.
struct adaptation_event : learner_event {
    std::uint64_t dropped;     //!< batches that found the queue full
    std::size_t queued;        //!< batches not yet learnt from, that of a step included
    front_filter_status front; //!< of the front filter, if there is one
    std::uint64_t symbols; //!< decided since start(), up to the end of the latest batch
    packet_count packets;  //!< of take_packet()
};

/*! Decides feature vectors and has a learner learn from them, in live mode in a thread of its
 * own (Fig. 2).
 *
 * decide() works on whole batches of `batch` consecutive vectors, counted from the first
 * one after start(). It decides with the current weights and copies the samples of those that are
 * worth a step into a bounded queue; the adapter has the learner make one for each and
 * publishes the weights that are then in use.
 * - live: decide() never waits. It takes new weights whenever there are some; a batch
 * that finds the queue full is dropped and counted. Under Linux's
 * normal scheduler the adapter thread has a lower priority than the others (nice +10).
 * - lockstep: batch t + 1 is decided with the weights that batch t produced, so decide()
 * makes the step itself at the end of such a batch. The result is the same to the bit for a
 * given seed, however the vectors are cut into calls.
 * - off: the network stays as it is, and there is no front filter.
 * Later, batches are handed over more rarely (learner::pace()), where the front filter says that
 * nothing moves (front_filter::apart()); the others cost nothing.
 *
 * With a model that has an expected waveform, and windows on a stream, a front filter
 * follows the signal before the network (front_filter.h), every 64 symbols and inline in
 * decide(). The network decides and learns from filtered samples.
 *
 * With the decisions "refined", and a model on whose own signal refined labels had at most
 * 0.8 of the network's errors, what the learner's guard can refine is refined in decide() as
 * well, inline, by what the guard knew of the signal after the latest step, and handed out
 * later (refined_stream.h), from what the front filter sees in hindsight. All that learns is given
 * the network's own.
 *
 * Without a model it starts with a blind_start: the adapter takes its models as they come, and
 * has a learner, and a front filter, from the last one on. Until then nothing is saved.
 * While it trains that one, a second or so, batches are dropped in the mode "live". With the loss
 * "supervised" it starts with the known labels. After a start that knew no labels the samples, as they
 * come in, are tried for another one that explains them better (start_trials); where there is one, its
 * model replaces the first, with a learner and a front filter of its own.
 *
 * request_load() has it go on from another model of the same signal, with a learner, a front filter and a
 * refinement of their own. The adapter thread reads the file, and what decides takes over where a batch
 * begins; batches that the former one decided are dropped.
 *
 * A checkpoint is a learner's, with the number of dropped batches and the front filter.
 * Checkpoints are written between two steps: by request_save() and, if the setting
 * `checkpoint` names a file, there each `checkpoint_interval` seconds and when the thread
 * ends. With such a file, each rollback leaves another beside it,
 * `.rollback.safetensors`, for replay().
 * The mode "off" decides with the weights in use when the checkpoint was written.
 *
 * An exception in the adapter becomes an event, `error`, and ends nothing.
 *
 * Threads: decide() belongs to one thread. start() and stop() belong to it too, or come
 * while it rests; stop() waits for the step in hand. Everything else may be called from
 * any thread at any time: it may wait for another such call, but neither waits for a step
 * nor makes decide() wait, but for what was asked of the adapter in lockstep. Events come in the
 * adapter thread, and in lockstep in decide()'s as well, never in both at a time.
 */
class adaptive_equalizer
{
public:
    /*! \param stride of all the views to come: initial.window.stride() for windows on a
     * stream, or initial.window.dimension() for separate vectors
     * \throws std::invalid_argument naming the setting that is out of range
     * \throws model_file_error if `initial` is a checkpoint that does not fit */
    adaptive_equalizer(const model& initial,
                       std::size_t stride,
                       const adaptation_settings& settings,
                       std::function<void(const adaptation_event&)> on_event = {});
    //! Without a model. \throws std::invalid_argument for the mode "off" as well
    adaptive_equalizer(const blind_start& start,
                       std::size_t stride,
                       const adaptation_settings& settings,
                       std::function<void(const adaptation_event&)> on_event = {});
    ~adaptive_equalizer();

    //! Starts the adapter thread, or does nothing if it runs. Weights and counters go on.
    void start();
    //! Ends it after the step in hand, and writes the checkpoint; batches in the queue
    //! are forgotten. Does nothing if ended.
    void stop();

    /*! Floats of the vectors that decide() takes: the model's dimension, and with a front
     * filter its reach on both sides. */
    std::size_t dimension() const { return d_dimension; }

    //! How many decide() has written.
    struct written {
        //! With their posteriors; refined ones come refined_stream::delay() later.
        std::size_t labels = 0;
        std::size_t points = 0; //!< soft ones
    };
    /*! Decides every vector of `view`, which has this dimension() and the stride given.
     * \param known_labels null, or view.count labels 0 … M-1, not_known or M and more where one is not
     * known; null: the known frame's. The front filter and the network learn them as the truth, and decisions elsewhere; with
     * the loss "supervised", which needs them, the network learns no others. Labels are handed
     * out as decided, known or not
     * \param labels room for view.count decisions
     * \param posteriors null, or room for view.count × M floats: of the labels written. The
     * same in each call from start() on
     * \param soft null, or room for view.count points, of the samples' type; needs posteriors
     * \param kind of the points: `received` ones (soft_symbols.h) are known some symbols
     * after the labels, and while there is no expected waveform they are means
     * \return how many were written, each from the stream's first symbol on */
    written decide(const feature_view& view,
                   const std::uint8_t* known_labels,
                   std::uint8_t* labels,
                   float* posteriors = nullptr,
                   float* soft = nullptr,
                   soft_symbol_kind kind = soft_symbol_kind::received);

    /*! Has what decide() is not told taken from a frame that repeats, once it is found. Before start().
     * \param labels of the frame, see frame_of() */
    void set_known_frame(std::vector<std::uint8_t> labels);
    //! Where that starts, see known_frame::position(); none: not found, or there is none.
    std::optional<std::size_t> known_position() const;

    /*! Hands out labels that are still to come, at the end of a stream or of a burst.
     * \param room for that many
     * \param posteriors as for decide()
     * \return how many were written; 0: all have been */
    std::size_t
    flush(std::uint8_t* labels, std::size_t room, float* posteriors = nullptr);

    /*! A packet that was decoded and checked: its symbols are known from now on. They are counted
     * against the labels that were handed out, the network learns them as the truth, in batches
     * between the others, and where they say that decisions are rotated or late, so does the front
     * filter. The first packet only has what follows kept: decided_past::symbols. Belongs to
     * decide()'s thread.
     * \param first its first symbol, counted from the first one handed out since start()
     * \param labels see decoded_packets::take(), also for what it throws */
    void take_packet(std::uint64_t first, std::vector<std::uint8_t> labels);
    //! How many of these were compared, and what that found.
    packet_count packets() const;

    /*! The next vector is the first symbol of a burst, which begins with this training
     * sequence: the front filter takes its taps and carrier from it (front_filter::train()), and
     * a batch begins behind it. Nothing without a front filter, or while frozen. Belongs to
     * decide()'s thread, as end_burst() does.
     * \param training front_filter::least_training() to most_training labels */
    void begin_burst(const std::vector<std::uint8_t>& training);
    /*! From the next vector to the next burst nothing is learnt, and the batch in hand is left.
     * \param resets whether the front filter does nothing until then, or stays as it is */
    void end_burst(bool resets);

    //! Stops (true) or resumes learning; what was learnt stays in use, taps included. A
    //! change is an event.
    void freeze(bool frozen);
    //! Has the front filter follow (true, as at first), or do nothing.
    void set_front_filter(bool follows) { d_follows = follows; }
    //! Back to the offline weights, an empty optimizer and no front filter's taps. Needs
    //! start().
    void request_reset();
    //! Writes a checkpoint. Needs start().
    void request_save(const std::string& path);
    /*! Goes on from a model file or a checkpoint, in every mode; a start without a model is over. An
     * event, `loaded`, or `refused` with the file and the reason, and nothing has changed: constellation,
     * sps, half_window and complex have to be the same, and whether there is an expected waveform. Of
     * several files that are asked for at once, the last one. Needs start().
     * \param training symbols of the sequence that bursts begin with; 0: none */
    void request_load(const std::string& path, std::size_t training = 0);

    //! \throws std::invalid_argument naming the value that is out of range
    void set_learning_rate(std::optional<float> rate);
    void set_sigma(std::optional<float> sigma);
    void set_epsilon(std::optional<float> epsilon);
    //! Nor may it need known labels where the one before did not, or the other way round.
    void set_loss(loss_kind loss);

    /*! Slots of the queue: one is being filled and one trained on; the others ride out a
     * slow step and the bursts in which a scheduler hands over samples, some 65536
     * symbols, or 8 MiB if that is less.
     * \param floats of a batch */
    static std::size_t queue_slots(std::size_t batch, std::size_t floats)
    {
        constexpr std::size_t most_floats = (8 << 20) / sizeof(float);
        return std::max<std::size_t>(4, std::min(65536 / batch, most_floats / floats));
    }

    /*! After the latest step. The estimated error rate is not trustworthy any more when
     * the next one is overdue by more symbols than the queue holds, frozen, for example. */
    learner_status status() const;
    //! Whether it has a model: at once, if it was given one.
    bool started() const { return d_started; }
    bool has_front_filter() const { return d_has_front; }
    //! Of the front filter, after the latest batch; as at the start without one.
    front_filter_status front_status() const;
    //! The taps that it uses after the latest batch, the earliest sample's first; empty
    //! without one.
    std::vector<std::complex<float>> taps() const;
    std::uint64_t dropped() const { return d_dropped; }
    //! How far the adapter lags: batches handed over and not yet learnt from.
    std::size_t queued() const { return d_queue.filled(); }

private:
    using clock = std::chrono::steady_clock;

    struct front_report {
        front_filter_status status;
        std::vector<std::complex<float>> taps;
    };
    struct read_file {
        std::string path;
        std::size_t training = 0; // see request_load()
        std::optional<model> found;
        std::string problem; // why there is none
    };
    struct batch {
        std::vector<float> samples;
        std::vector<std::uint8_t> labels; // decided
        std::vector<std::uint8_t> truth;  // known ones, not_known elsewhere
        std::vector<float> received;      // as they came in, where a start is tried
        bool is_tried = false;
        bool tells = false;                 // whether there are any known ones
        bool follows = false;               // directly the one handed over before it
        const deciding_parts* by = nullptr; // what decided it
        bool starts = false;                // of labels only those known are there:
        std::size_t first = 0, known = 0;   // the first, and how many
        std::uint64_t end = 0;              // in symbols, since the start
        double unexplained = 0;             // see refined_stream::unexplained_errors()
        std::size_t apart = 1;              // batches since the one handed over before

        void begin(bool directly,
                   const deciding_parts* decides,
                   bool without_model,
                   bool tries)
        {
            is_tried = tries;
            follows = directly;
            tells = false;
            by = decides;
            starts = without_model;
            first = known = 0;
        }
    };

    adaptive_equalizer(const model& initial,
                       std::size_t stride,
                       const adaptation_settings& settings,
                       std::function<void(const adaptation_event&)> on_event,
                       std::unique_ptr<blind_start> start);

    feature_view decide_some(const feature_view& view,
                             const std::uint8_t* known_labels,
                             std::uint8_t* labels,
                             float* posteriors);
    std::size_t show(const feature_view& view,
                     const std::uint8_t* labels,
                     const float* posteriors,
                     float* soft,
                     soft_symbol_kind kind);
    std::size_t hand_out(const feature_view& view,
                         const float* decided_posteriors,
                         std::uint8_t* labels,
                         float* posteriors);
    std::unique_ptr<deciding_parts> parts_of(const model& learnt, learner* learns) const;
    void restore(model& saved, deciding_parts& parts);
    void go_on_with(model found);
    void read();
    void check_fits(const model& loaded, std::size_t training) const;
    void adopt();
    bool is_due() const;
    void collect(const feature_view& view,
                 const std::uint8_t* decided,
                 const std::uint8_t* known_labels);
    void note_known(const std::uint8_t* known_labels, std::size_t n);
    void collect_packet();
    void leave_batch();
    void tell(const front_filter& front);
    template <typename change>
    void change_training(change make);
    void run();
    bool saves() const;
    void serve();
    template <typename work>
    bool attempt(work make);
    void take_requests();
    void learn(const batch& filled);
    void begin_with(const batch& filled);
    void try_start(const batch& filled);
    void share_status();
    void publish();
    model checkpoint();
    void save(const std::string& path, const model& saved);
    void load(read_file next);
    void report(const learner_event& event);

    const adaptation_settings d_settings;
    model d_initial; // as loaded, or untrained; without its state, which is the learner's
    const std::size_t d_stride;
    const std::size_t d_batch;
    const bool d_adapts;
    const bool d_lockstep;
    const bool d_supervised;
    const bool d_has_waveform; // the model, or that of a start
    const std::function<void(const adaptation_event&)> d_on_event;

    // The adapter's: whoever serve()s.
    std::unique_ptr<blind_start> d_start; // null once it is done
    const std::optional<blind_start>
        d_beside; // that has seen nothing; none where nothing is tried
    std::unique_ptr<start_trials> d_trials; // null where nothing is tried
    bool
        d_is_given; // whether the model is, or a checkpoint: left only while the front filter is lost
    std::unique_ptr<learner> d_learner; // null when off, or not yet
    std::optional<model> d_loaded;      // when off: instead of d_initial
    // Of the latest model, and of the one before: the deciding thread may still use that.
    std::unique_ptr<deciding_parts> d_parts, d_former_parts;
    std::atomic<deciding_parts*> d_latest_parts{ nullptr };
    std::atomic<bool> d_handing_over{ false }; // while the former ones may be in use
    std::atomic<bool> d_has_front{ false };

    // The deciding thread's.
    deciding_parts* d_using = nullptr;
    // What the former ones still hold: null once all has been handed out.
    refined_stream* d_left_labels = nullptr;
    soft_symbols* d_left_points = nullptr;
    const std::size_t d_dimension;
    const std::size_t d_floats;                     // of a batch
    const float* d_received = nullptr;              // windows, before a front filter
    std::vector<std::uint8_t> d_decided;            // by the network
    std::vector<float> d_posteriors;                // (batch, M), of these
    std::optional<known_frame> d_frame;             // of what nobody tells
    std::atomic<std::size_t> d_known_position{ 0 }; // its, and one
    hindsight d_latest;                             // up to the last of them
    decoded_packets d_packets;
    std::size_t d_changes = 0;   // of delay and rotation, the front filter's
    batch* d_filling = nullptr;  // null while the current batch is not learnt from
    std::size_t d_position = 0;  // in the current batch
    std::uint64_t d_symbols = 0; // since the start
    std::size_t d_apart = 1;     // the front filter's, as the batch began; 1 without
    bool d_gap = true;           // before the current batch
    bool d_followed = true;      // whether the front filter did
    std::vector<std::uint8_t> d_known; // the training sequence of a burst that begins
    std::size_t d_untrained = 0;       // symbols of it to come
    std::size_t d_sequence = 0;        // the same, of one that a start learns from
    bool d_between = false;            // bursts
    bool d_paused = false;             // the same, before the training sequence
    std::uint64_t d_bursts = 0;        // the front filter's, before it

    // Handed over.
    slot_queue<batch> d_queue;
    mutable latest_value<front_report> d_front_report; // read under d_mutex
    semaphore d_wake; // the adapter: a batch, a request, or stop
    std::atomic<bool> d_started{ true };
    std::atomic<bool> d_tries{ false }; // starts
    std::atomic<bool> d_frozen{ false };
    std::atomic<bool> d_follows{ true };
    std::atomic<bool> d_stopping{ false };
    std::atomic<bool> d_reset_front{ false };
    std::atomic<std::uint64_t> d_dropped{ 0 };
    std::atomic<std::uint64_t> d_since_estimate{ 0 }; // batches decided
    std::atomic<std::size_t> d_pace{ 1 };             // the learner's
    std::atomic<std::size_t> d_spared{ 0 };           // batches since one was handed over

    // Between anyone and the adapter: neither decisions nor a step hold this lock.
    mutable std::mutex d_mutex;
    learner_status d_status;
    packet_count d_packet_count;
    training_settings d_training;
    bool d_settings_changed = false;
    bool d_reset_requested = false;
    bool d_told_frozen = false; // the adapter's
    std::vector<std::string> d_save_requests;
    std::optional<std::string> d_load_request; // a path
    std::size_t d_training_symbols = 0;        // that go with it
    std::optional<read_file> d_read;           // not yet in use

    // The adapter's: its thread and, in lockstep, decide()'s hold this lock while they serve().
    std::mutex d_serving;
    std::optional<batch_recorder> d_recorder;
    std::uint64_t d_end = 0;   // of the latest batch
    clock::time_point d_saved; // the latest checkpoint
    std::thread d_thread;
};

} // namespace gr::adann::core
