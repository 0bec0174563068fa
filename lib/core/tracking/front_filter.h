/* -*- c++ -*- */
/*
 * The adaptive linear filter before the network: it follows echoes, timing and gain.
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
    //! Forgetting time constants in symbols: 1 to 8 of them, increasing, 64 to 10^7.
    std::vector<std::size_t> memories = usual_memories;

    //! \throws std::invalid_argument naming the setting that is out of range
    void check() const;
};

//! The result of a training sequence that was announced by front_filter::train().
enum class acquisition_result {
    pending,  //!< not all of it has come, or none was announced
    acquired, //!< its symbols came, and have set the taps
    missed,   //!< other symbols came: nothing has changed
};

//! What a front filter is doing.
struct front_filter_status {
    tracking_state state = tracking_state::following;
    //! Time constant of the taps in use, symbols; of remembered ones how many they were learnt from; 0: the identity.
    std::size_t memory = 0;
    /*! Predicted mean square residual of a filtered sample relative to the power of the expected
     * waveform, over the latest few blocks. NaN before the first block. */
    float residual = std::numeric_limits<float>::quiet_NaN();
    std::uint64_t resets = 0;      //!< times that it started over
    std::uint64_t slips = 0;       //!< cycle slips of the carrier that were corrected
    float phase = 0;               //!< by which complex samples are rotated back, radians
    float frequency = 0;           //!< of that phase, cycles per symbol
    std::uint64_t bursts = 0;      //!< training sequences that have set the taps
    float offset = 0;              //!< constant that is added to float samples
    std::complex<float> image = 0; //!< I/Q image, relative to the samples
    std::complex<float> leakage = 0; //!< constant in complex samples
    float echo_delay = 0;     //!< of the strongest echo beyond the taps, symbols; 0: none
    float echo = 0;           //!< its amplitude
    float tone_frequency = 0; //!< of the strongest interfering tone, cycles per symbol
    float tone = 0;           //!< its amplitude; 0: none
    float level = 1; //!< amplitude received over the model's, as input_level corrects it
};

/*! Filters a stream of samples towards the expected waveform of the symbols decided from it.
 *
 * Each sample is filtered once, by the taps that are in use when the first decision needs it. This
 * one filtered stream gives the network's windows, for decisions and for training. After every
 * `block` symbols, counted from the first one, the taps are updated: least squares between the
 * samples and the expected waveform of the decisions (adaptive_filter.h). On a static link up to
 * `most_apart` blocks pass between updates, and only the latest of them is used. The result is the
 * same to the bit however the stream is cut into calls. Nothing is allocated after construction,
 * nor by an assignment between two filters with the same settings.
 *
 * Complex samples are then rotated back by the carrier's phase (carrier_follower.h), which changes
 * faster than the taps can follow. The phase is measured every carrier_follower::step symbols, or
 * as rarely as the taps are updated while there is no carrier.
 *
 * Impairments that linear taps cannot correct are corrected before them (corrections.h): a level
 * other than the model's, the image that a receiver's front end adds, interfering tones and impulses,
 * and echoes later than the taps' reach. A constant is removed by the taps' offset.
 *
 * Where decisions are uncertain, posterior means take their place as targets of the taps and the
 * carrier (learning_target.h): links with raw error rates of 1 to 20 % are followed. Decisions of a
 * filter that is lost, and those of bursts, count as sure.
 *
 * A recovery (recovery.h) supervises the filter. While the stream is lost, the network decides by the taps of
 * when it was followed, or the samples as they came in; so it does these where the filter makes decisions worse. The filter
 * goes on learning from its own decisions.
 *
 * A training sequence, train(), sets taps and carrier at once (acquisition.h), for a burst over an
 * unknown channel. If other symbols came, so that the residual is not clearly below the power of
 * the waveform (belief.h), nothing changes. After a training sequence nothing supervises the filter
 * until reset(), as the unfiltered samples of an unknown channel cannot be decided.
 *
 * A sample that is not usable (all_usable()) comes out as NaN. It counts as zero in its neighbours'
 * output, and its block is not learnt from. */
class front_filter
{
public:
    static constexpr std::size_t block = tracked_stream::block;
    //! Blocks from an update to the next.
    static constexpr std::size_t most_apart = tracked_stream::most_apart;
    //! Longest training sequence, symbols.
    static constexpr std::size_t most_training = tracked_stream::most_known;
    //! Shortest one: reach() symbols at each end serve as neighbours of the others only.
    static std::size_t least_training(const expected_waveform& waveform)
    {
        return 16 + 2 * waveform.reach();
    }

    /*! \param behind a model with an expected waveform: its network decides the filtered samples
     * \throws std::invalid_argument naming the setting that is out of range, or if there is
     * no waveform */
    front_filter(const model& behind, const front_filter_settings& settings = {});

    std::size_t taps() const { return d_stream.filter.taps(); } //!< odd
    //! Samples on each side of one that its filtered value depends on.
    std::size_t reach() const { return taps() / 2; }
    static std::size_t reach(std::size_t length, std::size_t sps)
    {
        return length * sps / 2;
    }
    //! Floats of an input window: the network's window and reach() samples on each side.
    std::size_t dimension() const
    {
        const window_geometry& window = d_stream.history.window();
        return window.dimension() + 2 * reach() * window.floats_per_sample();
    }
    //! Symbols over which the best taps are an average: fewer on a link that moves faster; 0 while the
    //! stream is not explained, or the carrier may change.
    std::size_t time_constant() const
    {
        return knows_changes() ? d_stream.filter.bank().time_constant() : 0;
    }
    //! Symbols that filter() may be given at most: up to the next update, the next step of the
    //! carrier or the end of the training sequence.
    std::size_t left() const;

