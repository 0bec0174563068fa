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
#include "core/signal/windows.h"
#include "core/tracking/hindsight.h"
#include "core/tracking/recovery.h"
#include "core/tracking/tracked_stream.h"

#include <complex>
#include <limits>
#include <memory>
#include <vector>

namespace gr::adann::core {

struct front_filter_settings {
    unsigned length = 12; //!< symbols that the taps span, 1 to 64
    //! Forgetting time constants, symbols, increasing, 64 to 10^7; 1 to 8 of them.
    std::vector<std::size_t> memories = usual_memories;

    //! \throws std::invalid_argument naming the setting that is out of range
    void check() const;
};

//! What a front filter made of the training sequence that it was given.
enum class acquisition_result {
    pending,  //!< nothing yet, or it was given none
    acquired, //!< its taps
    missed,   //!< nothing: other symbols came
};

//! What a front filter is doing.
struct front_filter_status {
    tracking_state state = tracking_state::following;
    std::size_t memory = 0; //!< of the taps in use, symbols; 0: the identity
    /*! Mean square residual of a filtered sample relative to the power of the expected waveform,
     * predicted, of the latest few blocks. NaN before the first block. */
    float residual = std::numeric_limits<float>::quiet_NaN();
    std::uint64_t resets = 0; //!< times that it started over
    std::uint64_t slips = 0;  //!< cycle slips of the carrier that were seen, and undone
    float phase = 0;          //!< that is taken out of complex samples, radians
    float frequency = 0;      //!< of that phase, cycles per symbol
    std::uint64_t bursts = 0; //!< training sequences that it took its taps from
    float offset = 0;         //!< that it adds to float samples
    std::complex<float> image = 0;   //!< of complex samples, relative to them
    std::complex<float> leakage = 0; //!< a constant in complex samples
    float echo_delay = 0;     //!< of the strongest echo beyond the taps, symbols; 0: none
    float echo = 0;           //!< its amplitude
    float tone_frequency = 0; //!< of an interfering tone, cycles per symbol
    float tone = 0;           //!< its amplitude; 0: none
    float level =
        1; //!< amplitude of the samples that came in over the model's, where it was taken off
};

/*! Brings a stream of samples to the expected waveform of what is decided from it.
 *
 * Each sample is filtered once, with the taps that are current when a decision needs it
 * first, so there is one filtered stream: windows are taken from it, and what a network
 * learns from. After every `block` symbols, counted from the first one, the taps are
 * brought to the least squares between the samples and the waveform that is expected of
 * the decisions (adaptive_filter.h); while nothing moves, after up to `most_apart` blocks, from the
 * latest one. The result is the same to the bit, however the stream is
 * cut into calls. Nothing is allocated after construction, nor by the assignment of one
 * to another that was made alike.
 *
 * Complex samples are then rotated back by the carrier's phase (carrier_follower.h), which turns
 * faster than the taps can follow. Without a carrier its phase is measured as rarely as the taps are
 * updated, else every carrier_follower::step symbols.
 *
 * What taps cannot do is taken off before them (corrections.h): another level than the model's, the image and the constant that a
 * receiver's front end adds, and echoes that are later than the taps reach.
 *
 * Where decisions are uncertain the taps and the carrier aim at posterior means in their place
 * (learning_target.h), so that links with raw error rates of 1 to 20 % are followed too. Decisions of a
 * filter that is lost, or of a burst, count as sure.
 *
 * A recovery (recovery.h) supervises all that. While the stream is lost, the decisions are those of
 * the samples as they came in, as if there were no filter; it goes on learning from its
 * own ones.
 *
 * A training sequence, train(), sets taps and carrier at once (acquisition.h), whatever they
 * were: that of a burst, from a channel unknown before. If its symbols are not there, so that the
 * residual exceeds the limit of a lost stream, nothing changes. After one nothing supervises the
 * filter until reset(), as decisions without it mean nothing.
 *
 * A sample that is not usable (all_usable()) comes out as NaN; it counts as zero in what
 * its neighbours become, and its block is not learnt from. */
class front_filter
{
public:
    static constexpr std::size_t block = tracked_stream::block;
    static constexpr std::size_t most_apart = 4; //!< blocks from an update to the next
    //! Symbols of a training sequence at most.
    static constexpr std::size_t most_training = tracked_stream::most_known;
    //! … and at least: those at its ends, whose neighbours are not known, serve these only.
    static std::size_t least_training(const expected_waveform& waveform)
    {
        return 16 + 2 * waveform.reach();
    }

    /*! \param behind it: a model with an expected waveform, whose network decides
     * \throws std::invalid_argument naming the setting that is out of range, or if there is
     * no waveform */
    front_filter(const model& behind, const front_filter_settings& settings = {});

