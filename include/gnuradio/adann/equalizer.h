/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/adann/equalizer_settings.h>
#include <gnuradio/block.h>

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gr::adann {

//! What the front filter of an equalizer is doing.
struct front_filter_state {
    std::vector<std::complex<float>> taps; //!< the earliest sample's first; none without
    std::string
        state; //!< following, doubtful (after a loss), lost or trained (in a burst)
    std::size_t memory;   //!< forgetting time constant, symbols; 0: the identity
    double residual;      //!< dB, relative to the expected waveform; or NaN
    std::uint64_t resets; //!< times that it was worse than nothing, and started over
    std::uint64_t slips;  //!< cycle slips of the carrier that were detected and undone
    double frequency;     //!< of the carrier that is removed, cycles per symbol
    float offset;         //!< that is added to float samples
    std::complex<float> image;   //!< of complex samples that is removed, relative to them
    std::complex<float> leakage; //!< a constant that is removed from complex samples
    float echo_delay;     //!< of the strongest echo beyond the taps, symbols; 0: none
    float echo;           //!< its amplitude
    float tone_frequency; //!< of an interfering tone that is removed, cycles per symbol
    float tone;           //!< its amplitude; 0: none
    float
        level; //!< amplitude of the samples over the model's, where it is taken off; else 1
};

//! A bit error rate that is estimated without labels.
struct ber_estimate {
    double ber; //!< NaN: not known
    double low; //!< 95 % interval for as many errors among as many symbols
    double high;
    bool trustworthy; //!< whether such estimates have been seen to be near the truth
};

/*! \brief Neural-network equalizer that re-trains itself on the signal it receives.
 * \ingroup adann
 *
 * Decides each symbol from the samples around it with a fully-connected network and,
 * while it does, trains that network on the decisions in a thread of its own, without
 * known labels.
 *
 * Input 0: float or complex samples, as the model says, at the model's samples per symbol,
 * zero mean and unit power, sample i·sps the middle of symbol i; or feature vectors. Input
 * 1, optional: known labels (byte), 255, or M and more, where not known. Output 0:
 * labels 0 … M-1 (byte); output i belongs to symbol i. Output 1, optional: posteriors, M
 * floats. Output 2, optional: soft symbol (neighbouring levels differ by 2), of the
 * samples' type: with a model that has an expected waveform the point that was decided and
 * the noise on its pulse, some ten symbols after the label, else or by choice the
 * posterior mean. Output 3, optional: the bit error rate estimated without labels (float),
 * one value per batch, NaN while it is not known. A symbol is decided once its window is
 * complete, half_window symbols later. Tags move from sample j to symbol ⌊(j +
 * ⌊sps/2⌋)/sps⌋, those of known labels to their symbol.
 *
 * Modes: "live": work() never waits; it takes new weights when there are some, and
 * batches that come while the adapter is busy are dropped and counted; with Linux's
 * normal scheduler the adapter thread is nicer than the others by 10. "lockstep": batch t
 * + 1 is decided with the weights that batch t produced, in work()'s own thread: the same to
 * the bit for the same seed. "off": the network stays as it is. Once little is left to learn, one
 * batch in four is learnt from.
 *
 * Before the network a front filter follows what is linear, echoes, timing and gain, in
 * about a thousand symbols: a filter of front_filter_length symbols that brings the
 * samples back to the waveform that the model expects of the decisions. It needs samples
 * at input 0 and a model that has such a waveform, as `adann train` writes it. Decisions
 * then come front_filter_length / 2 symbols later; tags are where they belong.
 *
 * With decisions "refined", the default, labels at output 0 are refined by the expected
 * waveform. That needs the guard and a model on whose own signal `adann train` has counted
 * that it helps. They come 41 symbols and twice the waveform's reach later, output i is
 * symbol i all the same, and the last ones come when the input or a burst ends; where the
 * waveform does not explain the signal they are the network's. The estimated error rate is
 * theirs, and so are the posteriors at output 1, item for item; soft symbols stay the
 * network's.
 *
 * Known symbols come at input 1, or by the setting known_symbols from patterns that repeat, in frames
 * whose position is found by correlation with the decisions. They teach the front filter and the
 * network as the truth, with every loss, and undo a rotation or a delay of up to four symbols; the
 * other symbols are learnt as without them. The loss "supervised" teaches the network by known symbols
 * only. Labels come out as decided, known or not.
 *
 * Packets that were decoded and checked come at the message port `known`, as PDUs: a dictionary with
 * `position`, the number of the first symbol (that of its item at output 0), and a u8vector of labels
 * as they were sent, 255 where one is not known. They may come 2^18 symbols late. Their wrong bits are
 * counted (packet_ber()), the network learns them as the truth unless they are older than the memory of
 * the front filter's taps, and a rotation or a delay that they show is undone by a front filter, not in
 * bursts nor while frozen. What they are compared with is kept from the
 * first one on, which is not counted itself. One that does not fit is refused with a warning; 64 wait at
 * most. A pair of the number and the u8vector will do, too.
 *
 * Bursts: the setting training_sequence has the labels that each begins with, and the tag
 * training_start_tag is where its first symbol's sample is, as digital::corr_est_cc sets
 * it. From that sequence, 64 symbols, say, the front filter takes its taps and the
 * carrier's phase and frequency, up to 1/32 cycle per symbol, at once; then it follows the
 * decisions. If the sequence is not there, a false alarm, nothing changes. At
 * burst_end_tag, the first symbol after a burst, learning pauses until the next burst,
 * after_burst says with what filter. Until the first burst it pauses, too. Batches begin
 * after training sequences.
 *
 * Learning rate, sigma and epsilon that are `automatic` are scaled to half the distance h
 * of two neighbours in the unit-power constellation: 0.0045 h, h·√sps/9 and h·√sps/3
 * (PAM2, QPSK: h·√sps/6).
 *
 * Without a model it starts with nothing: the sample in the middle decides 4096 symbols,
 * then a linear equalizer that is fitted to them blindly, and from 32768 symbols on a network that the adapter thread has
 * trained on those decisions, with an expected waveform; whose decisions explain the
 * samples better decides, and both adapt from there. Symbols have to be random and
 * their carrier recovered. Labels are right up to a symmetry of the constellation and a
 * whole delay, which the signal does not show. While the residual of such a start
 * is large others are tried, and one whose labels have less than half its power replaces it.
 * Known symbols resolve rotation and delay: labels at input 1,
 * or a training sequence of 40 symbols and more at each
 * training_start_tag. Two for each sample of the window and more, and from the batch on
 * that has them the linear equalizer is fitted to these; labels that none explains count
 * as not known. With a sequence all this begins at the first tag, and anew after each
 * burst_end_tag, so that packets want a model. Each stage is a `status` event, "start".
 *
 * The guard has three networks, and the one decide whose decisions explain the samples best
 * by the model's expected waveform: the offline one, the one that adapts, and a copy of that
 * from when it was good. Training starts over from the one in use when the adapting one is
 * surely worse. Without such a waveform the adapting one decides, unless its error rate, as
 * estimated without labels, is more than twice the offline one's. While the
 * signal is constant, newly saturated, noise by its kurtosis or decided into patterns
 * that random data does not show (absent, idle, another modulation), adaptation pauses
 * and the last good network decides. It needs a model with an expected waveform or of known
 * error rate, as `adann train` writes it.
 *
 * Pattern balance assumes scrambled data, uniform and independent from symbol to symbol:
 * set its weight to 0 for a link whose payload is not; then nothing brings missing
 * classes back, and the guard ignores patterns too.
 *
 * A checkpoint is a model file that also holds what the equalizer has learnt otherwise:
 * optimizer, noise generator, guard, counters. An equalizer made from one goes on, in
 * lockstep as if it had never ended; seed is then without effect. Batch, loss, rates and
 * average may be others than before, another optimizer is refused. With `checkpoint` set,
 * one is written there each `checkpoint_interval` seconds and when the flowgraph stops,
 * never while work() waits; it may be the file that `model` names. After a rollback the
 * latest batches are next to it, in `.rollback.safetensors`, for `adann replay`.
 *
 * By the message (load . path) it goes on from another model file or checkpoint of the same signal: the
 * same constellation, sps, half_window and complex, with an expected waveform or without as before. The
 * adapter thread reads it, never work(); it takes over where a batch begins, with a front filter and counts of
 * its own, and each symbol's label comes once. What does not fit is refused and changes nothing.
 *
 * A sample that is NaN, infinite or beyond ±1000 costs the decisions whose windows hold
 * it (any label, some finite posteriors) and the adaptation step of its batch, and
 * nothing after that.
 *
 * Message port `status`: a dictionary per step and change of state with event ("start",
 * "step", "frozen", "unfrozen", "paused", "resumed", "rollback", "reset", "saved",
 * "loaded", "refused", "error"), detail (the reason), decided (symbols since the start, up to the end of the
 * batch), step, loss, confidence (mean largest posterior), ber,
 * ber_low, ber_high and trustworthy (estimated without labels, from the first 4096 symbols
 * on), network (offline, adaptive or last good: the one that decides), refined (whether its
 * decisions are, by the expected waveform), updates, dropped,
 * rejected, rollbacks and queued (batches not yet trained on, that of this step included);
 * with a front filter also tracking (following, doubtful, lost or trained, see
 * front_filter_state), memory (symbols, 0: it does nothing), residual (dB), mer
 * (modulation error ratio, dB: -residual), evm (error vector magnitude: rms error over
 * the rms of the signal), filter_resets, cycle_slips, frequency (cycles per symbol) and
 * bursts; with known_symbols known_position; with packets packets, packet_bits, packet_errors and
 * packet_ber. In the mode "live"
 * steps come at most 20 times a second. Message port `control`: the symbols freeze, resume
 * and reset (to the offline network), a pair, or a dictionary of them: (freeze . bool),
 * (front_filter . bool), (learning_rate . x), (sigma . x) and (epsilon . x), where () is
 * automatic, (loss . name), (save . path), which writes a checkpoint, and (load . path); 0 and 1 are
 * booleans, too. Training that starts over again and again from the same network is one event. Source: the paper, Section II,
 * Fig. 2 and Algorithm 2.
 */
class ADANN_API equalizer : virtual public gr::block
{
public:
    typedef std::shared_ptr<equalizer> sptr;

    /*! \param model path of a model file, or of a checkpoint
     * \throws std::runtime_error if the model file cannot be read (Python: ValueError)
     * \throws std::invalid_argument naming the setting that is out of range */
    static sptr make(const std::string& model, const equalizer_settings& settings = {});
    /*! The same of a model in memory.
     * \param contents those of a model file */
    static sptr make_from_memory(const std::string& contents,
                                 const equalizer_settings& settings = {});
    /*! Without a model, from the first symbols on: see above. Goes on from the checkpoint that
     * the settings name, if that file is there.
     * \param constellation a name, or the points as JSON
     * \param sps,half_window,complex of the samples: 1 to 64, 0 to 255, windows of at most 512
     * samples
     * \throws std::invalid_argument naming what is out of range, or unlike the checkpoint */
    static sptr make_blind(const std::string& constellation,
                           unsigned sps,
                           unsigned half_window,
                           bool complex,
                           const equalizer_settings& settings = {});

    // All of these are safe while the flowgraph runs.
    //! \throws std::invalid_argument if out of range, as the other setters
    virtual void set_learning_rate(std::optional<float> learning_rate) = 0;
    virtual void set_sigma(std::optional<float> sigma) = 0;
    virtual void set_epsilon(std::optional<float> epsilon) = 0;
    //! One of those without known labels, or with "supervised" that alone.
    virtual void set_loss(const std::string& loss) = 0;
    //! Stops (true) or resumes learning; what was learnt stays in use.
    virtual void set_frozen(bool frozen) = 0;
    //! Has the front filter follow (true, as at first), or do nothing.
    virtual void set_front_filter(bool follows) = 0;

    virtual std::uint64_t steps() const = 0; //!< batches that the adapter has taken
    virtual std::uint64_t
    updates() const = 0; //!< of them, those that changed the weights
    virtual std::uint64_t rejected() const = 0; //!< of them, the others
    virtual std::uint64_t dropped() const = 0;  //!< batches that found the adapter busy
    virtual std::uint64_t queued() const = 0;   //!< batches that wait for the adapter now
    //! Times that training started over from better weights.
    virtual std::uint64_t rollbacks() const = 0;
    //! Of the network in use; not known without guard, and before the first symbols.
    virtual ber_estimate estimated_ber() const = 0;
    //! Its bit error rate alone; NaN: not known.
    virtual double estimated_bit_error_rate() const = 0;
    //! Which network decides: offline, adaptive, last good; linear during a start without a model.
    virtual std::string network() const = 0;
    /*! Modulation error ratio in dB: power of the expected waveform to that of the residual of the
     * samples that the network sees; NaN without a front filter. */
    virtual double modulation_error_ratio() const = 0;
    //! Bursts whose training sequence was there, so that the front filter took its taps from it.
    virtual std::uint64_t bursts() const = 0;
    /*! Symbol, below the longest period of known_symbols and counted from the stream's first, at which
     * their frames start; -1: not found. */
    virtual std::int64_t known_position() const = 0;
    //! The bit error rate of packets that came at `known`, before their decoder; NaN before.
    virtual double packet_ber() const = 0;
    //! Of the carrier that the front filter removes, cycles per symbol.
    virtual double frequency() const = 0;
    //! After the latest batch.
    virtual front_filter_state front_filter() const = 0;
};

} // namespace gr::adann
