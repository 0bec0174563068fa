/* -*- c++ -*- */
/*
 * Rotates a stream back by the phase that its carrier has left in it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/rotate.h"
#include "core/tracking/linear_filter.h"
#include "core/tracking/phase_bank.h"

#include <cmath>
#include <complex>

namespace gr::adann::core {

//! Σ samples · conj(expected) of n interleaved ones: its argument is the phase that is left of
//! a carrier.
std::complex<double>
remaining(const float* expected, const float* samples, std::size_t n);
/*! Turns what is expected by the phase that is left of a carrier, each step of n samples by that
 * of itself and its neighbours: taps are not to learn what a prediction left. */
void rotate_expected(const float* samples,
                     std::size_t n,
                     float* expected,
                     std::size_t steps);
//! Σ |·|² of n interleaved samples.
double power_of(const float* samples, std::size_t n);

/*! A carrier's phase in radians: straight from the middle of a step to that of the next one, and
 * on from there. */
struct phase_path {
    float before;       //!< at the former middle
    phase_line line;    //!< from the latter one on
    std::size_t middle; //!< the latter, a sample of the buffer
};

/*! Follows the carrier's phase (phase_bank.h) in steps of `step` symbols, and keeps the
 * rotation of each sample of a buffer. */
class carrier
{
public:
    static constexpr std::size_t step = 16; //!< symbols

    /*! \param samples of the buffer
     * \param sps samples of a symbol
     * \param behind symbols from the end of a step that is measured to the samples that are rotated
     * next: what a decision and its neighbours wait for
     * \param tolerated radians, by decisions */
    carrier(std::size_t samples, std::size_t sps, std::size_t behind, float tolerated);

    //! Sets the rotation of the buffer's samples from `first` up to `end`.
    void prepare(std::size_t first, std::size_t end);

    /*! Takes a step that was decided: step·sps complex samples from `first` on.
     * \param expected what is expected of them, interleaved
     * \param rotated they, as rotated back
     * \param by decisions, or labels in an uncertain stream */
    void measure(const float* expected,
                 const float* rotated,
                 std::size_t first,
                 phase_reference by = phase_reference::decisions)
    {
        measure(compare(expected, rotated, first), first, by);
    }
    //! The same of sums of several streams that have one carrier.
    void measure(std::complex<double> sum,
                 std::size_t first,
                 phase_reference by = phase_reference::decisions);
    /*! The same where posterior means are expected, as decisions are uncertain: what these leave is linear
     * in a small phase, while the sum's own size is too noisy to divide by.
     * \param power of an expected sample, mean square */
    void measure_by_means(const float* expected,
                          const float* rotated,
                          std::size_t first,
                          float power);
    //! What a step tells: its argument is the phase, its absolute value the weight.
    std::complex<double>
    compare(const float* expected, const float* rotated, std::size_t first) const;
    //! A step without a measurement.
    void skip(std::size_t first);

    //! sample · conj(rotation) for each of n samples from `first` on, interleaved.
    void rotate_back(const float* re,
                     const float* im,
                     std::size_t first,
                     std::size_t n,
                     float* to) const;
    //! The phase as it is known once it is measured: up to the latest step.
    phase_path measured() const
    {
        const auto aside = static_cast<float>(d_ambiguity_phase);
        const phase_line line = d_phases.in_use();
        return { d_phases.before() + aside,
                 { line.phase + aside, line.growth },
                 d_middle };
    }
    //! n samples from `first` on that were rotated back, as if by this phase instead.
    void turn_to(const phase_path& path,
                 const float* rotated,
                 std::size_t first,
                 std::size_t n,
                 float* to) const;
    //! The other way, in place.
    void rotate(planes& samples, std::size_t first, std::size_t n) const;

    void reset()
    {
        d_phases.reset();
        d_ambiguity_phase = 0;
    }
    /*! Starts over from a line that is known.
     * \param frequency turns a symbol
     * \param phase radians, at sample `at` of the buffer */
    void begin(double frequency, double phase, std::size_t at);
    //! Has followed a phase that is so many radians further.
    void turn(double slipped) { d_phases.turn(static_cast<float>(slipped)); }
    //! Turns further by a constant, whatever is followed: what is idle, too.
    void add_ambiguity(double by)
    {
        d_ambiguity_phase = std::remainder(d_ambiguity_phase + by, 2 * M_PI);
    }
    //! Has followed a phase that is so many radians further, as have the buffer's samples from `first` up to `end`.
    void turn(double by, std::size_t first, std::size_t end);
    float spread() const { return d_phases.spread(); } //!< phase_bank's
    double probability_beyond(double radians) const    //!< phase_bank's
    {
        return d_phases.probability_beyond(radians);
    }
    //! Whether it leaves the samples alone.
    bool idle() const { return d_phases.idle(); }
    bool may_move() const { return d_phases.may_move(); } //!< phase_bank's
    /*! Goes on from a line.
     * \param sample of the buffer, where it has that phase, in radians
     * \param growth radians a sample */
    void set(std::size_t sample, float phase, float growth)
    {
        d_middle = sample;
        d_ambiguity_phase = 0;
        d_phases.set({ phase, growth * static_cast<float>(step * d_sps) });
    }
    //! What a sample of the buffer was rotated back by.
    std::complex<float> rotation(std::size_t sample) const
    {
        return { d_rotation.re[sample], d_rotation.im[sample] };
    }
    //! Moves the buffer back by so many samples.
    void move_back(std::size_t samples);

    //! Radians.
    float phase() const
    {
        return d_phases.in_use().phase + static_cast<float>(d_ambiguity_phase);
    }
    //! The same at a sample of the buffer.
    double phase_at(std::size_t sample) const;
    //! Turns of a symbol.
    float frequency() const;

    //! \param first,n samples of the buffer that are still needed
    void state(archive& members, std::size_t first, std::size_t n);

private:
    std::size_t middle_of(std::size_t first) const { return first + step * d_sps / 2; }

    std::size_t d_sps;
    planes d_rotation;
    phase_bank d_phases;
    double d_ambiguity_phase = 0; // radians, relative to the phase that is followed
    std::size_t d_middle = 0;     // the sample in the middle of the latest step measured
};

} // namespace gr::adann::core