    /*! Filters the samples of the next symbols' windows.
     * \param windows at most left(), of dimension() and the window's stride
     * \return the network's windows, filtered, or while the filter is not used by earlier taps or as they
     * came in; valid until the next call */
    feature_view filter(const feature_view& windows);

    /*! Takes the decided labels of all symbols of the latest filter().
     * \param known null, or the known label of each symbol, not_known where there is none. Known
     * labels replace decided ones for learning; a block of known symbols needs no recovery
     * \param decides,net the network: recovery compares with decisions of the unfiltered samples,
     * and a lost filter decides its own output to learn from
     * \param since_quiet pause_detector::since_quiet(): nothing is learnt from what may be in a pause
     * \return pending, or the result of a training sequence that ended with these symbols */
    acquisition_result
    decided(const std::uint8_t* labels,
            const std::uint8_t* known,
            std::size_t n,
            decider& decides,
            const prepared_network& net,
            std::size_t since_quiet = std::numeric_limits<std::size_t>::max());
    //! The same, but the taps learn nothing from these labels.
    void hold(const std::uint8_t* labels, std::size_t n);
    /*! After decided(), where a step has ended: its symbols and twice the waveform's reach before
     * them. The phase of the latest reach() of them is predicted, not measured. */
    hindsight latest() const
    {
        return d_stream.carrier ? d_stream.carrier->latest() : hindsight();
    }

    //! Whether the samples probably have the model's level. Until they do, decisions are of no use.
    bool has_level() const
    {
        return d_recovery.state() == recovery_state::trained ||
               d_stream.corrected.level.is_plausible();
    }
    //! Whether the latest filter() changed the level: decisions before it are of no use.
    level_change changed_level() const { return d_changed_level; }

    //! Known symbols have shown that decisions are late or rotated: the next update corrects that.
    void displace(displacement by) { d_recovery.report(by); }
    //! How often delay or rotation of the decisions may have changed.
    std::size_t changes() const
    {
        return d_recovery.changes() + (d_stream.carrier ? d_stream.carrier->slips() : 0);
    }

    //! How often delay or rotation of the decisions have been corrected.
    std::size_t rotations() const
    {
        return d_recovery.corrections() +
               (d_stream.carrier ? d_stream.carrier->slips() : 0);
    }

    //! Probability of a cycle slip per symbol, from the prediction error of the carrier's loop.
    double slip_probability() const
    {
        return d_stream.carrier ? d_stream.carrier->slip_probability() : 0;
    }

    /*! Announces a training sequence: the next n symbols are expected to be these.
     * \param n least_training() to most_training */
    void train(const std::uint8_t* labels, std::size_t n);

    /*! The carrier of a stream that begins has this frequency, in cycles per symbol, and this phase
     * at the next symbol, in radians: carrier_follower::begin(). */
    void begin_carrier(double frequency, double phase);

    //! Back to the identity.
    void reset();

    /*! The next samples may continue the stream or begin another one, which filter() finds from the
     * overlap of the windows. The taps stay; a training sequence that had not come is forgotten. */
    void start()
    {
        d_starts = true;
        d_untrained = 0;
    }

    //! The taps, (planes, taps()), that of the earliest sample first.
    signal_planes in_use() const;
    tracking_state state() const { return d_recovery.status(d_stream); }
    //! recovery::is_unexplained()
    bool is_unexplained() const { return d_recovery.is_unexplained(); }
    front_filter_status status() const;

    void state(archive& members);

private:
    front_filter(const model& behind,
                 const std::shared_ptr<const expected_waveform>& waveform,
                 const front_filter_settings& settings);

    //! In symbols.
    struct pace {
        std::size_t update = 0;   //!< interval of updates; 0: chosen with the next symbol
        std::size_t step = block; //!< filtered at once: the carrier's step, or `update`
        std::size_t position = 0; //!< symbols since the latest update
    };
    pace next_pace() const;
    // Whether the taps show how fast the link changes.
    bool knows_changes() const
    {
        const auto& carrier = d_stream.carrier;
        return d_recovery.explains(d_stream) && !(carrier && carrier->loop().may_move());
    }
    // Blocks from one update to the next, 1 to most_apart: more on a link that moves less.
    std::size_t apart() const
    {
        return knows_changes() ? d_stream.filter.bank().apart() : 1;
    }
    void forget_samples();
    void forget_corrections();
    void measure_level(const feature_view& windows);
    bool note(const std::uint8_t* labels, const std::uint8_t* known, std::size_t n);
    std::size_t due();
    bool is_hard() const;
    acquisition_result acquire();
    std::complex<float> leakage() const;
    void
    follow(const network_decider& decides, std::size_t blocks, std::size_t since_quiet);
    void update(std::size_t blocks);

    tracked_stream d_stream;
    recovery d_recovery;
    bool d_decides_well; // the network: learning_target::is_outdone_by()
    pace d_pace;
    bool d_starts = false;
    level_change d_changed_level = level_change::none; // by the latest call of filter()
    bool d_holds = false;            // whether the latest symbols came by hold()
    std::vector<std::uint8_t> d_own; // decided from its output while that is not used
    aligned_floats d_unfiltered;     // complex windows meanwhile
    std::vector<std::uint8_t> d_training;       // labels of the training sequence
    std::size_t d_trained = 0, d_untrained = 0; // symbols of it, and those still to come
    std::uint64_t d_bursts = 0;
};

} // namespace gr::adann::core
