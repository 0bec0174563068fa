/* -*- c++ -*- */
/*
 * A filter before the network that follows what is linear: echoes, timing, gain.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/network/decider.h"
#include "core/network/model.h"
#include "core/signal/blind_decisions.h"
#include "core/signal/expected_waveform.h"
#include "core/signal/known_symbols.h"
#include "core/signal/windows.h"
#include "core/tracking/acquisition.h"
#include "core/tracking/ambiguity.h"
#include "core/tracking/carrier.h"
#include "core/tracking/carrier_line.h"
#include "core/tracking/hindsight.h"
#include "core/tracking/judge.h"
#include "core/tracking/label_power.h"
#include "core/tracking/last_channel.h"
#include "core/tracking/phase_search.h"
#include "core/tracking/soft_decisions.h"
#include "core/tracking/tap_bank.h"

#include <gnuradio/adann/words.h>

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace gr::adann::core {

struct front_filter_settings {
    unsigned length = 12; //!< symbols that the taps span, 1 to 64
    //! Symbols that least squares look back, increasing, 64 to 10^7; 1 to 8 of them.
    std::vector<std::size_t> memories{ 128, 256, 512, 2048, 8192, 65536 };

    //! \throws std::invalid_argument naming the setting that is out of range
    void check() const;
};

//! What a front filter knows of its own signal.
enum class tracking_state {
    following, //!< its decisions explain the samples
    doubtful,  //!< so they do again, but after a loss they may be late or rotated
    lost,      //!< they do not; the network decides the samples as they come in
    trained, //!< started by a training sequence: nothing supervises it until the burst's end
};
constexpr std::array<word<tracking_state>, 4> words(tracking_state)
{
    return { { { tracking_state::following, "following" },
               { tracking_state::doubtful, "doubtful" },
               { tracking_state::lost, "lost" },
               { tracking_state::trained, "trained" } } };
}

//! What a front filter is doing.
struct front_filter_status {
    tracking_state state = tracking_state::following;
    std::size_t memory = 0; //!< of the taps in use, in symbols; 0: they do nothing
    /*! Mean square of what the expected waveform leaves of a filtered sample, predicted,
     * over the latest few blocks; samples have unit power. NaN before the first block. */
    float residual = std::numeric_limits<float>::quiet_NaN();
    std::uint64_t resets = 0; //!< times that it started over
    std::uint64_t slips = 0;  //!< cycle slips of the carrier that were seen, and undone
    float phase = 0;          //!< that is taken out of complex samples, radians
    float frequency = 0;      //!< that it turns with, turns a symbol
    std::uint64_t bursts = 0; //!< training sequences that it took its taps from
    float offset = 0;         //!< that it adds to float samples
};

/*! Brings a stream of samples to the expected waveform of what is decided from it.
 *
 * Each sample is filtered once, with the taps that are current when a decision needs it
 * first, so there is one filtered stream: windows are taken from it, and what a network
 * learns from. After every `block` symbols, counted from the first one, the taps are
 * brought to the least squares between the samples and the waveform that is expected of
 * the decisions (tap_bank.h); while nothing moves, after up to `most_apart` blocks, from the
 * latest one. The result is the same to the bit, however the stream is
 * cut into calls. Nothing is allocated after construction, nor by the assignment of one
 * to another that was made alike.
 *
 * Complex samples are then rotated back by the carrier's phase (carrier.h), which turns
 * faster than the taps can follow; the taps aim at the waveform with that phase. While what turns is
 * surely a carrier, constellations whose decisions do not bear any phase are decided at several
 * (phase_search.h); what is learnt from are the labels that are believed, turned by what the
 * carrier's prediction left, and the filter is lost by what is left whatever the phase. A filter
 * that is lost looks for a carrier that is too fast to be pulled in (carrier_line.h), and
 * with one that was found the taps hand over what they turn by themselves; one
 * that is not compares every `judged_every` symbols how far the phase has gone with how
 * far the line's frequency takes it, and undoes cycle slips, where that foretells it.
 * Without a carrier its phase is measured as rarely as the taps are updated.
 *
 * Where decisions are uncertain the taps and the carrier aim at posterior means in their place
 * (soft_decisions.h), so that links with raw error rates of 1 to 20 % are followed too. Decisions of a
 * filter that is lost, or of a burst, count as sure.
 *
 * What is wanted is the waveform with the noise that was in the samples the model was
 * trained on (normal_equations::want()): on such a link the taps do nothing, where
 * plain least squares would shrink and smooth.
 *
 * Every `judged_every` symbols, without a carrier every four updates if that is longer, a
 * judge (judge.h) compares the latest decisions with those that the network makes of the
 * samples as they came in; if the filter is the worse one, or has come to lie a symbol or a
 * quarter turn aside, it starts over from doing nothing.
 *
 * When the latest blocks leave three quarters of what decisions at random would, or one does
 * and leaves some three times as much as those before it, the filter is lost: after a jump,
 * in noise, in another signal. Then the decisions are those of the samples as they came in,
 * as if there were no filter; behind it, it goes on learning from its own ones, starting over
 * every `judged_every` symbols, and is in use again when it is no longer lost, or leaves less
 * than half of what the others leave. Meanwhile a linear equalizer that needs no decision
 * (blind_decisions.h) looks at the latest `blind_symbols`, soon after the loss and then ever
 * more seldom, 4096 symbols apart at most. If the judge says that its labels leave less than
 * half of what the network's do, the taps start from them. By how much they are displaced, or
 * those of a filter that found back by itself, the channel tells that there was before the
 * loss (last_channel.h). All that goes on until the labels have been compared with it.
 *
 * Labels that surely do not have the constellation's power (label_power.h) and explain little are
 * those of a signal whose level has stepped, if the latest symbols, decided at that power, leave less
 * than half: then the taps start from these.
 *
 * A training sequence, train(), sets taps and carrier at once (acquisition.h), whatever they
 * were: that of a burst, from a channel unknown before. If its symbols are not there, which
 * leaves as much as to be lost, nothing changes. Behind one there is neither judge nor being
 * lost, as decisions without the filter mean nothing, until reset().
 *
 * A sample that is not usable (all_usable()) comes out as NaN; it counts as zero in what
 * its neighbours become, and its block is not learnt from. */
