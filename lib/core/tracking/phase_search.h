/* -*- c++ -*- */
/*
 * Which of several phases a step of a stream is decided at.
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

/*! A blind phase search by the residual from the expected waveform.
 *
 * Decisions tolerate a phase error of a part of the constellation's symmetry; beyond it they agree with another
 * phase, which a decision-directed loop then follows. So a step of symbols is decided at each of angles()
 * around expected(), closer than decisions tolerate, up to the constellation's next symmetry. Samples
 * correlated with the waveform of each angle's decisions give a phase, and a residual without it. select() takes
 * the angle of the least residual over the latest `steps`, weighed against the variance of the phase around
 * its line.
 *
 * Source: Pfau, Hoffmann, Noe, "Hardware-efficient coherent digital receiver concept with
 * feedforward carrier recovery for M-QAM constellations", J. Lightw. Technol. 27, 2009, with the
 * expected waveform in place of the nearest points. */
class phase_search
{
public:
    static constexpr std::size_t steps = 3;

    //! Of a step's samples with the waveform of its decisions at one angle.
    struct correlation {
        std::complex<double> sum; //!< carrier::compare()
        double power = 0;         //!< of the samples, and of that waveform

        void add(const correlation& other)
        {
            sum += other.sum;
            power += other.power;
        }
    };

    //! Whether a step of so many samples has a hundredth of a signal's power: less is silence.
    static bool has_signal(double power, std::size_t samples)
    {
        return power > 0.01 * static_cast<double>(samples);
    }

    //! Radians by which a phase may be wrong before the point farthest out is taken for another one.
    static float tolerated(const constellation& symbols);

    explicit phase_search(const constellation& symbols);

    /*! Whether decisions at a predicted phase may be wrong, so that a search is worth while. A loop that
     * follows another symmetry stays there, so decisions should tolerate five standard deviations of the
     * prediction error: once in a million steps it is larger. A search that is not needed does harm: it takes
     * what the taps should follow for a phase.
     * \param spread mean square of the prediction error, radians² */
    bool is_worth(float spread) const { return 25 * spread > d_tolerated * d_tolerated; }

    //! Radians; the first is 0, and the only one where decisions tolerate any phase.
    const std::vector<float>& angles() const { return d_angles; }
    const phase_line& line() const { return d_line; } //!< at the latest step
    //! Goes on from this line.
    void begin(const phase_line& line);
    //! What it searches has rotated by so many radians.
    void turn(float by);
    //! The phase so many steps after the latest one.
    float expected(float later) const { return d_line.phase + later * d_line.growth; }

    //! The next step, of each angle; nothing if it is not known.
    void take(std::size_t angle, const correlation& step);
    //! Over the latest steps, along the line to the one that was taken.
    correlation accumulated(std::size_t angle) const;
    /*! The angle whose decisions are used in the step that was taken.
     * \param all angles().size(): accumulated(), of all streams that have the phase
     * \param symbols of them all in a step */
    std::size_t select(const std::vector<correlation>& all, std::size_t symbols);

    //! Energy of the step's residual, whatever the phase.
    float left(std::size_t angle) const
    {
        const correlation& latest = d_correlations[angle].back();
        return static_cast<float>(latest.power - 2 * std::abs(latest.sum));
    }

    void state(archive& members);

private:
    std::vector<float> d_angles;
    float d_tolerated;
    float d_range; // phases further off are another symmetry's
    std::vector<std::array<correlation, steps>> d_correlations;
    phase_line d_line;     // in the latest step
    std::size_t d_age = 0; // steps since the phase was measured
    float d_phase_noise;   // variance of a step's phase around the line
};

} // namespace gr::adann::core
