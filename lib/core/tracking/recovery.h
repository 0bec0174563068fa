/* -*- c++ -*- */
/*
 * How a stream that is lost finds back, and how it is seen to be.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/blind_decisions.h"
#include "core/tracking/ambiguity.h"
#include "core/tracking/belief.h"
#include "core/tracking/judge.h"
#include "core/tracking/label_power.h"
#include "core/tracking/label_variety.h"
#include "core/tracking/last_channel.h"
#include "core/tracking/resumption.h"
#include "core/tracking/retry_schedule.h"
#include "core/tracking/timing_search.h"
#include "core/tracking/tracked_stream.h"

#include <gnuradio/adann/words.h>

#include <array>

namespace gr::adann::core {

//! What a recovery knows of its stream.
enum class recovery_state {
    following,   //!< its decisions explain the samples
    doubtful,    //!< they do so again after a loss, but may be late or rotated
    interrupted, //!< its residual exceeds the limit, which no test has confirmed yet
    lost, //!< confirmed by a test, by a pause, or by exceeding the limit while doubtful
    degraded, //!< lost by a test, but decisions without the filter are clearly worse: its own are used
    trained //!< a training sequence has set the taps: nothing is tested until a reset
};
constexpr std::size_t recovery_states = 6;

//! The state as the status reports it: status_of().
enum class tracking_state {
    following, //!< its decisions explain the samples
    doubtful,  //!< so they do again, but after a loss they may be late or rotated
    lost, //!< they do not; once a test has confirmed it, the filter's output is not used
    trained, //!< started by a training sequence: nothing supervises it until the burst's end
};
constexpr std::array<word<tracking_state>, 4> words(tracking_state)
{
    return { { { tracking_state::following, "following" },
               { tracking_state::doubtful, "doubtful" },
               { tracking_state::lost, "lost" },
               { tracking_state::trained, "trained" } } };
}
//! \param exceeds whether the residual exceeds the limit, which may be between two updates
tracking_state status_of(recovery_state state, bool exceeds);

//! What may happen to it.
enum class recovery_event {
    exceeds,  //!< an update: the residual exceeds the limit
    passes,   //!< an update: it does not
    explains, //!< a test: the residual is below the limit
    unexplained, //!< a test: it is below, but too few different labels explain the samples, and badly
    settles,      //!< a test: it is, and labels are neither late nor rotated
    fails,        //!< a test: the residual exceeds the limit
    stays_better, //!< a test: it does, but that without the filter is clearly larger
    starts,       //!< the taps start over, or from a hypothesis
    known,        //!< labels are known
    trains,       //!< a training sequence has set the taps
    resets        //!< the owner wants it
};

//! The state after an event: the table at recovery.
recovery_state after(recovery_state before, recovery_event event);

//! Labels that may be those of the latest symbols.
struct hypothesis {
    enum class source {
        present, //!< the stream's own, which may be late or rotated
        level,   //!< decided at the constellation's power
        timing,  //!< decided at another sampling instant and phase
        blind    //!< by an equalizer that needs no decision
    };
    source from;
    const std::uint8_t* labels; //!< of the latest n symbols
    std::size_t n;
    signal_planes samples; //!< of judge::symbols, without their carrier
    float most;            //!< residual that taps which start from them may have
    bool rotates = false;  //!< whether the carrier is found from them, with the taps

    //! Whether the carrier's phase is the one extrapolated from the latest confirmed test.
    bool has_settled_phase() const
    {
        return from == source::timing || from == source::blind;
    }
};

/*! Supervises a filtered stream.
 *
 * The limit of the residual is what the model learnt as noise and three quarters of what decisions
 * at random have as a residual. A single block beyond it, of more than twice the mean residual, exceeds
 * it as well, but not while the phase is searched: there the phase ran away for some symbols, which the
 * search mends. A block below half of it does not, whatever the mean: a burst of noise has passed. Every
 * judge::symbols symbols while the stream is not following, else every tested_every, a test compares its
 * labels with those that the network
 * makes of the samples as they came in (judge.h). After an event the state is:
 *
 *     before       exceeds      passes     explains   unexplained  settles, known  fails  stays_better  starts
 *     following    interrupted  following  following  doubtful     following       lost   degraded      doubtful
 *     doubtful     lost         doubtful   doubtful   doubtful     following       lost   degraded      doubtful
 *     interrupted  interrupted  following  following  doubtful     following       lost   degraded      doubtful
 *     lost         lost         lost       doubtful   doubtful     following       lost   degraded      doubtful
 *     degraded     degraded     degraded   doubtful   doubtful     following       lost   degraded      doubtful
 *
 * `trains` goes from each to trained, which only `resets` ends; that goes from each to following.
 * Decisions are used unless the state is lost, or in a pause: while it is interrupted, a burst of noise may have
 * passed that the taps are not changed by, and the network without them may have become far worse. A lost stream is
 * decided by the remembered taps and carrier after a gap, unless a test found the network's decisions of the unfiltered
 * samples clearly better; without a gap by these. Remembered are those of the latest block that was explained
 * (resumption.h).
 *
 * In any state but following each block is decided by the remembered taps after the update. If that explains it, the
 * stream goes on from there: after a gap, or where a carrier's phase may have run away.
 *
 * Every way back is a hypothesis: labels for the latest symbols. By one rule it is believed if its
 * residual is clearly less, under half, than that of the present labels and that of the unfiltered
 * samples' labels (belief.h). Each is the residual of the received samples relative to the expected
 * waveform through a fitted channel. Taps and carrier then start from the labels. What is proposed:
 *
 * - level: the latest symbols decided at the constellation's power, where the power of the labels
 *   is surely another one (label_power.h); after the taps in use, or the remembered ones.
 * - timing: after a loss, the latest symbols decided by the remembered taps, at another sampling
 *   instant and phase (timing_search.h): samples were lost, or the phase has jumped.
 * - blind: after a loss, ever more rarely, what a linear equalizer makes of the latest samples
 *   alone (blind_decisions.h).
 * - present: the stream's own labels, of which a loss may have left some late or rotated. The
 *   displacement that brings their channel nearest to the one before the loss (last_channel.h) is
 *   believed if two tests find the same.
 *
 * Delay and rotation of level and blind are found from the channel as well.
 *
 * Labels that are those without the filter, but late or rotated, are a slip unless the channel has
 * walked there: a symbol clock that is off moves it by less than half a symbol from test to test, and
 * labels stay in step as far as the taps reach. Where nothing is believed for
 * tested_every symbols, or the judge finds the filter to be the worse one, the taps start over:
 * from a carrier's line if there is one (carrier_follower.h), else from doing nothing. */