class front_filter
{
public:
    static constexpr std::size_t block = 64;     //!< symbols between two updates
    static constexpr std::size_t most_apart = 4; //!< blocks from an update to the next
    static constexpr std::size_t judged_every = 16 * block;
    static constexpr std::size_t blind_symbols =
        512; //!< that are decided without a model
    //! Symbols of a training sequence at most.
    static constexpr std::size_t most_training = 192;
    //! … and at least: those at its ends, whose neighbours are not known, serve these only.
    static std::size_t least_training(const expected_waveform& waveform)
    {
        return 16 + 2 * waveform.reach();
    }

    /*! \param behind it: a model with an expected waveform, whose network decides
     * \throws std::invalid_argument naming the setting that is out of range, or if there is
     * no waveform */
    front_filter(const model& behind, const front_filter_settings& settings = {});

    std::size_t taps() const { return d_taps; } //!< odd
    //! Samples that it looks at on each side.
    std::size_t reach() const { return d_taps / 2; }
    static std::size_t reach(std::size_t length, std::size_t sps)
    {
        return length * sps / 2;
    }
    /*! Floats of a window of samples that comes in: what the network's window has, and
     * reach() samples on each side of it. */
    std::size_t dimension() const
    {
        return d_window.dimension() + 2 * reach() * d_window.floats_per_sample();
    }
    //! Blocks from one update to the next, 1 to most_apart: the more, the less the link moves.
    std::size_t apart() const { return d_in_use && !is_lost() ? d_bank.apart() : 1; }
    //! Symbols up to the next update, the carrier's step or the end of the training sequence:
    //! the most that filter() may be given.
    std::size_t left() const
    {
        const std::size_t step =
            d_position ? d_step - d_position % d_step : next_pace().step;
        return d_untrained ? std::min(step, d_untrained) : step;
    }

    /*! Filters what the next symbols' windows need.
     * \param windows at most left(), of dimension() and the window's stride
     * \return the network's windows: filtered ones, or, while the filter is lost, as they
     * came in; valid until the next call */
    feature_view filter(const feature_view& windows);

    /*! Takes the labels of filter()'s symbols, all of them, as they were decided.
     * \param known null, or of each symbol what it is known to be, not_known where it is not. What is
     * learnt from is that; blocks that are known wholly need no judge
     * \param decides,net the network behind it: the judge has some symbols decided without
     * the filter, and while the filter is lost it has its own decided */
    void decided(const std::uint8_t* labels,
                 const std::uint8_t* known,
                 std::size_t n,
                 decider& decides,
                 const prepared_network& net);
    //! The same with labels that nothing is learnt from.
    void hold(const std::uint8_t* labels, std::size_t n);
    /*! Behind decided(): the symbols of a step that has ended, and twice the waveform's reach
     * before; of the latest, as many as it reaches, the phase is foretold. */
    hindsight latest() const;

    /*! The next n symbols are these, if what comes agrees with them.
     * \param n least_training() to most_training */
    void train(const std::uint8_t* labels, std::size_t n);

    //! Back to doing nothing.
    void reset();

