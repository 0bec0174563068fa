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
    std::vector<std::complex<float>>
        taps; //!< the earliest sample's first; none without a filter
    std::string
        state; //!< following, doubtful (after a loss), lost or trained (in a burst)
    std::size_t memory;   //!< forgetting time constant, symbols, or as many as remembered
                          //!< taps were learnt from; 0: the identity
    double residual;      //!< dB, relative to the expected waveform; or NaN
    std::uint64_t resets; //!< times that the taps started over, or from a hypothesis
    std::uint64_t slips;  //!< cycle slips of the carrier that were detected and undone
    double frequency;     //!< of the carrier that is removed, cycles per symbol
    float offset;         //!< that is added to float samples
    std::complex<float> image;   //!< of complex samples that is removed, relative to them
    std::complex<float> leakage; //!< the constant that is removed from complex samples
    float echo_delay;     //!< of the strongest echo beyond the taps, symbols; 0: none
    float echo;           //!< its amplitude
    float tone_frequency; //!< of the strongest tone that is removed, cycles per symbol
    float tone;           //!< its amplitude; 0: none
    float
        level; //!< amplitude of the samples over the model's, where it is corrected; else 1
};

//! A bit error rate that is estimated without labels.
struct ber_estimate {
    double ber; //!< NaN: not known
    double low; //!< 95 % interval for as many errors among as many symbols
    double high;
    bool trustworthy;      //!< whether the conditions of docs/adaptation.md hold
    std::string untrusted; //!< the first one that does not, in a few words; or empty
};

