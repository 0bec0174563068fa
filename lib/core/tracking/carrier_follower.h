/* -*- c++ -*- */
/*
 * Tracks the carrier phase of a stream of decided symbols, corrects cycle slips and re-acquires.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/decider.h"
#include "core/tracking/carrier.h"
#include "core/tracking/carrier_line.h"
#include "core/tracking/learning_target.h"
#include "core/tracking/phase_selection.h"
#include "core/tracking/settled_carrier.h"
#include "core/tracking/slip_detector.h"
#include "core/tracking/step_hindsight.h"

#include <optional>

namespace gr::adann::core {

/*! Tracks the phase of complex samples, in steps of carrier::step symbols.
 *
 * The loop (carrier.h) predicts the phase by which
 * samples are rotated back. Once a step is decided:
 *
 * - search(): decides the step at several phases and takes the best labels (phase_selection.h). It
 *   runs if decisions do not tolerate every phase up to the next symmetry, and if the rotation is
 *   surely a carrier's: a search would take a rotating echo, which the taps follow, for a carrier.
 * - measure(): the loop takes the phase of the samples relative to the expected waveform.
 * - rotate_again(): rotates the latest symbols again, by the measured instead
 *   of the predicted phase (step_hindsight.h).
 *
 * check() compares the advance of the loop's phase with that of the spectral line of x^M
 * (carrier_line.h): a slip_detector finds cycle slips, which are corrected. Phase and frequency are
 * remembered whenever a test confirms the stream (settled_carrier.h): they resolve the ambiguity of a
 * start from a line, or from blind labels. */
class carrier_follower
{
public:
    static constexpr std::size_t step = carrier::step;
    //! Symbols between two calls of check(); the line is estimated from as many.
    static constexpr std::size_t checked_every = carrier_line::symbols;

    //! \param history whose samples have the carrier
    carrier_follower(const expected_waveform& waveform,
                     const constellation& alphabet,
                     const sample_history& history);

    carrier& loop() { return d_loop; }
    const carrier& loop() const { return d_loop; }
    settled_carrier& settled() { return d_settled; }
    const settled_carrier& settled() const { return d_settled; }
    phase_selection& selection() { return d_selection; }
    const phase_selection& selection() const { return d_selection; }
    std::uint64_t slips() const { return d_slips; }
    /*! Probability of a cycle slip per symbol: that the phase error of its step exceeds half a
     * symmetry, where decisions agree with the next symmetry. */
    double slip_probability() const
    {
        return d_loop.probability_beyond(symmetry() / 2) / static_cast<double>(step);
    }
    /*! Whether decisions do not tolerate five standard deviations of the phase's prediction error, less
     * those of the measurement: phase_search::is_worth(). */
    bool has_phase_noise(const learning_target& target) const;
    //! Angle between two neighbouring rotations of the constellation onto itself, radians.
    double symmetry() const { return symmetry_angle(d_line.order()); }

    //! Adds the middle samples of n symbols to the line's estimate.
    void note(const sample_history& history, std::size_t symbol, std::size_t n);
    //! Follows history.make_room(): the buffer has moved back by so many symbols.
    void move_back(const sample_history& history, std::size_t symbols);

    /*! Replaces the labels of the step that is measured next, and of those after it, by the
     * decisions at the selected phase.
     * \param taken symbols of the step; there is no search unless they are carrier::step
     * \param residual of the stream, mean square of a sample: phase_selection::begin() */
    void search(sample_history& history,
                learning_target& target,
                const network_decider& decides,
                std::size_t taken,
                float residual);
    //! Measures the phases of the steps in the latest `taken` symbols whose neighbours are decided.
    void measure(sample_history& history,
                 learning_target& target,
                 std::size_t taken,
                 bool hard);
    //! Passes over the steps of `taken` symbols without a measurement, nor a search.
    void skip(const sample_history& history, std::size_t taken);
    //! \param in_use whether the stream's decisions are those of filtered samples
    void rotate_again(const sample_history& history,
                      const network_decider& decides,
                      std::size_t taken,
                      bool in_use);
    //! The result of rotate_again(), until the next note().
    hindsight latest() const { return d_hindsight.latest(); }