    /*! What comes next may go on from the samples that have come or be another stream:
     * the samples themselves tell. The taps stay. */
    void start() { d_starts = true; }

    //! (planes, taps()): what each sample around is multiplied with, the earliest first.
    signal_planes in_use() const
    {
        const float* taps = d_in_use ? d_bank.taps() : d_nothing.data();
        return { taps, d_planes == 2 ? taps + d_sums.pitch() : nullptr };
    }
    tracking_state state() const
    {
        if (d_acquired)
            return tracking_state::trained;
        if (!d_in_use || is_lost())
            return tracking_state::lost;
        return d_was_lost ? tracking_state::doubtful : tracking_state::following;
    }
    front_filter_status status() const
    {
        return { state(),
                 d_in_use ? d_bank.memory() : 0,
                 std::max(d_bank.residual(), 0.0f),
                 d_resets,
                 d_slips,
                 d_carrier ? d_carrier->phase() : 0,
                 d_carrier ? d_carrier->frequency() : 0,
                 d_bursts,
                 d_planes == 1 ? in_use().re[d_taps] : 0 };
    }

    void state(archive& members);

private:
    front_filter(const expected_waveform& waveform,
                 const window_geometry& window,
                 const constellation& symbols,
                 const front_filter_settings& settings);

    //! In symbols.
    struct pace {
        std::size_t update; //!< from one update to the next
        std::size_t step;   //!< that is filtered at once: the carrier's, or all
    };
    pace next_pace() const;
    std::size_t sample(std::size_t symbol) const { return symbol * d_window.sps(); }
    void load(const feature_view& windows);
    bool goes_on(const feature_view& windows) const;
    void forget_samples();
    void run(std::size_t first, std::size_t n);
    void make_room();
    bool note(const std::uint8_t* labels, const std::uint8_t* known, std::size_t n);
    bool knows(std::size_t symbol) const
    {
        return is_known(d_truth[symbol], d_waveform->classes());
    }
    std::size_t not_known_in(std::size_t symbol, std::size_t n) const;
    bool resolve(std::size_t blocks);
    void relabel(std::size_t symbol, const std::uint8_t* labels, std::size_t n);
    std::size_t due();
    void follow_carrier(decider& decides, const prepared_network& net);
    bool has_carrier() const;
    void search(decider& decides, const prepared_network& net);
    void begin_search(std::size_t middle);
    void decide_at_angles(decider& decides, const prepared_network& net, float later);
    void measure_phases();
    //! Whether decisions count as sure: in bursts, whose taps are rougher than the model's noise, and of
    //! a filter that is lost.
    bool is_hard() const { return d_acquired || !d_in_use || is_lost(); }
    float follow_slope(float latest);
    void soften(std::size_t symbol, std::size_t n);
    void look_back(decider& decides, const prepared_network& net);
    feature_view turned(std::size_t n) const;
    void update(std::size_t blocks);
    void hold_phase();
    const float* interleaved(std::size_t first, std::size_t n);
    feature_view own_windows(std::size_t n) const;
    /*! Mean square that is left when the filter is lost: the learnt noise, and three quarters of what
     * decisions at random leave; but more than the noise itself scatters: over the nine blocks that
     * residual() averages by 1/24, or 1/17 of float samples. A third is 8 or 6 of these. */
    float lost() const { return d_noise + std::max(0.75f * d_chance, d_noise / 3); }
    bool is_lost() const;
    void look(decider& decides, const prepared_network& net);
    judge::verdict compare(decider& decides, const prepared_network& net);
    void start_over();
    void mind_carrier(bool settled);
    float turned_by(std::size_t symbol) const;
    bool foretells(double beside, double step);
    bool begin_with_carrier(double coherence = 0);
    bool acquire();
    bool begin_from_training(std::size_t end, bool finds_carrier, float most);
    double good_phase() const;
    void turn_good(planes& samples, std::size_t first, std::size_t n, double way) const;
    signal_planes still(std::size_t owned) const;
    bool begin_at_level(decider& decides, const prepared_network& net);
    feature_view at_level(const float* taps, std::size_t first, std::size_t n);
    bool begin_blindly();
    bool believe(const signal_planes& samples, const std::uint8_t* labels, std::size_t n);
    bool has_unusual_power() const;
    bool settle();
    displacement displaced() const;
    bool begin_in_phase(const std::uint8_t* labels,
                        std::size_t n,
                        const displacement& by,
                        float most);
    void forget_loss();
    bool begin_from(const std::uint8_t* labels,
                    std::size_t n,
                    const displacement& by,
                    float most);