/*! \brief Neural-network equalizer that re-trains itself on the signal it receives.
 * \ingroup adann
 *
 * Decides each symbol from the samples around it with a fully-connected network. Without
 * known labels it also trains that network on its decisions, in a thread of its own, the
 * adapter. The method is described in docs/how-it-works.md, which has the latencies.
 *
 * Input 0: float or complex samples, as the model says, at the model's samples per symbol,
 * zero mean and unit power, sample i·sps the middle of symbol i; or feature vectors.
 * Input 1, optional: known labels (byte); 255, or M and more, where not known.
 * Input 2, optional: a priori log-likelihood ratios ln(P(1)/P(0)) of the symbol's bits (log2(M)
 * floats), most significant bit first; see below. It needs input 1 and output 1.
 *
 * Output 0: labels 0 … M-1 (byte); item i belongs to symbol i, on every output.
 * Output 1, optional: posteriors, M floats.
 * Output 2, optional: soft symbol of the samples' type (neighbouring levels differ by 2).
 * With an expected waveform it is the decided point plus the noise on its pulse, twice the
 * waveform's reach later than the network's decision. Without one, or if set so, it is the
 * posterior mean.
 * Output 3, optional: the bit error rate estimated without labels (float), one item per
 * batch, NaN while it is not known.
 *
 * A symbol is decided once its window is complete, half_window symbols later. Tags move
 * from sample j to symbol ⌊(j + ⌊sps/2⌋)/sps⌋, those of known labels to their symbol.
 *
 * Modes: "live": work() never waits; it takes new weights when there are some. Batches that
 * come while the adapter is busy are dropped and counted. Where Linux allows it, the
 * adapter's thread runs at lower priority (nice +10). "lockstep": batch t + 1 is decided with
 * the weights that batch t produced, in work()'s own thread: the same result, to the bit,
 * for the same seed. "off": the network stays as it is. Once little is left to learn, one
 * batch in eight is learnt from.
 *
 * Front filter: a linear filter before the network follows linear changes (echoes, timing,
 * gain) within about a thousand symbols. Its front_filter_length symbols of taps bring the
 * samples back to the waveform that the model expects of the decisions. It needs samples at
 * input 0 and a model with an expected waveform, as `adann train` writes it. Decisions then
 * come front_filter_length / 2 symbols later.
 *
 * With decisions "refined", the default, labels at output 0 are refined by the expected
 * waveform, and come 41 symbols and twice the waveform's reach later, the last ones when the
 * input or a burst ends. That needs the guard, and a model for which `adann train` has not
 * counted clearly more errors after refinement (by 1e-4 of the symbols, or twice as many).
 * Where the waveform's residual is too large the labels are the network's. Estimated error rate
 * and posteriors are those of output 0; soft symbols stay the network's.
 *
 * Known symbols come at input 1, or by the setting known_symbols from patterns that repeat, in
 * frames whose position is found by correlation with the decisions. They replace decisions
 * where front filter and network learn, with every loss, and undo a rotation or a delay of up
 * to four symbols. Other symbols are learnt from as without them, except with the loss
 * "supervised": there the network learns from known symbols only. Labels come out as
 * decided, known or not.
 *
 * A priori ratios at input 2 are what a decoder knows of the bits, its extrinsic output, after an
 * earlier pass over the same samples (turbo equalization); 0 where nothing is known. Labels and
 * posteriors at outputs 0 and 1 go by them. Network, front filter and soft symbols do not, and are
 * as in the earlier pass. A ratio counts as ±20 at most, and as 0 where it is not a number. At
 * input 1 there are 255 then, but for known symbols; the setting known_symbols is not for this.
 *
 * Packets that were decoded and checked come at the message port `known`, as PDUs: a dictionary
 * with `position`, the number of the first symbol (that of its item at output 0), and a u8vector
 * of labels as they were sent, 255 where one is not known. A pair of the number and the u8vector
 * will do, too. Packets may come 2^18 symbols late. Their wrong bits are counted (packet_ber()).
 * The network learns from them, unless they are older than the memory of the front filter's taps
 * or than the latest change of rotation or delay. The front filter undoes a rotation or a delay
 * that they show, except in bursts and while frozen. The samples that this needs are kept from the
 * first packet on, which is not counted itself. A packet that does not fit is refused with a
 * warning; 64 wait at most.
 *
 * Bursts: the setting training_sequence has the labels that each begins with, and the tag
 * training_start_tag is at its first symbol's sample, where digital::corr_est_cc sets it. From
 * that sequence, of 64 symbols for example, the front filter takes its taps and the carrier's
 * phase and frequency, up to 1/32 cycle per symbol, at once. Then it follows the decisions. A
 * false alarm changes nothing. From burst_end_tag, at the first symbol after a burst, to the
 * next burst the network does not learn, and after_burst says what the front filter does. Before
 * the first burst it is the same. A batch begins after each training sequence.
 *
 * Learning rate, sigma and epsilon that are `automatic` are scaled to half the distance h of two
 * neighbours in the unit-power constellation, and to the noise n that the model's expected
 * waveform was trained with: 0.0045 h, min(0.7 n, h·√sps/9) and min(2 n, h·√sps/3), for PAM2 and
 * QPSK min(2 n, h·√sps/6). For refined labels that the waveform explains the learning rate is six
 * times that.
 *
 * Without a model a slicer decides 4096 symbols, then a linear equalizer that is fitted to them
 * blindly, after a front filter that follows carrier and channel. From 32768 symbols on a network
 * decides that the adapter has trained on those decisions, or the linear equalizer if its decisions
 * have the smaller residual. Symbols have to be random, and their carrier within 0.0125 cycles per
 * symbol; without a front filter recovered. Labels are right up to a symmetry of the constellation
 * and a delay by whole symbols, which the signal does not show. While the residual of such a start is large others are tried, and one whose
 * labels have less than half the residual power replaces it. Each stage is a `status` event,
 * "start".
 *
 * Known symbols resolve rotation and delay of such a start: labels at input 1, or a training
 * sequence of 40 symbols or more at each training_start_tag. With two known symbols or more for
 * each sample of the window (four for real points in complex samples, and for OQPSK) the linear
 * equalizer is fitted to these, from the batch on that has them; labels that do not match the
 * samples count as not known. With a training sequence all this begins at the first tag, and anew
 * after each burst_end_tag, so that packets need a model.
 *
 * The guard has three networks: the offline one, the one that adapts, and a copy of that from
 * when it was good. The one decides whose decisions have the smallest residual from the model's
 * expected waveform. Training starts over from it when the adapting one is surely worse. Without
 * such a waveform the adapting one decides, unless its error rate, as estimated without labels, is
 * more than twice the offline one's. Adaptation pauses, and the last good network decides, while
 * the signal is constant, newly saturated, noise by its kurtosis, or decided into patterns that
 * random data does not show (absent, idle, another modulation). The guard needs a model with an
 * expected waveform or of known error rate, as `adann train` writes it.
 *
 * Pattern balance assumes scrambled data, uniform and independent from symbol to symbol: set its
 * weight to 0 for a link whose payload is not. That also switches off the correction of missing
 * classes and the guard's test of patterns.
 *
 * A checkpoint is a model file with the rest of the equalizer's state: optimizer, noise generator,
 * guard, counters. An equalizer made from one continues, in lockstep as if it had never ended;
 * seed then has no effect. Batch, loss, rates and average may be others than before, another
 * optimizer is refused. With `checkpoint` set, one is written there each `checkpoint_interval`
 * seconds and when the flowgraph stops, without delaying work(). It may be the file that `model`
 * names. After a rollback the latest batches are next to it, in `.rollback.safetensors`, for
 * `adann replay`.
 *
 * The message (load . path) loads another model file or checkpoint of the same signal: the same
 * constellation, sps, half_window and complex, with an expected waveform or without as before. The
 * adapter's thread reads it, never work(). It takes over where a batch begins, with a front filter
 * and counts of its own; no label is lost or repeated. What does not fit is refused and changes
 * nothing.
 *
 * A sample that is NaN, infinite or beyond ±1000 costs the decisions whose windows have it (any
 * label, some finite posteriors) and the adaptation step of its batch, and nothing after that.
 *
 * Message port `status`: a dictionary per step (in the mode "live" at most 20 a second) and per
 * change of state, with:
 * - event: "start", "step", "frozen", "unfrozen", "paused", "resumed", "rollback", "reset",
 *   "saved", "loaded", "refused", "error"; detail: the reason, or a path;
 * - decided (symbols since the start, up to the end of the batch), step (batches taken), updates,
 *   rejected, dropped, queued (batches not yet trained on, that of this step included); loss and
 *   confidence (mean largest posterior) of a step;
 * - ber, ber_low, ber_high, trustworthy and untrusted (estimated without labels, from the first
 *   4096 symbols on, see ber_estimate), network (offline, adaptive or last good: the one that
 *   decides), rollbacks, refined (whether decisions are refined);
 * - with a front filter tracking (following, doubtful, lost or trained, see front_filter_state),
 *   memory (symbols, 0: the identity), residual (dB), mer (modulation error ratio, dB: -residual),
 *   evm (error vector magnitude: rms error over the rms of the signal), filter_resets, cycle_slips,
 *   frequency (cycles per symbol), bursts, leakage (dB); once removed, level, image, echo, tone (dB),
 *   echo_delay (symbols) and tone_frequency (cycles per symbol);
 * - with known_symbols known_position; with packets packets, packet_bits, packet_errors and
 *   packet_ber.
 * Training that starts over again and again from the same network is one event.
 *
 * Message port `control`: the symbols freeze, resume and reset (to the offline network), a pair, or
 * a dictionary of them: (freeze . bool), (front_filter . bool), (learning_rate . x), (sigma . x)
 * and (epsilon . x), where () is automatic, (loss . name), (save . path), which writes a
 * checkpoint, and (load . path); 0 and 1 are booleans, too.
 *
 * Source: the paper, Section II, Fig. 2 and Algorithm 2.
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
    /*! Without a model, from the first symbols on: see above. Continues from the checkpoint that
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
    //! From "supervised" to another loss, or from another to it, is refused.
    virtual void set_loss(const std::string& loss) = 0;
    //! Stops (true) or resumes learning; what was learnt stays in use.
    virtual void set_frozen(bool frozen) = 0;
    //! Has the front filter follow (true, as at first), or pass samples unchanged.
    virtual void set_front_filter(bool follows) = 0;

    virtual std::uint64_t steps() const = 0; //!< batches that the adapter has taken
    virtual std::uint64_t
    updates() const = 0; //!< of them, those that changed the weights
    virtual std::uint64_t
    rejected() const = 0; //!< of them, the others: not usable, or in a pause
    virtual std::uint64_t dropped() const = 0; //!< batches that found the adapter busy
    virtual std::uint64_t queued() const = 0;  //!< batches that wait for the adapter now
    //! Times that training started over from better weights.
    virtual std::uint64_t rollbacks() const = 0;
    //! Of the labels at output 0; not known without guard, and before the first 4096 symbols.
    virtual ber_estimate estimated_ber() const = 0;
    //! Its bit error rate alone; NaN: not known.
    virtual double estimated_bit_error_rate() const = 0;
    //! Which network decides: offline, adaptive, last good; linear until a start without a model has
    //! found one.
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
