/* -*- c++ -*- */
/*
 * Whose decisions explain the samples: those after a filter, or those without it?
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

/*! Compares two ways to decide the same symbols, without knowing what was sent.
 *
 * The expected waveform of each way's labels is sent through a filter that is fitted to
 * the samples as they were received, by least squares: a stand-in for the channel. Where
 * the labels differ, those with the smaller residual of the samples around win. (The residual of
 * filtered samples is no measure: of a filter that puts out a constant, with
 * labels that are all alike, it is zero.)
 *
 * Symbols that differ are counted once where their surroundings overlap, and forgotten
 * over about 64 such bouts. A way is the worse one when it has lost more of them than won
 * by four standard deviations of a fair coin's: wrongly in about 3 of 10^5 independent
 * sets of 64 bouts. */
class judge
{
public:
    static constexpr std::size_t symbols = 128; //!< of a comparison
    static constexpr std::size_t reach = 3;     //!< of a fitted filter, to either side

    enum class verdict {
        open,
        worse,     //!< the first way is the worse one
        displaced, //!< its labels are the other's, but earlier, later, or rotated
        clear,     //!< its residual is less than half of the other one's
    };

    /*! \param symmetries constellation::symmetries(): labels that are alike but for one
     * do not differ where the carrier has rotated so far */
    judge(std::shared_ptr<const expected_waveform> waveform,
          const std::vector<std::vector<std::uint8_t>>& symmetries);

    /*! \param samples,other_samples of the first symbol, which owns sps of them: as they
     * came in, but for the phase that a way has followed
     * \param labels,others labels of two ways, `symbols` of them and the waveform's reach
     * on each side
     * \param turned radians by which the other way's samples are rotated against the first
     * one's */
    verdict compare(const signal_planes& samples,
                    const std::uint8_t* labels,
                    const signal_planes& other_samples,
                    const std::uint8_t* others,
                    float turned);

    /*! Σ |·|² that the waveform of the first way's labels left when they were compared and not
     * displaced; channel() then has the filter. */
    float residual() const { return d_left[0][symbols]; }
    //! The same over the samples' own Σ |·|².
    float relative_residual() const { return d_left[0][symbols] / d_power; }
    //! residual() of other labels.
    float residual(const signal_planes& samples, const std::uint8_t* labels)
    {
        fit(samples, labels, d_left[0]);
        return d_left[0][symbols];
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
    static constexpr std::size_t around = 4; //!< symbols on each side that are compared

    //! The symmetry that makes the others most alike, or none that the carrier explains.
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
    float d_enough; // of a step: see least_squares::approach()
    aligned_floats d_channel, d_gradient;
    planes d_wave, d_passed;
    std::vector<float> d_left[2];  // up to each symbol
    float d_power = 0;             // of the samples that were looked at last
    float d_lost = 0, d_bouts = 0; // bouts: lost less won, and all
};

} // namespace gr::adann::core
