/* -*- c++ -*- */
/*
 * What the latest samples of a stream say of labels.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/hypothesis.h"
#include "core/tracking/judge.h"
#include "core/tracking/label_variety.h"
#include "core/tracking/tracked_stream.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gr::adann::core {

/*! Compares labels of the latest judge::symbols symbols by the energy of their residual: the received samples less the
 * labels' expected waveform through a channel that is fitted by least squares (judge.h).
 *
 * In a test it is compared with that of other labels, with its usual value, when the stream was last confirmed, and with
 * that of random decisions.
 *
 * compare() begins a test: all other functions are of the samples that it looked at.
 * Functions that fit say so: residual_energy(), channel() and all that follows from these are of the latest fit. */
class label_evidence
{
public:
    label_evidence(const tracked_stream& stream,
                   std::shared_ptr<const expected_waveform> waveform,
                   const constellation& alphabet);

    //! Labels that the network decides without the filter, by the latest compare(): of judge::symbols and the waveform's
    //! reach on each side.
    const std::vector<std::uint8_t>& unfiltered() const { return d_unfiltered; }

    //! Decides the latest symbols without the filter, and compares the stream's labels with these. A fit of the
    //! stream's labels, unless the verdict is that they are late or rotated.
    judge::verdict compare(tracked_stream& stream, const network_decider& decides);
    //! A fit of the stream's labels.
    void fit_latest(const tracked_stream& stream);
    /*! A fit of other labels.
     * \param labels of judge::symbols and the waveform's reach on each side
     * \return residual_energy() */
    float fit(const tracked_stream& stream, const std::uint8_t* labels);
    //! A fit of the labels without the filter. \return residual_energy()
    float fit_unfiltered(const tracked_stream& stream);

    /*! The acceptance rule: whether the labels' residual is clearly less than that of the network's labels,
     * with the filter and without it. Or, of a timing, as the channel is known then: whether it is as usual, and that of the
     * stream's labels 1.25 times larger. The usual residual has to be below half that of random decisions: otherwise one of
     * many searched instants and phases has it by chance. A fit of these labels, unless they do not determine a channel, or
     * a pause begins or ends among the samples.
     * \param proposed size() labels or more */
    bool is_believed(const tracked_stream& stream, const hypothesis& proposed);

    float residual_energy() const { return d_judge.residual(); }
    //! The same of unfiltered(), after compare() without verdict::displaced.
    float unfiltered_energy() const { return d_judge.other_residual(); }
    //! The same relative to the energy of the samples.
    float relative_residual() const { return d_judge.relative_residual(); }
    const float* channel() const { return d_judge.channel(); } //!< of shape()
    const normal_equations& shape() const { return d_judge.shape(); }
    //! Whether the stream's labels have another rotation than unfiltered(), by the carrier.
    bool is_rotated(const tracked_stream& stream) const;
    //! Whether labels determine a channel. \param labels of judge::symbols
    bool determines(const std::uint8_t* labels) const
    {
        return d_variety.is_enough(labels);
    }
    //! Whether the labels surely come from a signal: their relative residual is below three quarters of random
    //! decisions'. That of decisions of filtered noise is larger (Max, IRE Trans. Inf. Theory 6, 1960).
    bool shows_signal() const;

    //! Whether the stream was ever confirmed.
    bool has_usual() const { return d_usual > 0; }
    //! Whether the residual is below 1.25 times its usual value.
    bool is_as_usual() const { return residual_energy() < as_before * d_usual; }
    //! Confirms the stream. A larger residual becomes the usual one by and by: until then its cause may be a wrong
    //! phase. \return whether it was as usual
    bool confirm();
    void forget_usual() { d_usual = 0; }
    //! Samples are multiplied by so much more from here on.
    void scale(float by) { d_usual *= by * by; }

    //! The samples that compare() looked at, without their carrier.
    signal_planes derotated(const tracked_stream& stream) const;

    //! Earlier comparisons were of labels by other taps.
    void forget_comparisons() { d_judge.reset(); }
    void state(archive& members);

private:
    float turned(const tracked_stream& stream) const;

    float d_random;    // mean square residual of a sample, of random decisions
    float d_at_random; // and with the noise
    judge d_judge;
    label_variety d_variety;
    float d_usual = 0; // residual_energy() when the stream was last confirmed; 0: never

    // Nothing outlives a test in these.
    std::vector<std::uint8_t> d_unfiltered; // labels
    planes d_derotated;
    aligned_floats d_windows;
};

} // namespace gr::adann::core
