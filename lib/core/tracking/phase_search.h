/* -*- c++ -*- */
/*
 * Selects the phase at which a step of a stream is decided.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"
#include "core/tracking/phase_bank.h"

#include <array>
#include <complex>
#include <optional>
#include <vector>

namespace gr::adann::core {

/*! A blind phase search by the residual from the expected waveform.
 *
 * Decisions tolerate a phase error of a part of the constellation's symmetry. Beyond it they agree
 * with another phase, to which a decision-directed loop then locks. So a step of symbols is decided
 * at each of angles() around expected(), closely enough for the decisions, up to half the
 * constellation's symmetry on each side. Samples correlated with the waveform of each angle's
 * decisions give a phase, and the residual after its correction. select() takes the angle with the
 * smallest residual over the latest `steps`, penalised by its squared distance from the phase line
 * over the phase's usual variance around that line.
 *
 * Many points agree at a false phase, too, but with a larger residual: 16APSK rotated by a step of its
 * outer ring, or 16QAM whose phase has jumped. An angle whose residual has been smaller for long is
 * selected at any distance: its cumulative log-likelihood ratio to the selected ones, less 0.05 a symbol,
 * exceeds 40 (Page, "Continuous inspection schemes", Biometrika 41, 1954).
 *
 * Source: Pfau, Hoffmann, Noe, "Hardware-efficient coherent digital receiver concept with
 * feedforward carrier recovery for M-QAM constellations", J. Lightw. Technol. 27, 2009, with the
 * expected waveform in place of the nearest points. */
class phase_search
{
public:
    static constexpr std::size_t steps = 3;

    //! A step's samples correlated with the waveform of its decisions at one angle.
    struct correlation {
        std::complex<double> sum; //!< carrier::compare()
        double power = 0;         //!< energy of the samples plus that of the waveform

        void add(const correlation& other)
        {
            sum += other.sum;
            power += other.power;
        }
        //! Of samples y with their expected waveform w, so many floats; complex ones interleaved.
        static correlation
        of(const float* y, const float* w, std::size_t floats, bool is_complex);
    };

    //! Whether a step of so many samples has more than a hundredth of a signal's power, 1.
    static bool has_signal(double power, std::size_t samples)
    {
        return power > 0.01 * static_cast<double>(samples);
    }

    //! Phase error, in radians, at which the outermost point is decided as another one.
    static float tolerated(const constellation& symbols);

    explicit phase_search(const constellation& symbols);

    /*! Whether a search is needed: decisions do not tolerate five standard deviations of the
     * prediction error, which it exceeds once in a million steps. A loop that has slipped to
     * another symmetry stays there. A search that is not needed does harm, as it takes changes of
     * the channel, which the taps should follow, for a phase.
     * \param spread mean square of the prediction error, radians²
     * \param tolerated tolerated() */
    static bool is_worth(float spread, float tolerated)
    {
        return 25 * spread > tolerated * tolerated;
    }

    //! Radians; the first is 0, and the only one if decisions tolerate any phase.
    const std::vector<float>& angles() const { return d_angles; }
    const phase_line& line() const { return d_line; } //!< at the latest step
    //! Starts from this line.
    void begin(const phase_line& line);
    //! Rotates its phases by so many radians.
    void turn(float by);
    //! The phase so many steps after the latest one.
    float expected(float later) const { return d_line.phase + later * d_line.growth; }

    //! Adds the next step at an angle; zero if its labels or samples are not usable.
    void take(std::size_t angle, const correlation& step);
    //! Sum over the latest steps, rotated along the line to the latest one.
    correlation accumulated(std::size_t angle) const;
    /*! Selects the angle whose decisions are used in the latest step.
     * \param all (angles) accumulated(), summed over the streams that share the phase
     * \param symbols of a step, of all these streams */
    std::size_t select(const std::vector<correlation>& all, std::size_t symbols);

    //! Energy of the latest step's residual at its best phase.
    float residual(std::size_t angle) const
    {
        const correlation& latest = d_correlations[angle].back();
        return static_cast<float>(latest.power - 2 * std::abs(latest.sum));
    }

    void state(archive& members);

private:
    float deviation(const correlation& of) const;
    bool is_possible(const correlation& of) const;
    std::optional<std::size_t> better_for_long(const std::vector<correlation>& all,
                                               std::size_t symbols,
                                               std::size_t selected);

    std::vector<float> d_angles;
    float d_range; // half a symmetry: phases beyond belong to another one
    std::vector<std::array<correlation, steps>> d_correlations;
    std::vector<double> d_evidence; // of each angle: better_for_long()
    phase_line d_line;              // at the latest step
    std::size_t d_age = 0;          // steps since the phase was measured
    float d_phase_noise;            // variance of a step's phase around the line
};

} // namespace gr::adann::core
