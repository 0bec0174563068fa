/* -*- c++ -*- */
/*
 * The adaptive equalizer: decisions in the caller's thread, training in a thread of its own, or in
 * lockstep in the caller's.
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

/*! Decides feature vectors and trains the network on them, in live mode in a thread of its
 * own (Fig. 2).
 *
 * decide() works on batches of `batch` consecutive vectors, counted from the first one after
 * start(). It decides with the current weights, and copies the samples of batches that are worth a
 * step into a bounded queue. For each of these the adapter makes a step of the learner, and
 * publishes the new weights.
 * - live: decide() never waits. It takes new weights whenever there are some; a batch that finds
 *   the queue full is dropped and counted. Under Linux's normal scheduler the adapter thread has a
 *   lower priority than the others (nice +10).
 * - lockstep: batch t + 1 is decided with the weights that batch t produced, so decide() makes the
 *   step itself at the end of the batch. The result is the same to the bit for a given seed,
 *   however the vectors are cut into calls.
 * - off: the network stays as it is, and there is no front filter.
 *
 * Once little is left to learn, fewer batches are handed over (learner::pace()), but at
 * least one in the time constant of the front filter; the others cost nothing.
 *
 * If the model has an expected waveform, and vectors are windows of a stream, a front filter
 * follows the signal before the network (front_filter.h), inline in decide(). The network decides
 * and learns from filtered samples.
 *
 * Where the setting `decisions` is "refined", labels are refined inline in decide(), by the signal
 * model after the latest step, and come later (refined_stream.h), from samples at the measured
 * phase (hindsight.h). This needs a guard with an expected waveform, and a model on whose own
 * signal refined labels did not have clearly more errors (model::refined_is_worse()). Front filter
 * and learner get the network's decisions.
 *
 * Without a model it starts with a blind_start. Once that has a linear equalizer there are a learner
 * and a front filter, and a network_start trains a network on what they decide. Until then no
 * checkpoint is written. Without a front filter, or where there is no such equalizer among 32768
 * symbols, the blind_start trains the network, and learning starts with it. While
 * it is trained, for a second or so, batches are dropped in the mode "live". With the loss
 * "supervised" the start uses the known labels. After a start without known labels further starts
 * are tried on the received samples (start_trials); one that explains them better replaces the
 * model, with a new learner and front filter.
 *
 * request_load() changes to another model of the same signal, with a learner, a front filter and a
 * refinement of its own. The adapter thread reads the file, and decisions change where a batch
 * begins; queued batches that the former model decided are dropped.
 *
 * A checkpoint is a learner's, with the number of dropped batches and the front filter. Checkpoints
 * are written between two steps: by request_save() and, if the setting `checkpoint` names a file,
 * every `checkpoint_interval` seconds and when the thread ends. With such a file each rollback
 * writes another one next to it, `.rollback.safetensors`, for replay(). The mode "off" decides with
 * the weights that were in use when the checkpoint was written.
 *
 * An exception in the adapter becomes an event, `error`; the adapter goes on.
 *
 * Threads: decide() belongs to one thread. start() and stop() belong to it too, or are called while
 * it does not run; stop() waits for the present step. All other methods may be called from any
 * thread at any time. They may wait for other such calls, but do not wait for a step, nor does
 * decide() wait for them, except in lockstep for requests to the adapter. Events come in the
 * adapter thread, and in lockstep in decide()'s thread as well, never in both at the same time.
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
    //! Ends it after its present step, and writes the checkpoint; batches in the queue
    //! are forgotten. Does nothing if it does not run.
    void stop();

    /*! Floats of the vectors that decide() takes: the model's dimension, and with a front
     * filter its reach on both sides. */
    std::size_t dimension() const { return d_decides.dimension(); }

    //! Numbers of labels, with their posteriors, and of soft points that decide() has written.
    //! Refined labels come refined_stream::delay() later.
    using written = stream_decider::written;
    /*! Decides every vector of `view`, which has this dimension() and the stride given.
     * \param known_labels null, or view.count labels 0 … M-1, not_known or M and more where one is
     * not known; null: the known frame's. The front filter and the network learn them as the truth,
     * and decisions elsewhere; with the loss "supervised", which needs them, the network learns no
     * others. Labels are handed out as decided, known or not
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

    /*! Has labels that decide() is not given taken from a frame that repeats, once it is found.
     * Before start().
     * \param labels of the frame, see frame_of() */
    void set_known_frame(std::vector<std::uint8_t> labels)
    {
        d_decides.set_known_frame(std::move(labels));
    }
    //! Where the frame starts, see known_frame::position(); none: not found, or no frame was set.
    std::optional<std::size_t> known_position() const
    {
        return d_decides.known_position();
    }

    /*! Hands out the remaining labels at the end of a stream or of a burst.
     * \param room for so many labels
     * \param posteriors as for decide()
     * \return how many were written; 0: all have been */
    std::size_t flush(std::uint8_t* labels, std::size_t room, float* posteriors = nullptr)
    {
        return d_decides.flush(labels, room, posteriors);
    }

    /*! Takes a packet whose check sum was right: its symbols are known from now on. They are
     * compared with the labels that were handed out. The network learns them in batches of their
     * own, unless they are older than the front filter's forgetting time constant. If they show
     * that decisions are rotated or late, the front filter corrects that. Decisions are kept from
     * the first packet on (decided_past::symbols), so that this one is not used itself. Belongs to
     * decide()'s thread.
     * \param first its first symbol, counted from the first one handed out since start()
     * \param labels see decoded_packets::take(), also for what it throws */
    void take_packet(std::uint64_t first, std::vector<std::uint8_t> labels)
    {
        d_decides.take_packet(first, std::move(labels));
    }
    //! Packets compared, and their errors.
    packet_count packets() const { return d_exchange.packets.get(); }

    /*! The next vector is the first symbol of a burst that begins with this
     * training sequence. The front filter starts from it (front_filter::train()),
     * and a batch begins after it. Does nothing without a front filter, or while
     * frozen. Belongs to decide()'s thread, as end_burst() does.
     * \param training front_filter::least_training() to most_training labels */
    void begin_burst(const std::vector<std::uint8_t>& training)
    {
        d_decides.begin_burst(training);
    }
    /*! Ends a burst: nothing is learnt until the next one, and the present batch is discarded.
     * \param resets whether the front filter is reset to the identity until
     * then, or stays as it is */
    void end_burst(bool resets) { d_decides.end_burst(resets); }

    //! Stops (true) or resumes learning; what was learnt stays in use, taps included. A
    //! change is an event.
    void freeze(bool frozen);
    //! Whether the front filter follows (initially true), or is the identity.
    void set_front_filter(bool follows) { d_exchange.follows = follows; }
    //! Back to the offline weights, an empty optimizer and no front filter's taps. Needs
    //! start().
    void request_reset();
    //! Writes a checkpoint. Needs start().
    void request_save(const std::string& path);
    /*! Changes to a model file or a checkpoint, in every mode; it ends a start without a model. An
     * event follows: `loaded`, or `refused` with the file and the reason if nothing has changed.
     * Constellation, sps, half_window, complex, and whether there is an expected waveform have to
     * be the same as now. Of several requests at once the last one counts. Needs start().
     * \param training symbols of the sequence that bursts begin with; 0: none */
    void request_load(const std::string& path, std::size_t training = 0);

    //! \throws std::invalid_argument naming the value that is out of range
    void set_learning_rate(std::optional<float> rate);
    void set_sigma(std::optional<float> sigma);
    void set_epsilon(std::optional<float> epsilon);
    //! \throws std::invalid_argument if not both or neither of it and the
    //! initial loss need known labels
    void set_loss(loss_kind loss);

    /*! The learner's status after the latest step. The estimated error rate is
     * no longer trustworthy when the next one is overdue by more symbols than
     * the queue holds, as while frozen. */
    learner_status status() const { return d_adapter.status(); }
    //! Whether it has a model: at once, if it was given one.
    bool started() const { return d_exchange.has_model; }
    bool has_front_filter() const { return d_exchange.has_front; }
    //! Status of the front filter after the latest batch; the initial one without a front filter.
    front_filter_status front_status() const { return d_exchange.front.status(); }
    //! Its taps after the latest batch, that of the earliest sample first; empty without one.
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
