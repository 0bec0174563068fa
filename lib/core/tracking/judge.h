/* -*- c++ -*- */
/*
 * Compares decisions after a filter with those without it: which explain the samples better?
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/expected_waveform.h"
#include "core/tracking/belief.h"
#include "core/tracking/displacement.h"
#include "core/tracking/least_squares.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gr::adann::core {

/*! Compares two label sequences for the same symbols without knowing what was sent.
 *
 * The expected waveform of each sequence is passed through a filter that is fitted to the
 * received samples by least squares, as an estimate of the channel. Where the labels differ,
 * those with the smaller residual of the samples around win. (The residual of filtered samples
 * would not do: it is zero for a filter that puts out a constant and equal labels.)
 *
 * Differing symbols whose surroundings overlap are one bout. Bouts are forgotten over about 64 of
 * them. The first sequence is the worse one if it has lost more bouts than won by four standard
 * deviations of a fair coin, of few bouts; by 5.6 of many, as these are weighted. It is also, if
 * its residual is more than twice the other's, and it lost at least three more bouts of this
 * comparison than it won: at small noise a single error is larger than the whole residual. */
class judge
{
public:
    static constexpr std::size_t symbols = 128; //!< of a comparison
    //! Symbols on each side that the fitted filter spans: as far as the taps, within these limits. A change of an echo
    //! that it did not reach would count as noise, and right labels as worse ones. Up to the upper one there are
    //! more than six equations for each unknown.
    static constexpr std::size_t least_reach = 3, most_reach = 8;

    enum class verdict {
        open,      //!< none of the others
        worse,     //!< the first sequence is the worse one
        displaced, //!< the first one is the second one, but earlier, later, or rotated
        clear,     //!< the residual of the first one is less than half the second one's
    };

    /*! \param symmetries constellation::symmetries(): labels that are equal after a symmetry do not
     * differ, if the carrier has rotated by about as much
     * \param reach symbols on each side that the taps span */
    judge(std::shared_ptr<const expected_waveform> waveform,
          const std::vector<std::vector<std::uint8_t>>& symmetries,
          std::size_t reach);

    /*! \param samples,other_samples first sample of the first symbol's sps ones: as received, with
     * the carrier that was followed removed
     * \param labels,others the two sequences, `symbols`
     * labels and the waveform's reach on each side
     * \param turned radians by which other_samples are rotated relative to samples */
    verdict compare(const signal_planes& samples,
                    const std::uint8_t* labels,
                    const signal_planes& other_samples,
                    const std::uint8_t* others,
                    float turned);

    /*! Residual energy of the first sequence in the latest comparison without
     * verdict::displaced; channel() is its filter. */
    float residual() const { return d_residual[0][symbols]; }
    //! The same of the second sequence.
    float other_residual() const { return d_residual[1][symbols]; }
    //! The first one's relative to the energy of the samples.
    float relative_residual() const { return d_residual[0][symbols] / d_power; }
    //! Residual energy of other labels; channel() is their filter then.
    float residual(const signal_planes& samples, const std::uint8_t* labels)
    {
        fit(samples, labels, d_residual[0]);
        return d_residual[0][symbols];
    }
    const float* channel() const { return d_channel.data(); } //!< of normal_equations
    const normal_equations& shape() const { return d_sums; }  //!< of the channel

    void reset() { d_lost = d_bouts = 0; }
    void state(archive& members)
    {
        members("lost", d_lost, -65.0f, 65.0f);
        members("bouts", d_bouts, 0.0f, 65.0f);
    }

private:
    static constexpr std::size_t around =
        4; //!< symbols on each side whose residual counts

    //! The symmetry, out of those near the carrier's rotation, with the most equal labels; null if
    //! another delay or symmetry has clearly more.
    const std::vector<std::uint8_t>*
    align(const std::uint8_t* labels, const std::uint8_t* others, float turned) const;
    void fit(const signal_planes& samples,
             const std::uint8_t* labels,
             std::vector<float>& sums);

    std::shared_ptr<const expected_waveform> d_waveform;
    std::vector<std::vector<std::uint8_t>> d_symmetries;
    std::size_t d_sps, d_taps, d_planes;
    normal_equations d_sums;
    least_squares d_solver;
    linear_filter d_filter;
    aligned_floats d_expected;
    float d_enough; // see least_squares::approach()
    aligned_floats d_channel, d_gradient;
    planes d_wave, d_passed;
    std::vector<float>
        d_residual[2];             // residual energy of each sequence, up to each symbol
    float d_power = 0;             // energy of the samples of the latest fit
    float d_lost = 0, d_bouts = 0; // bouts lost less those won; all bouts
};

} // namespace gr::adann::core