class recovery
{
public:
    //! Symbols between two tests while it is following, and until a lost one starts over.
    static constexpr std::size_t tested_every = retry_schedule::tested_every;
    //! That are decided without a model.
    static constexpr std::size_t blind_symbols = retry_schedule::blind_symbols;
    /*! \param stream that is supervised: it keeps symbols_needed() symbols, and the taps' and a
     * window's samples before them */
    recovery(const tracked_stream& stream,
             std::shared_ptr<const expected_waveform> waveform,
             const constellation& alphabet);
    static std::size_t symbols_needed(const expected_waveform& waveform)
    {
        return blind_symbols + tracked_stream::block + 4 * waveform.reach();
    }

    recovery_state state() const { return d_state; }
    //! Whether decisions from the filter's output are used.
    bool is_used() const { return d_state != recovery_state::lost && !d_by_remembered; }
    //! Whether nothing explains the samples: decisions are those by taps and carrier of when it was followed, for
    //! want of better ones, and do not do so either.
    bool is_unexplained() const { return d_by_remembered && !d_resumption.explains(); }
    /*! The windows that the next symbols of a stream are decided from while is_used() is false.
     * \param position symbols since the latest update \param memory they are valid as long as it is */
    feature_view lost_windows(tracked_stream& stream,
                              std::size_t n,
                              std::size_t position,
                              aligned_floats& memory);
    //! Whether they explain the samples, too: their residual is below the limit.
    bool explains(const tracked_stream& stream) const
    {
        return is_used() && !exceeds(stream);
    }
    tracking_state status(const tracked_stream& stream) const
    {
        return status_of(d_state, exceeds(stream));
    }
    float limit() const { return d_limit; }           //!< lost_limit()
    std::uint64_t resets() const { return d_resets; } //!< starts of the taps