    /*! Whether the common rotation of the taps is moved into the carrier loop. Rotating taps and
     * a frequency error of the carrier are indistinguishable; after a start from a line all
     * rotation is taken as the carrier's. */
    bool absorbs_tap_phase() const { return d_from_line && !d_loop.idle(); }
    //! The taps were rotated back by so many radians, which are added to the carrier.
    void absorb_tap_phase(const sample_history& history, float ahead);

    /*! Rotation of a sample by the carrier and the taps, radians.
     * \param taps phase of the taps */
    float turned_by(std::size_t sample, float taps) const;

    /*! Corrects a cycle slip, and finds a carrier that the loop does not follow.
     * \param settled whether a test has confirmed the labels: phase and frequency are remembered
     * \return a line to start from, if there is a steady carrier and no line was followed before */
    std::optional<carrier_line::line> check(sample_history& history, bool settled);
    //! A line too fast for the decision-directed loop to pull in, or none.
    std::optional<carrier_line::line> find_line(double coherence = 0);
    //! Forgets the samples of the line.
    void forget_line() { d_line.reset(); }

    //! Back to the start, except for the remembered phase and frequency.
    void reset();
    //! Starts from a line; the remembered phase resolves its ambiguity.
    void begin(const sample_history& history, const carrier_line::line& found);
    /*! Starts a stream at this frequency, in cycles per symbol, and this phase of the next symbol, in
     * radians. Nothing changes where the loop would pull the frequency in by itself, below 1.2e-4.
     * Beyond carrier_line::fastest no line corrects the phase. */
    void begin(const sample_history& history, double frequency, double phase);
    //! Starts from the remembered phase and frequency; samples `first` to `end` are rotated again.
    void begin_settled(const sample_history& history, std::size_t first, std::size_t end);
    /*! Starts from the carrier of a training sequence, and remembers it.
     * \param first,n samples of the sequence; the phase is that of the middle one
     * \param growth radians a sample */
    void begin_trained(const sample_history& history,
                       std::size_t first,
                       std::size_t n,
                       float phase,
                       float growth);
    //! A carrier as it is at the next symbol.
    struct extrapolation {
        double phase = 0, frequency = 0; //!< radians; cycles per symbol
    };
    //! The present one: the frequency is that of lines, or of the loop where there was none; 0 without a carrier.
    extrapolation current(const sample_history& history) const;
    //! Goes on with this one; samples `first` to `end` are rotated again.
    void go_on(const sample_history& history,
               std::size_t first,
               std::size_t end,
               const extrapolation& from);

    /*! The present phase, less the rotation of the labels. Until a line confirms it, it may be
     * wrong by symmetries: a carrier that decisions pulled in may have slipped meanwhile. */
    settled_carrier::moment present(const sample_history& history, double turned) const;
    //! Corrects a rotation of the labels that known symbols have shown, and counts it as a slip.
    void add_ambiguity(sample_history& history, std::size_t turned);
    //! The present phase less the extrapolated one, radians; 0 after a start from a line.
    double ahead(const sample_history& history) const;

    void state(archive& members, const sample_history& history);

private:
    //! Of the next symbol, radians.
    double phase_now(const sample_history& history) const;
    void begin_at(const extrapolation& from,
                  const sample_history& history,
                  std::size_t first,
                  std::size_t end);
    bool has_carrier(const learning_target& target, float residual) const;
    double find_slip(const sample_history& history, const carrier_line::line& found);
    void forget_decisions(sample_history& history);

    carrier d_loop;
    carrier_line d_line;
    settled_carrier d_settled;
    slip_detector d_slip_detector;
    phase_selection d_selection;
    step_hindsight d_hindsight;
    float d_tolerated;        // phase error that decisions tolerate, radians
    bool d_from_line = false; // whether the loop started from a line
    std::uint64_t d_slips = 0;
};

} // namespace gr::adann::core
