/* -*- c++ -*- */
/*
 * How a stream that is lost finds back, and how it is seen to be.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/ambiguity.h"
#include "core/tracking/blind_search.h"
#include "core/tracking/filter_benefit.h"
#include "core/tracking/hypothesis.h"
#include "core/tracking/label_evidence.h"
#include "core/tracking/last_channel.h"
#include "core/tracking/level_search.h"
#include "core/tracking/lost_decisions.h"
#include "core/tracking/noise_level.h"
#include "core/tracking/recovery_state.h"
#include "core/tracking/retry_schedule.h"
#include "core/tracking/timing_search.h"
#include "core/tracking/tracked_stream.h"

namespace gr::adann::core {

/*! Supervises a filtered stream.
 *
 * The limit of the residual is the noise (noise_level.h) and three quarters of what decisions
 * at random have as a residual. A single block beyond it, of more than twice the mean residual, exceeds
 * it as well, but not while the phase is searched: there the phase ran away for some symbols, which the
 * search mends. A block below half of it does not, whatever the mean: a burst of noise has passed. Every
 * judge::symbols symbols while the stream is not following, else every tested_every, a test compares its
 * labels with those that the network makes of the samples as they came in (label_evidence.h). What follows
 * from the residual and from a test is a table: recovery_state.h.
 *
 * Decisions are used unless the state is lost, in a pause, or where the filter makes them worse (filter_benefit.h).
 * They are while it is interrupted: a burst of noise may have passed that the taps are not changed by, and the network
 * without them may have become far worse. What decides otherwise, and when a stream goes on from when it was followed:
 * lost_decisions.h.
 *
 * Every other way back, but for starting over, is a hypothesis: labels for the latest symbols, from which taps and
 * carrier start. The first three are believed by one rule, label_evidence::is_believed():
 *
 * - level: the latest symbols decided at the constellation's power, where the power of the labels
 *   is surely another one (level_search.h); after the taps in use, or the remembered ones.
 * - timing: after a loss, the latest symbols decided by the remembered taps, at another sampling
 *   instant and phase (timing_search.h): samples were lost, or the phase has jumped.
 * - blind: after a loss, ever more rarely, what a linear equalizer makes of the latest samples
 *   alone (blind_search.h).
 * - present: the stream's own labels, of which a loss may have left some late or rotated. The
 *   displacement that brings their channel nearest to the one before the loss (last_channel.h) is
 *   believed if two tests find the same.
 *
 * Delay and rotation of level and blind are found from the channel as well.
 *
 * Labels that are those without the filter, but late or rotated, are a slip unless the channel has
 * walked there: a symbol clock that is off moves it by less than half a symbol from test to test, and
 * labels stay in step as far as the taps reach. Where no hypothesis is believed in tests of
 * tested_every symbols in which the filter's decisions are not used, or the judge finds the filter to be the worse one,
 * the taps start over:
 * from a carrier's line if there is one (carrier_follower.h), else from doing nothing. */
class recovery
{
public:
    //! Symbols between two tests while it is following, and until a lost one starts over.
    static constexpr std::size_t tested_every = retry_schedule::tested_every;
    /*! \param stream that is supervised: it keeps symbols_needed() symbols, and the taps' and a
     * window's samples before them */
    recovery(const tracked_stream& stream,
             std::shared_ptr<const expected_waveform> waveform,
             const constellation& alphabet);
    static std::size_t symbols_needed(const expected_waveform& waveform)
    {
        return blind_search::symbols + tracked_stream::block + 4 * waveform.reach();
    }

    recovery_state state() const { return d_state; }
    //! Whether decisions from the filter's output are used.
    bool is_used() const { return is_followed() && !d_benefit.is_harmful(); }
    //! Whether nothing explains the samples: decisions are those by taps and carrier of when it was followed, for
    //! want of better ones, and do not do so either.
    bool is_unexplained() const { return d_lost.are_unexplained(); }
    //! The taps that the next symbols are decided by; null: none, the samples are decided as they came in.
    const float* taps(const tracked_stream& stream) const;
    //! Time constant of these, symbols, or the number of symbols that remembered ones were learnt from; 0: none.
    std::size_t memory(const tracked_stream& stream) const;
    /*! The windows that the next symbols of a stream are decided from while is_used() is false.
     * \param position symbols since the latest update \param scratch they are valid as long as it is */
    feature_view lost_windows(tracked_stream& stream,
                              std::size_t n,
                              std::size_t position,
                              aligned_floats& scratch)
    {
        return d_lost.windows(stream, n, position, scratch);
    }
    //! Whether the filter's decisions explain the samples, with a residual below the limit.
    bool explains(const tracked_stream& stream) const
    {
        return is_followed() && !exceeds(stream);
    }
    tracking_state status(const tracked_stream& stream) const
    {
        return status_of(d_state, exceeds(stream));
    }
    float limit() const { return d_noise.limit(); } //!< of the residual
    //! Whether the stream has more noise than the model was trained with.
    bool has_more_noise() const { return d_noise.is_raised(); }
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
    //! The labels of so many symbols are known.
    void note_known_symbols(std::size_t symbols);
    //! The filter is used again, if it was found to be harmful.
    void forget_benefit();
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
    bool is_followed() const
    {
        return d_state != recovery_state::lost && !d_lost.are_remembered();
    }
    bool was_lost() const;
    bool exceeds(const tracked_stream& stream) const;
    void test(tracked_stream& stream, const network_decider& decides, bool may_start);
    void test_noise(tracked_stream& stream);
    void test_unfiltered_noise(tracked_stream& stream);
    bool are_displaced(const tracked_stream& stream);
    void compare_benefit(const tracked_stream& stream, judge::verdict found);
    void find_echoes(tracked_stream& stream);
    outcome settle(tracked_stream& stream, bool may_start);
    void forget(tracked_stream& stream);
    void forget_loss();
    void forget_tests();

    bool propose_at_level(tracked_stream& stream,
                          const network_decider& decides,
                          bool may_start);
    bool propose_timing(tracked_stream& stream,
                        const network_decider& decides,
                        bool may_start);
    bool propose_blindly(tracked_stream& stream, bool may_start);
    bool
    start(tracked_stream& stream, const hypothesis& proposed, const displacement& by);
    //! From its own decisions, which are late or rotated by this; it is found then.
    bool start_from_present(tracked_stream& stream, displacement by);
    void start_from(tracked_stream& stream, const carrier_line::line& found);
    void start_over(tracked_stream& stream);
    displacement displaced(const tracked_stream& stream) const;

    std::vector<std::vector<std::uint8_t>> d_symmetries;
    noise_level d_noise;
    label_evidence d_evidence;
    ambiguity d_ambiguity;
    displacement d_reported; // by symbols that were known late
    std::size_t d_changes = 0, d_corrections = 0;
    last_channel d_channel; // when it was last settled
    level_search d_level;
    timing_search d_timing;
    blind_search d_blind;

    recovery_state d_state = recovery_state::following;
    retry_schedule d_schedule;
    displacement d_displaced; // of its labels at the latest test since it was lost
    lost_decisions d_lost;
    filter_benefit d_benefit;
    std::uint64_t d_resets = 0;

    // Nothing outlives a test in these.
    planes d_residual;                    // without the filter
    aligned_floats d_samples;             // of complex streams: rotated, or as received
    std::vector<std::uint8_t> d_proposed; // labels
};

} // namespace gr::adann::core