    /*! Tests the latest symbols if it is time.
     * \param blocks of decided symbols since the latest call
     * \param may_start whether taps may start from labels: not while a training sequence is to come */
    void supervise(tracked_stream& stream,
                   const network_decider& decides,
                   std::size_t blocks,
                   bool may_start);
    //! After an update of the taps.
    void check(const tracked_stream& stream);
    //! After check(): remembers a followed stream; another one goes on from then, if that explains the latest block.
    void remember_or_resume(tracked_stream& stream,
                            const network_decider& decides,
                            bool may_start);
    //! Labels are known.
    void note_known_symbols();
    //! Symbols that became known show this one: resolve() undoes it.
    void report(displacement by) { d_reported = by; }
    //! Times that delay or rotation may have changed.
    std::size_t changes() const { return d_changes; }
    //! Times that taps have started from labels whose delay or rotation was corrected.
    std::size_t corrections() const { return d_corrections; }
    /*! Undoes a rotation or a delay that known symbols show.
     * \param blocks,may_start as supervise() has them */
    void resolve(tracked_stream& stream, std::size_t blocks, bool may_start);
    //! A training sequence has set the taps.
    void train();
    //! Back to taps that do nothing, of a link that nothing is known of.
    void reset(tracked_stream& stream);
    //! Samples are multiplied by so much more from here on. The stream is lost, unless it has never settled.
    void change_level(tracked_stream& stream, float by);
    //! Another stream comes: none of its samples has been tried blindly.
    void forget_tries() { d_schedule.forget_loss(); }

    void state(archive& members);

private:
    //! What became of a proposal.
    enum class outcome { open, settled, started };

    void apply(recovery_event event);
    bool was_lost() const;
    bool exceeds(const tracked_stream& stream) const;
    void test(tracked_stream& stream, const network_decider& decides, bool may_start);
    bool goes_back(const tracked_stream& stream, const resumption::tried& held) const;
    void note_signal();
    void choose_lost(tracked_stream& stream, const network_decider& decides);
    judge::verdict compare(tracked_stream& stream, const network_decider& decides);
    void find_echoes(tracked_stream& stream);
    void fit_latest(const tracked_stream& stream);
    outcome settle(tracked_stream& stream, bool may_start);
    void forget(tracked_stream& stream);
    void forget_loss();
    void forget_tests();

    bool propose_at_level(tracked_stream& stream,
                          const network_decider& decides,
                          bool may_start);
    feature_view at_level(tracked_stream& stream, const float* taps);
    bool propose_timing(tracked_stream& stream,
                        const network_decider& decides,
                        bool may_start);
    bool propose_blindly(tracked_stream& stream, bool may_start);
    bool is_believed(const tracked_stream& stream, const hypothesis& proposed);
    bool is_as_usual() const;
    bool
    start(tracked_stream& stream, const hypothesis& proposed, const displacement& by);
    void start_from(tracked_stream& stream, const carrier_line::line& found);
    void start_over(tracked_stream& stream);

    signal_planes derotated(const tracked_stream& stream) const;
    bool has_unusual_power(const tracked_stream& stream) const;
    displacement displaced(const tracked_stream& stream) const;

    std::vector<std::vector<std::uint8_t>> d_symmetries;
    float d_limit;     // of the mean square residual
    float d_random;    // residual of random decisions
    float d_at_random; // and with the noise
    judge d_judge;
    ambiguity d_ambiguity;
    displacement d_reported; // by symbols that were known late
    std::size_t d_changes = 0, d_corrections = 0;
    last_channel d_channel; // when it was last settled
    label_power d_power;
    label_variety d_variety; // of a test
    timing_search d_timing;
    std::shared_ptr<blind_decisions> d_blind; // copies share it: it keeps nothing
    std::size_t d_blind_taps;

    recovery_state d_state = recovery_state::following;
    retry_schedule d_schedule;
    displacement d_displaced;     // of its labels at the latest test since it was lost
    resumption d_resumption;      // taps and carrier of when it was followed
    bool d_by_remembered = false; // whether it is decided by these
    // Of this loss: whether the latest test found the decisions of unfiltered samples better than those by the
    // remembered taps; whether the taps in use are from labels or from a line.
    bool d_unfiltered_is_better = false, d_has_started = false;
    float d_usual = 0; // the residual then, by the judge; 0: never yet
    std::uint64_t d_resets = 0;

    // Nothing outlives a test in these.
    planes d_blind_samples, d_derotated; // without their carrier
    planes d_residual;                   // without the filter
    std::vector<std::uint8_t> d_unfiltered_labels, d_at_level, d_proposed; // labels
    aligned_floats d_windows;
};

} // namespace gr::adann::core
