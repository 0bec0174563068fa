/* -*- c++ -*- */
/*
 * Finds the delay and rotation of labels by comparing their channel with an earlier one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"
#include "core/files/archive.h"
#include "core/signal/expected_waveform.h"
#include "core/tracking/displacement.h"

#include <complex>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! The impulse response from symbols to samples at the latest test that confirmed the stream.
 *
 * Labels decided without known symbols may be early or late, or rotated by a
 * symmetry of the constellation: the samples are the same, through a channel that
 * is late and rotated the other way. The displacement that brings the channel of
 * the labels nearest to the earlier one is taken. It is right as long as the main
 * path, which stays, outweighs what has changed: for an echo of amplitude a whose
 * phase has changed by 180° up to a = 0.6, and further for a smaller change. */
class last_channel
{
public:
    /*! \param symmetries of the constellation
     * \param taps of the filters from the expected waveform to the samples, odd
     * \param pitch floats of a real or imaginary part of theirs */
    last_channel(const expected_waveform& waveform,
                 std::size_t symmetries,
                 std::size_t taps,
                 std::size_t pitch);

    //! Remembers the channel of the expected waveform itself.
    void reset();
    //! Remembers that of the waveform through this filter.
    void remember(const float* taps);
    /*! The displacement of labels whose expected waveform passes through this filter.
     * \param ahead radians by which the samples are rotated back further than they were then */
    displacement find(const float* taps, double ahead) const;

    void state(archive& members);

private:
    using number = std::complex<float>;
    void pass(const float* taps, std::vector<number>& response) const;

    std::size_t d_sps, d_symmetries, d_taps, d_pitch;
    std::vector<number> d_linear; // the waveform's own
    std::vector<float> d_last;    // taps
    // Scratch; the first element is at a delay of -reach symbols and half the taps.
    mutable std::vector<number> d_response, d_other;
};

} // namespace gr::adann::core
