/* -*- c++ -*- */
/*
 * The carrier of a stream of decided symbols: followed, supervised, found again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/decider.h"
#include "core/tracking/carrier.h"
#include "core/tracking/carrier_line.h"
#include "core/tracking/hindsight.h"
#include "core/tracking/learning_target.h"
#include "core/tracking/phase_decisions.h"

#include <optional>
#include <vector>

namespace gr::adann::core {

/*! Follows the phase of complex samples, in steps of carrier::step symbols.
 *
 * The loop (carrier.h) predicts the phase that samples are rotated back by. Once a step is decided:
 *
 * - search(): where decisions do not tolerate every phase up to the next symmetry, and what turns is
 *   surely a carrier, the step is decided at several phases and the best labels are taken
 *   (phase_search.h). Otherwise an echo that turns would be taken for a carrier.
 * - measure(): the loop takes the phase of the samples over what is expected of the labels.
 * - look_back(): the latest symbols once more, at the phase as it is known now.
 *
 * check() compares how far the phase has gone with how far the line of x^M (carrier_line.h) takes
 * it. A difference of a symmetry of the constellation is a cycle slip, which is undone where the
 * line predicts the phase well. The phase and frequency when the stream was last settled are kept:
 * they resolve the ambiguity of a start from a line, or from labels found blindly. */
class carrier_follower
{
public:
    static constexpr std::size_t step = carrier::step;
    //! Symbols between two checks by the line, which looks back as far.
    static constexpr std::size_t checked_every = carrier_line::symbols;

    //! \param history whose samples have the carrier
    carrier_follower(const expected_waveform& waveform,
                     const constellation& alphabet,
                     const sample_history& history);

    carrier& loop() { return d_loop; }
    const carrier& loop() const { return d_loop; }
    bool idle() const { return d_loop.idle(); }
    std::uint64_t slips() const { return d_slips; }
    /*! Of a cycle slip in a symbol: that the phase of its step is further off than half a symmetry, so
     * that the labels agree with the next one. */
    double slip_probability() const
    {
        return d_loop.probability_beyond(symmetry() / 2) / static_cast<double>(step);
    }
    bool may_move() const { return d_loop.may_move(); } //!< phase_bank's
    //! Radians by which labels that are alike to the samples differ.
    double symmetry() const { return 2 * M_PI / static_cast<double>(d_line.order()); }

    //! The samples of n symbols in the line.
    void note(const sample_history& history, std::size_t symbol, std::size_t n);
    //! So many symbols have passed since the latest call.
    void pass(std::size_t symbols) { d_now += symbols; }
    //! history.make_room() moved it.
    void move_back(const sample_history& history, std::size_t symbols);

    /*! Labels of the step that is measured next, and what follows it, by the phase that is selected.
     * \param taken symbols of a step: no search but of carrier::step
     * \param decides decisions behind the filter
     * \param residual of the stream, mean square of a sample: where the search begins */
    void search(sample_history& history,
                learning_target& target,
                const network_decider& decides,
                std::size_t taken,
                float residual);
    bool is_searching() const { return d_searching; }
    void stop_searching() { d_searching = false; }
    //! Mean squares that a search left, whatever the phase: over several blocks, over one.
    float residual() const { return d_left; }
    float latest_residual() const { return d_left_latest; }
    //! Takes in the phases of the steps in `taken` symbols whose neighbours are decided.
    void measure(sample_history& history,
                 learning_target& target,
                 std::size_t taken,
                 bool hard);
    //! Takes in none: `taken` symbols have no measured phase.
    void skip(const sample_history& history, std::size_t taken);
    //! \param in_use whether the stream's decisions are those behind the filter
    void look_back(const sample_history& history,
                   const network_decider& decides,
                   std::size_t taken,
                   bool in_use);
    //! What look_back() has found, if nothing has come since.
    hindsight latest() const;

    /*! Turns what is expected of a block by what the prediction left, while it is searched. */
    void turn_expected(const sample_history& history,
                       std::size_t symbol,
                       std::size_t n,
                       float* expected) const;
    /*! Taps that turn and a carrier that is as much too slow leave the same. After a start from a line
     * all that turns is the carrier's: whether the taps are to keep their phase. */
    bool absorbs_tap_phase() const { return d_turning && !idle(); }
    //! The taps were turned back by so many radians.
    void absorb_tap_phase(const sample_history& history, float ahead);

