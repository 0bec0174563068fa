/* -*- c++ -*- */
/*
 * Rotates a stream back by its carrier's phase.
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

//! Σ samples · conj(expected) of n interleaved ones: its argument is the residual phase.
std::complex<double>
remaining(const float* expected, const float* samples, std::size_t n);
/*! Rotates samples to the phase of a reference, each step of n by the phase of itself and its two neighbours. The expected
 * waveform is so rotated to that of the samples, as the taps are not to learn the carrier's prediction error. */
void rotate_by_steps(const float* reference,
                     std::size_t n,
                     float* samples,
                     std::size_t steps);
//! Σ |·|² of n interleaved samples.
double power_of(const float* samples, std::size_t n);

/*! A carrier's phase in radians: linear between the middles of the latest two measured steps, and
 * extrapolated beyond. */
struct phase_path {
    float before;       //!< in the middle of the step before the latest
    phase_line line;    //!< from the middle of the latest step on
    std::size_t middle; //!< of the latest step, a sample of the buffer
};

/*! Follows the carrier's phase (phase_bank.h) in steps of `step` symbols, and keeps the
 * rotation of each sample of a buffer. */
class carrier
{
public:
    static constexpr std::size_t step = 16; //!< symbols

    /*! \param samples of the buffer
     * \param sps samples of a symbol
     * \param behind symbols from the end of a measured step to the samples that are rotated next:
     * the window and the neighbours that a measurement waits for
     * \param tolerated phase error that decisions tolerate, radians */
    carrier(std::size_t samples, std::size_t sps, std::size_t behind, float tolerated);

    //! Sets the rotation of the buffer's samples from `first` up to `end`.
    void prepare(std::size_t first, std::size_t end);

    /*! Measures the phase of a decided step: step·sps complex samples from `first` on.
     * \param expected their expected waveform, interleaved
     * \param rotated the samples, rotated back
     * \param by decisions, or labels in an uncertain stream */
    void measure(const float* expected,
                 const float* rotated,
                 std::size_t first,
                 phase_reference by = phase_reference::decisions)
    {
        measure(compare(expected, rotated, first), first, by);
    }
    //! The same from compare(), summed over the streams that share a carrier.
    void measure(std::complex<double> sum,
                 std::size_t first,
                 phase_reference by = phase_reference::decisions);
    /*! The same from posterior means, where decisions are uncertain: the imaginary part of the
     * correlation over the waveform's known power, which is linear in a small phase error. The
     * magnitude of the correlation would be too noisy as a divisor.
     * \param power of an expected sample, mean square */
    void measure_by_means(const float* expected,
                          const float* rotated,
                          std::size_t first,
                          float power);
    //! A step's correlation with its expected waveform: the
    //! argument is the phase, the magnitude the weight.
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
    //! The measured phase, up to the latest step.
    phase_path measured() const
    {
        const auto added = static_cast<float>(d_ambiguity_phase);
        const phase_line line = d_phases.in_use();
        return { d_phases.before() + added,
                 { line.phase + added, line.growth },
                 d_middle };
    }
    //! Rotates n samples from `first` on, which were rotated back, as if by this phase instead.
    void turn_to(const phase_path& path,
                 const float* rotated,
                 std::size_t first,
                 std::size_t n,
                 float* to) const;
    //! Rotates samples forward, in place: the inverse of rotate_back().
    void rotate(planes& samples, std::size_t first, std::size_t n) const;

    void reset()
    {
        d_phases.reset();
        d_ambiguity_phase = 0;
    }
    /*! Starts over from a given line.
     * \param frequency cycles per symbol
     * \param phase radians, at sample `at` of the buffer
     * \param sure steps for which it surely moves: see phase_bank::set() */
    void begin(double frequency, double phase, std::size_t at, std::size_t sure = 0);
    //! Adds a slip, in radians, to the loops' phases.
    void turn(double slipped) { d_phases.turn(static_cast<float>(slipped)); }
    //! Adds a constant to the rotation; an idle loop stays idle.
    void add_ambiguity(double by)
    {
        d_ambiguity_phase = std::remainder(d_ambiguity_phase + by, 2 * M_PI);
    }
    //! Adds so many radians to the loops' phases and to the rotation of samples `first` to `end`.
    void turn(double by, std::size_t first, std::size_t end);
    float spread() const { return d_phases.spread(); } //!< phase_bank's
    double probability_beyond(double radians) const    //!< phase_bank's
    {
        return d_phases.probability_beyond(radians);
    }
    //! Whether the phase is zero throughout: there is no carrier.
    bool idle() const { return d_phases.idle(); }
    bool may_move() const { return d_phases.may_move(); } //!< phase_bank's
    /*! Starts from a line.
     * \param sample of the buffer at which it has that phase, in radians
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
    //! The phase at a sample of the buffer, radians.
    double phase_at(std::size_t sample) const;
    //! Cycles per symbol.
    float frequency() const;

    //! \param first,n samples of the buffer that are still needed
    void state(archive& members, std::size_t first, std::size_t n);

private:
    std::size_t middle_of(std::size_t first) const { return first + step * d_sps / 2; }
    // The phase that is followed, out of that of the samples.
    float followed(double phase) const
    {
        return wrapped(static_cast<float>(phase - d_ambiguity_phase));
    }

    std::size_t d_sps;
    planes d_rotation;
    phase_bank d_phases;
    double d_ambiguity_phase = 0; // radians, relative to the phase that is followed
    std::size_t d_middle = 0;     // the sample in the middle of the latest step measured
};

} // namespace gr::adann::core
