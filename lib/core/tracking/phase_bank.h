/* -*- c++ -*- */
/*
 * The carrier's phase, followed by loops of several bandwidths side by side.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <array>
#include <cstddef>

namespace gr::adann::core {

//! A phase in radians and what it grows by in a step.
struct phase_line {
    float phase = 0;
    float growth = 0;
};

//! What a phase was measured with.
enum class phase_reference {
    decisions, //!< that are sure
    labels, //!< known, or chosen at several phases, where the stream's decisions are uncertain
    means //!< posterior means in place of uncertain decisions
};

/*! Decision-directed phase loops of second order, which compete.
 *
 * A measurement is the phase of the samples of a step over the waveform that is expected
 * of their decisions. Each loop corrects its phase by a part α of what it predicted
 * wrongly, and its frequency by a part β: critically damped ones (the fading-memory
 * straight line, α = 1 - θ², β = (1 - θ)²) for a steady carrier, overdamped ones for
 * phase noise, and one whose phase is constant, zero, for a link without a carrier. The
 * one whose predictions, `ahead` steps before the measurement, were best over about the
 * last 16 steps is in use. From a phase that rests to one that moves it takes odds of ten thousand
 * to one: noise alone has each loop lead now and then.
 *
 * Uncertain decisions measure a phase with much noise, and hardly one that is wrong by more than they
 * tolerate. There a loop is used only if they tolerate three standard deviations of the noise that it
 * passes. Of these the loop is in use that was best over some 512 steps, unless another one leads by odds
 * of ten thousand to one over the latest 16. A phase at rest begins to move once a loop has predicted
 * better by such odds, over however many steps (Page's cumulative sum), after as many in a row as the noise
 * asks for (64 at most), and if five deviations are tolerated.
 *
 * Sources: Brookner, Tracking and Kalman Filtering Made Easy, chapter 4 and 7; the noise that a loop passes:
 * Kalata, "The tracking index", IEEE Trans. Aerosp. Electron. Syst. 20, 1984; Page, "Continuous inspection
 * schemes", Biometrika 41, 1954. */
class phase_bank
{
public:
    static constexpr std::size_t most_ahead = 8;

    /*! \param ahead steps from a measurement to the middle of what is rotated next
     * \param tolerated radians, by decisions */
    phase_bank(std::size_t ahead, float tolerated);

    /*! Takes the next step's measurement.
     * \param phase radians, absolute: the rotation that was taken off, plus the residual phase
     * \param by noise counts of all but decisions, and limits the loops where it is of means */
    void measure(float phase, phase_reference by = phase_reference::decisions);
    //! Nothing was measured in the next step.
    void skip();
    void reset();
    //! What follows a phase has slipped by so many radians.
    void turn(float slipped);
    //! Goes on from this line, at the latest measured step.
    void set(const phase_line& line);

    //! What is in use: the phase at the middle of the latest measured step.
    phase_line in_use() const { return d_loops[d_used].line; }
    //! The phase at the step before, by the loop in use.
    float before() const
    {
        return d_loops[d_used].before[(d_steps + most_ahead - 2) % most_ahead].phase;
    }
    //! Mean square, in radians², of what the loop in use predicts wrongly, over some 16 steps.
    float spread() const { return d_loops[d_used].score; }
    /*! How probably a step's phase is further from what the loop in use predicted than so many radians,
     * if the errors of some 512 steps are normal ones; 0 before the first step. */
    double probability_beyond(double radians) const;
    //! Whether it is zero throughout.
    bool idle() const { return d_used == 0; }
    /*! Whether a phase that rests may be about to move, and each step is wanted: since it would have
     * predicted better, by odds of seven to one, or since uncertain steps scatter by more than a quarter
     * of what decisions tolerate, so that few of them tell nothing. */
    bool may_move() const;

    void state(archive& members);

private:
    struct loop {
        float alpha, beta;
        float noise; // variance of its phase over that of a measurement
        phase_line line;
        std::array<phase_line, most_ahead> before; // of the latest steps, in turn
        float score;    // mean square of what it predicted wrongly
        float lasting;  // the same over many steps
        float evidence; // cumulative sum of its log-likelihood ratio to a phase at rest
    };
    static loop make(float alpha, float beta);
    float lasting_mean(float found) const;
    float variance() const;
    std::size_t best_of(std::size_t first, float loop::*score = &loop::score) const;
    std::size_t steadiest() const;
    bool leads(float evidence, std::size_t of) const;
    bool has_moved(float evidence) const;

    std::array<loop, 11> d_loops;
    std::size_t d_ahead;
    float d_tolerated;
    bool d_uncertain = false; // in the latest step that was measured
    float d_least_noise;      // of the quietest loop, which may always be used
    float d_most_noise;       // of a loop that may be used
    std::size_t d_steps = 0;
    std::size_t d_measured = 0; // in a row
    std::size_t d_measured_in_all = 0;
    std::size_t d_used = 0;
};

//! The angle within ±π.
float wrapped(float angle);

} // namespace gr::adann::core
