/* -*- c++ -*- */
/*
 * The carrier's phase, tracked by loops of several bandwidths in parallel.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <array>
#include <cstddef>

namespace gr::adann::core {

//! A phase in radians, and its growth per step.
struct phase_line {
    float phase = 0;
    float growth = 0;
};

//! What a phase was measured with.
enum class phase_reference {
    decisions, //!< decisions of a stream that is sure of them
    labels, //!< known or selected by the phase search, in a stream with uncertain decisions
    means   //!< posterior means in place of uncertain decisions
};

/*! A bank of second-order, decision-directed phase loops, of which one is in use.
 *
 * A measurement is the phase of a step's samples relative to the expected waveform of their
 * decisions. Each loop corrects its phase by a part α of its prediction error, and its frequency by
 * a part β. There are critically damped loops (the fading-memory straight line, α = 1 - θ²,
 * β = (1 - θ)²) for a steady carrier, overdamped ones for phase noise, and one whose phase is zero
 * throughout, for a link without a carrier. In use is the loop whose predictions, `ahead` steps
 * before the measurement, were best over about the last 16 steps. Leaving the loop of zero phase
 * takes odds of ten thousand to one, as by noise alone each loop is the best now and then.
 *
 * Uncertain decisions measure the phase with much noise, and hardly respond to errors larger than
 * they tolerate. So a loop is used only if they tolerate three standard deviations of the noise
 * that it passes. Of these loops the one that was best over some 512 steps is in use, unless
 * another one leads by odds of ten thousand to one over the latest 16. The loop of zero phase is
 * left once another one has predicted better by such odds, over any number of steps (Page's
 * cumulative sum). That sum begins after a number of steps in a row that depends on the noise, 64
 * at most, and counts only loops for which five deviations are tolerated.
 *
 * Sources: Brookner, Tracking and Kalman Filtering Made Easy, chapter 4 and 7; the noise that a
 * loop passes: Kalata, "The tracking index", IEEE Trans. Aerosp. Electron. Syst. 20, 1984; Page,
 * "Continuous inspection schemes", Biometrika 41, 1954. */
class phase_bank
{
public:
    static constexpr std::size_t most_ahead = 8;

    /*! \param ahead steps from a measurement to the middle of the step that is rotated next
     * \param tolerated phase error that decisions tolerate, radians */
    phase_bank(std::size_t ahead, float tolerated);

    /*! Takes the next step's measurement.
     * \param phase absolute, radians: the phase that
     * samples were rotated back by, plus the residual
     * \param by the rules for uncertain decisions apply to all but `decisions`, and the limit on
     * the noise of a loop to `means` alone */
    void measure(float phase, phase_reference by = phase_reference::decisions);
    //! Nothing was measured in the next step.
    void skip();
    void reset();
    //! Adds a slip, in radians, to the phase of each loop but the one of zero phase.
    void turn(float slipped);
    /*! Starts all loops but that of zero phase from this line, at the latest measured step.
     * \param sure steps for which the line is: that of zero phase is not used then, as a slow line
     * begins near zero, too, and of loops that predict as well the one with the least noise is */
    void set(const phase_line& line, std::size_t sure = 0);

    //! Of the loop in use: the phase in the middle of the latest step, and its growth.
    phase_line in_use() const { return d_loops[d_used].line; }
    //! The phase at the step before, by the loop in use.
    float before() const
    {
        return d_loops[d_used].before[(d_steps + most_ahead - 2) % most_ahead].phase;
    }
    //! Mean square prediction error of the loop in use over some 16 steps, radians².
    float spread() const { return d_loops[d_used].score; }
    /*! Probability that the prediction error of the loop in use exceeds so many radians, if
     * errors are Gaussian with the mean square of some 512 steps; 0 before the first step. */
    double probability_beyond(double radians) const;
    //! Whether the loop of zero phase is in use.
    bool idle() const { return d_used == 0; }
    /*! Whether each step should be measured, as the loop of zero phase may
     * soon be left: another loop has predicted better by odds of seven to
     * one, or the phases of uncertain steps deviate by more than a quarter
     * of what decisions tolerate, so that a few steps show nothing. */
    bool may_move() const;

    void state(archive& members);

private:
    struct loop {
        float alpha, beta;
        float noise; // variance of its phase over that of a measurement
        phase_line line;
        std::array<phase_line, most_ahead> before; // of the latest steps, cyclic
        float score;    // mean square prediction error over some 16 steps
        float lasting;  // the same over some 512 steps
        float evidence; // cumulative log-likelihood ratio to the loop of zero phase
    };
    static loop make(float alpha, float beta);
    float lasting_mean(float found) const;
    float variance() const;
    std::size_t best_of(std::size_t first, float loop::*score = &loop::score) const;
    std::size_t steadiest(std::size_t first) const;
    bool leads(float evidence, std::size_t of) const;
    bool has_moved(float evidence) const;

    std::array<loop, 11> d_loops;
    std::size_t d_ahead;
    float d_tolerated;
    bool d_uncertain = false; // whether decisions were, in the latest measured step
    float d_least_noise; // loop::noise of the quietest loop, which may always be used
    float d_most_noise;  // largest loop::noise of a loop that may be used
    std::size_t d_steps = 0;
    std::size_t d_sure = 0;     // steps for which the line that it was set to is
    std::size_t d_measured = 0; // steps in a row
    std::size_t d_measured_in_all = 0;
    std::size_t d_used = 0;
};

//! The angle within ±π.
float wrapped(float angle);

} // namespace gr::adann::core
