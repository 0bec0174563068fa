/* -*- c++ -*- */
/*
 * Which of several phases a step of a stream was decided at is believed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"
#include "core/tracking/phase_bank.h"

#include <array>
#include <complex>
#include <vector>

namespace gr::adann::core {

/*! A blind phase search, by what the expected waveform leaves.
 *
 * Decisions bear a phase that is wrong by less than a part of the constellation; behind that
 * they agree with another phase, which a decision-directed loop then follows. So a step of
 * symbols is decided at each of angles() beside expected(), closer than decisions bear and up
 * to where the constellation is alike again. The samples of each angle's decisions, over what is
 * expected of these, tell a phase and what is left once it is taken off: believe() takes the
 * angle that leaves least over the latest `steps`, against how far the phase is wont to go beside
 * its line.
 *
 * Source: Pfau, Hoffmann, Noe, "Hardware-efficient coherent digital receiver concept with
 * feedforward carrier recovery for M-QAM constellations", J. Lightw. Technol. 27, 2009, with the
 * expected waveform in place of the nearest points. */
class phase_search
{
public:
    static constexpr std::size_t steps = 3;

    //! Of a step at one angle.
    struct told {
        std::complex<double> sum; //!< carrier::compare()
        double power = 0;         //!< of the samples and of what is expected of them

        void add(const told& other)
        {
            sum += other.sum;
            power += other.power;
        }
    };

    //! Whether a step of so many samples has a hundredth of a signal's power: less is silence.
    static bool is_heard(double power, std::size_t samples)
    {
        return power > 0.01 * static_cast<double>(samples);
    }

    //! Radians by which a phase may be wrong before the point farthest out is taken for another one.
    static float tolerated(const constellation& symbols);

    explicit phase_search(const constellation& symbols);

    /*! Whether decisions at a predicted phase may be wrong, and a search is worth while. A loop that
     * they once led astray stays there, so what they bear should be five standard deviations of
     * what is predicted wrongly: once in a million steps it is more. Where a search is not needed
     * it does harm: it takes for a phase what the taps should follow.
     * \param spread mean square of that, in radians² */
    bool is_worth(float spread) const { return 25 * spread > d_tolerated * d_tolerated; }

    //! Radians; the first is 0, and alone where decisions bear any phase.
    const std::vector<float>& angles() const { return d_angles; }
    const phase_line& line() const { return d_line; } //!< at the latest step
    //! Goes on from this line.
    void begin(const phase_line& line);
    //! What it searches has turned by so many radians.
    void turn(float by);
    //! The phase so many steps after the latest one.
    float expected(float later) const { return d_line.phase + later * d_line.growth; }

    //! The next step, of each angle; nothing if it is not known.
    void take(std::size_t angle, const told& step);
    //! Of the latest steps together, as the line goes on to the one that was taken.
    told together(std::size_t angle) const;
    /*! Which angle's labels are believed in the step that was taken.
     * \param all angles().size(): together(), of all streams that have the phase
     * \param symbols of them all in a step */
    std::size_t believe(const std::vector<told>& all, std::size_t symbols);

    //! Power that the step's labels leave of its samples, whatever the phase.
    float left(std::size_t angle) const
    {
        const told& latest = d_told[angle].back();
        return static_cast<float>(latest.power - 2 * std::abs(latest.sum));
    }

    void state(archive& members);

private:
    std::vector<float> d_angles;
    float d_tolerated;
    float d_range; // phases further off are another symmetry's
    std::vector<std::array<told, steps>> d_told;
    phase_line d_line;     // in the latest step
    std::size_t d_age = 0; // steps since anything told where it is
    float d_wander;        // mean square of what it goes beside the line in a step
};

} // namespace gr::adann::core