    std::size_t taps() const { return d_stream.filter.taps(); } //!< odd
    //! Samples that it looks at on each side.
    std::size_t reach() const { return taps() / 2; }
    static std::size_t reach(std::size_t length, std::size_t sps)
    {
        return length * sps / 2;
    }
    /*! Floats of a window of samples that comes in: what the network's window has, and
     * reach() samples on each side of it. */
    std::size_t dimension() const
    {
        const window_geometry& window = d_stream.history.window();
        return window.dimension() + 2 * reach() * window.floats_per_sample();
    }
    //! Blocks from one update to the next, 1 to most_apart: the more, the less the link moves.
    std::size_t apart() const
    {
        const auto& carrier = d_stream.carrier;
        const bool calm =
            d_recovery.explains(d_stream) && !(carrier && carrier->may_move());
        return calm ? d_stream.filter.bank().apart() : 1;
    }
    //! Symbols up to the next update, the carrier's step or the end of the training sequence:
    //! the most that filter() may be given.
    std::size_t left() const;

    /*! Filters what the next symbols' windows need.
     * \param windows at most left(), of dimension() and the window's stride
     * \return the network's windows: filtered ones, or, while the filter is lost, as they
     * came in; valid until the next call */
    feature_view filter(const feature_view& windows);

    /*! Takes the labels of filter()'s symbols, all of them, as they were decided.
     * \param known null, or of each symbol what it is known to be, not_known where it is not. What is
     * learnt from is that; blocks that are known wholly need no recovery
     * \param decides,net the network behind it: the recovery has some symbols decided without
     * the filter, and while the filter is lost it has its own decided
     * \return of the training sequence, if these were the last symbols of one */
    acquisition_result decided(const std::uint8_t* labels,
                               const std::uint8_t* known,
                               std::size_t n,
                               decider& decides,
                               const prepared_network& net);
    //! The same with labels that nothing is learnt from.
    void hold(const std::uint8_t* labels, std::size_t n);
    /*! Behind decided(): the symbols of a step that has ended, and twice the waveform's reach
     * before; of the latest, as many as it reaches, the phase is predicted. */
    hindsight latest() const
    {
        return d_stream.carrier ? d_stream.carrier->latest() : hindsight();
    }

    /*! Whether the samples have the model's level, as far as is known; while they do not, nothing that is
     * decided from them means anything. */
    bool has_level() const
    {
        return d_recovery.state() == recovery_state::trained ||
               d_stream.corrected.level.is_plausible();
    }
    //! Whether filter() has just brought them to another level: what was decided before is of no use.
    level_change changed_level() const { return d_changed_level; }

    //! Symbols that became known late show that decisions are displaced; undone with the next update.
    void displace(displacement by) { d_recovery.report(by); }
    //! Times that delay or rotation may have changed.
    std::size_t changes() const
    {
        return d_recovery.changes() + (d_stream.carrier ? d_stream.carrier->slips() : 0);
    }

    //! Of a cycle slip in a symbol, by the error of the phase that the carrier's loop predicts.
    double slip_probability() const
    {
        return d_stream.carrier ? d_stream.carrier->slip_probability() : 0;
    }

    /*! The next n symbols are these, if what comes agrees with them.
     * \param n least_training() to most_training */
    void train(const std::uint8_t* labels, std::size_t n);

    //! Back to doing nothing.
    void reset();

    /*! What comes next may go on from the samples that have come or be another stream:
     * the samples themselves show which. The taps stay. */
    void start() { d_starts = true; }

    //! (planes, taps()): what each sample around is multiplied with, the earliest first.
    signal_planes in_use() const;
    tracking_state state() const { return d_recovery.status(d_stream); }
    front_filter_status status() const;

    void state(archive& members);

private:
    front_filter(std::shared_ptr<const expected_waveform> waveform,
                 const window_geometry& window,
                 const constellation& symbols,
                 const front_filter_settings& settings);

    //! In symbols.
    struct pace {
        std::size_t update = 0; //!< from one update to the next; 0 before the next symbol
        std::size_t step = block; //!< that is filtered at once: the carrier's, or all
        std::size_t position = 0; //!< of `update`
    };
    pace next_pace() const;
    void forget_samples();
    void look_at_level(const feature_view& windows);
    bool note(const std::uint8_t* labels, const std::uint8_t* known, std::size_t n);
    std::size_t due();
    bool is_hard() const;
    acquisition_result acquire();
    void follow(const network_decider& decides, std::size_t blocks);
    void update(std::size_t blocks);

    tracked_stream d_stream;
    recovery d_recovery;
    pace d_pace;
    bool d_starts = false;
    level_change d_changed_level = level_change::none; // by the latest call of filter()
    bool d_holds = false;            // whether nothing was learnt from the latest symbols
    std::vector<std::uint8_t> d_own; // decided from its output, while it is lost
    aligned_floats d_unfiltered;     // complex windows, while it is lost
    std::vector<std::uint8_t> d_training;       // labels
    std::size_t d_trained = 0, d_untrained = 0; // how many, and how many are to come
    std::uint64_t d_bursts = 0;
};

} // namespace gr::adann::core