    //! Notes the phase as that of a stream whose filter is not in use.
    void mark_reference_phase()
    {
        if (!d_turning)
            d_reference = d_loop.phase();
    }
    /*! Radians by which a sample was turned back since mark_reference_phase(), by the carrier and the taps.
     * \param taps phase of the taps */
    float turned_by(std::size_t sample, float taps) const;

    /*! Whether the carrier has slipped, or is another one than what is followed.
     * \param settled whether the labels are surely right: the phase is remembered then
     * \return a line to start from, if the carrier is a steady one that was never followed */
    std::optional<carrier_line::line> check(sample_history& history, bool settled);
    //! A line that decisions cannot pull in, or none.
    std::optional<carrier_line::line> find_line(double coherence = 0) const;

    //! As at first, but for what is remembered.
    void reset();
    //! Forgets that as well.
    void forget_settled()
    {
        d_settled = {};
        d_settled_frequency = 0;
    }
    //! Forgets the samples of the line.
    void forget_line() { d_line.reset(); }
    //! Goes on from a line, and from the phase remembered.
    void begin(const sample_history& history, const carrier_line::line& found);
    //! Goes on from the phase and frequency remembered, of samples filtered again from `first` on.
    void begin_settled(const sample_history& history, std::size_t first, std::size_t end);
    /*! Goes on from what a training sequence tells, and remembers it.
     * \param first,n samples of the sequence; the phase is that of the middle one
     * \param growth radians a sample */
    void begin_trained(const sample_history& history,
                       std::size_t first,
                       std::size_t n,
                       float phase,
                       float growth);

    //! Phase at the next symbol by what is remembered.
    double settled_phase() const;
    /*! Turns samples by that phase (way 1), or back (-1).
     * \param first place in the history of the n samples' first one */
    void turn_settled(const sample_history& history,
                      planes& samples,
                      std::size_t first,
                      std::size_t n,
                      double way) const;
    //! A phase, and when it was.
    struct moment {
        double phase = 0;
        std::uint64_t at = 0; //!< symbols that had passed; 0: never with a line
        bool is_by_line() const { return at > 0; }
    };
    moment settled() const { return d_settled; }
    void set_settled(const moment& then) { d_settled = then; }
    /*! The present phase, less the rotation of the labels. A carrier that decisions pulled in may have turned by
     * further symmetries: until a line has shown them, the phase of the start is kept. */
    moment present(const sample_history& history, double turned) const;
    //! Known symbols have shown the labels to be turned by a symmetry: that is taken out, and counted.
    void add_ambiguity(sample_history& history, std::size_t turned);
    //! Radians that the phase is ahead of what is remembered; 0 since a start from a line.
    double ahead(const sample_history& history) const;

    void state(archive& members, const sample_history& history);

private:
    //! The phase that a line goes on from: remembered with one, or that of the start.
    double phase_before() const { return d_settled.is_by_line() ? d_settled.phase : 0; }
    bool has_settled() const { return d_settled.phase != 0 || d_settled_frequency != 0; }
    bool has_carrier(const learning_target& target, float residual) const;
    void begin_search(const sample_history& history, std::size_t middle, float residual);
    bool predicts(double error);
    feature_view turned(std::size_t n) const
    {
        return { d_turned.data(), d_window.stride(), d_window.dimension(), n };
    }

    window_geometry d_window;
    std::size_t d_reach; // of the expected waveform
    carrier d_loop;
    carrier_line d_line;
    float d_tolerated;                       // radians, by decisions
    std::optional<phase_decisions> d_search; // if decisions do not tolerate any phase
    std::vector<phase_search::correlation> d_correlations; // at each of its angles
    bool d_searching = false;
    float d_left = 0, d_left_latest = 0;

    aligned_floats d_turned; // the windows of a step, and of twice the reach before it
    std::vector<std::uint8_t> d_again; // their labels
    bool d_looks_back = false;

    std::uint64_t d_now = 0; // symbols that have passed
    moment d_settled;
    double d_settled_frequency = 0; // turns a symbol
    bool d_turning = false;         // since a start from a line
    float d_reference = 0;          // see mark_reference_phase()
    double d_squared_error = 0;     // mean, of the phase that lines predict
    std::size_t d_predicted = 0;    // over so many of the latest checks
    std::uint64_t d_slips = 0;
};

} // namespace gr::adann::core
