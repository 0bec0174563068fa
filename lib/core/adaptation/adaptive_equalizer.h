/* -*- c++ -*- */
/*
 * The equalizer that keeps learning: decisions in the caller's thread, training in its
 * own, or in lockstep in the caller's, too.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adapter.h"
#include "core/adaptation/stream_decider.h"

#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gr::adann::core {

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
 * With the decisions "refined", and unless refined labels had more errors than the network's on the
 * model's own signal (model::refined_has_more_errors()), what the learner's guard can refine is refined
 * in decide() as well, inline, by the signal model after the latest step, and put out later
 * (refined_stream.h), from samples at the measured phase (hindsight.h). Front filter and learner are
 * given the network's own.
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
 * ends. With such a file, each rollback writes another next to it,
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
                       adapter::listener on_event = {});
    //! Without a model. \throws std::invalid_argument for the mode "off" as well
    adaptive_equalizer(const blind_start& start,
                       std::size_t stride,
                       const adaptation_settings& settings,
                       adapter::listener on_event = {});

    //! Starts the adapter thread, or does nothing if it runs. Weights and counters go on.
    void start();
    //! Ends it after the step in hand, and writes the checkpoint; batches in the queue
    //! are forgotten. Does nothing if ended.
    void stop();

    /*! Floats of the vectors that decide() takes: the model's dimension, and with a front
     * filter its reach on both sides. */
    std::size_t dimension() const { return d_decides.dimension(); }

    /*! How many decide() has written: labels, with their posteriors, of which refined ones come
     * refined_stream::delay() later, and soft points. */
    using written = stream_decider::written;
    /*! Decides every vector of `view`, which has this dimension() and the stride given.
     * \param known_labels null, or view.count labels 0 … M-1, not_known or M and more where one is not
     * known; null: the known frame's. The front filter and the network learn them as the truth, and
     * decisions elsewhere; with
     * the loss "supervised", which needs them, the network learns no others. Labels are handed
     * out as decided, known or not
     * \param labels room for view.count decisions
     * \param posteriors null, or room for view.count × M floats: of the labels written. The
     * same in each call from start() on
     * \param soft null, or room for view.count points, of the samples' type; needs posteriors
     * \param kind of the points: `received` ones (soft_symbols.h) are known some symbols
     * after the labels, and while there is no expected waveform they are means
     * \param a_priori null, or view.count × log2(M) log-likelihood ratios of the symbols' bits
     * (bit_priors), as a decoder's extrinsic output has them; needs posteriors. The same in each call
     * from start() on. Labels and posteriors that are written go by them; network, front filter and soft
     * points do not
     * \return how many were written, each from the stream's first symbol on */
    written decide(const feature_view& view,
                   const std::uint8_t* known_labels,
                   std::uint8_t* labels,
                   float* posteriors = nullptr,
                   float* soft = nullptr,
                   soft_symbol_kind kind = soft_symbol_kind::received,
                   const float* a_priori = nullptr)
    {
        return d_decides.decide(
            view, known_labels, labels, posteriors, soft, kind, a_priori);
    }

    /*! Has labels that decide() is not given taken from a frame that repeats, once it is found. Before start().
     * \param labels of the frame, see frame_of() */
    void set_known_frame(std::vector<std::uint8_t> labels)
    {
        d_decides.set_known_frame(std::move(labels));
    }
    //! Where that starts, see known_frame::position(); none: not found, or there is none.
    std::optional<std::size_t> known_position() const
    {
        return d_decides.known_position();
    }

    /*! Hands out labels that are still to come, at the end of a stream or of a burst.
     * \param room for that many
     * \param posteriors as for decide()
     * \return how many were written; 0: all have been */
    std::size_t flush(std::uint8_t* labels, std::size_t room, float* posteriors = nullptr)
    {
        return d_decides.flush(labels, room, posteriors);
    }

    /*! A packet that was decoded and checked: its symbols are known from now on. They are counted
     * against the labels that were handed out, the network learns them as the truth, in batches
     * between the others, unless they are older than the front filter's memory, and where they say
     * that decisions are rotated or late, so does the front filter. The first packet only has what
     * follows kept: decided_past::symbols. Belongs to decide()'s thread.
     * \param first its first symbol, counted from the first one handed out since start()
     * \param labels see decoded_packets::take(), also for what it throws */
    void take_packet(std::uint64_t first, std::vector<std::uint8_t> labels)
    {
        d_decides.take_packet(first, std::move(labels));
    }
    //! How many of these were compared, and what that found.
    packet_count packets() const { return d_exchange.packets.get(); }

    /*! The next vector is the first symbol of a burst, which begins with this training
     * sequence: the front filter takes its taps and carrier from it (front_filter::train()), and
     * a batch begins after it. Nothing without a front filter, or while frozen. Belongs to
     * decide()'s thread, as end_burst() does.
     * \param training front_filter::least_training() to most_training labels */
    void begin_burst(const std::vector<std::uint8_t>& training)
    {
        d_decides.begin_burst(training);
    }
    /*! From the next vector to the next burst nothing is learnt, and the batch in hand is left.
     * \param resets whether the front filter does nothing until then, or stays as it is */
    void end_burst(bool resets) { d_decides.end_burst(resets); }

    //! Stops (true) or resumes learning; what was learnt stays in use, taps included. A
    //! change is an event.
    void freeze(bool frozen);
    //! Has the front filter follow (true, as at first), or do nothing.
    void set_front_filter(bool follows) { d_exchange.follows = follows; }
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

    /*! After the latest step. The estimated error rate is not trustworthy any more when
     * the next one is overdue by more symbols than the queue holds, frozen, for example. */
    learner_status status() const { return d_adapter.status(); }
    //! Whether it has a model: at once, if it was given one.
    bool started() const { return d_exchange.has_model; }
    bool has_front_filter() const { return d_exchange.has_front; }
    //! Of the front filter, after the latest batch; as at the start without one.
    front_filter_status front_status() const { return d_exchange.front.status(); }
    //! The taps that it uses after the latest batch, the earliest sample's first; empty
    //! without one.
    std::vector<std::complex<float>> taps() const;
    std::uint64_t dropped() const { return d_exchange.dropped; }
    //! How far the adapter lags: batches handed over and not yet learnt from.
    std::size_t queued() const { return d_exchange.queue.filled(); }

private:
    adaptive_equalizer(const model& initial,
                       std::size_t stride,
                       const adaptation_settings& settings,
                       adapter::listener on_event,
                       std::unique_ptr<blind_start> start,
                       std::size_t dimension,
                       const std::optional<blind_start>& trials);

    const adaptation_settings d_settings;
    adaptation_exchange d_exchange;
    adapter d_adapter;
    stream_decider d_decides;
};

} // namespace gr::adann::core