    std::shared_ptr<const expected_waveform> d_waveform;
    window_geometry d_window;
    std::size_t d_planes, d_taps, d_blind_taps;
    float d_noise,
        d_chance; // mean squares that the waveform leaves: as trained, at random
    std::size_t d_past, d_capacity; // symbols

    // Symbol k's middle is sample k·sps of these.
    planes d_samples;          // unusable ones are zero
    aligned_floats d_filtered; // interleaved
    std::vector<std::uint8_t> d_bad;
    std::vector<std::uint8_t> d_labels;       // decided, and known ones in their place
    std::vector<std::uint8_t> d_truth;        // known ones, not_known elsewhere
    std::vector<std::uint8_t> d_decided;      // whatever is known
    std::size_t d_next;                       // the symbol to be decided
    std::size_t d_loaded;                     // samples up to here have come in
    std::size_t d_ready;                      // … and have been filtered
    std::size_t d_unusable = 0;               // the end of the latest ones that are not
    std::size_t d_known = 0;                  // symbols with labels
    std::size_t d_update = 0, d_step = block; // the present pace, once it has begun
    std::size_t d_position = 0;               // of d_update

    aligned_floats d_expected, d_rest;
    soft_decisions d_soft;
    std::vector<soft_decision> d_decisions;   // of d_labels
    static constexpr float most_slope = 0.8f; // more would make too much of the noise
    float d_slope = 0;                        // of their means: 0 where all is sure
    // Of d_labels, points of unit power, whatever is known; of decisions that are sure their points.
    std::vector<std::complex<float>> d_estimates;
    std::vector<std::complex<float>> d_points; // of labels
    ambiguity d_ambiguity;
    planes d_wanted, d_output;
    std::optional<carrier> d_carrier;     // of complex samples
    std::optional<carrier_line> d_line;   // the same
    std::optional<phase_search> d_search; // the same, if decisions do not bear any phase
    std::vector<std::vector<std::uint8_t>> d_labelled; // at each of its angles
    std::vector<phase_search::told> d_told;            // the same
    aligned_floats d_turned; // the windows of a step, and of twice the reach before
    bool d_searching = false;
    std::vector<std::uint8_t> d_again; // their labels
    bool d_looks_back = false;         // these are what latest() tells
    // Mean squares that are left then whatever the phase: over several blocks, over one.
    float d_left = 0, d_left_latest = 0;
    normal_equations d_sums; // of a block
    // normal_equations::noise(): of the learnt noise, of what soft_decisions estimate wrongly.
    aligned_floats d_wanted_noise, d_error;
    linear_filter d_filter;
    tap_bank d_bank;
    last_channel d_channel; // when it was last not lost
    judge d_judge;
    std::vector<std::vector<std::uint8_t>> d_symmetries;
    std::shared_ptr<blind_decisions> d_blind; // copies share it: it keeps nothing
    planes d_blind_samples;
    std::vector<std::uint8_t> d_plain;    // labels without the filter
    std::vector<std::uint8_t> d_own;      // labels behind it, while it is lost
    label_power d_power;                  // of labels
    std::vector<std::uint8_t> d_at_level; // labels at the constellation's power
    planes d_still;                       // complex samples without their carrier
    aligned_floats d_interleaved;         // of complex samples
    aligned_floats d_nothing;             // taps that do nothing
    bool d_starts = false;
    bool d_in_use = true;
    bool d_clear = false;         // lost, but clearly better than nothing
    std::size_t d_vain_looks = 0; // since it is lost, or started over
    float d_reference = 0;        // the carrier's phase when it was last not in use
    bool d_turning = false;       // since it started over from a carrier's line
    double d_good_phase = 0;      // the carrier's, when it was last not lost
    double d_good_frequency = 0;  // turns a symbol then
    std::uint64_t d_good_at = 0;  // symbols then
    double d_beside = 0;          // mean square of what lines foretell of it wrongly
    std::size_t d_foretold = 0;   // over so many of the latest looks
    aligned_floats d_settled;     // the taps when it last settled
    float d_usual = 0;            // what the judge then left; 0: never yet
    std::size_t d_unsettled = 0;  // looks since then, if it has been lost
    std::size_t d_next_blind = 0; // … at which nothing but the samples is asked
    bool d_was_lost = false;      // since then
    displacement d_displaced;     // of its labels at the latest look since then
    std::size_t d_unjudged = 0;   // blocks since the judge last looked
    std::uint64_t d_blocks = 0, d_resets = 0, d_slips = 0, d_bursts = 0;
    acquisition d_acquisition;
    std::vector<std::uint8_t> d_training;       // the labels
    std::size_t d_trained = 0, d_untrained = 0; // how many, and how many are to come
    bool d_acquired = false;                    // by training
};

} // namespace gr::adann::core
