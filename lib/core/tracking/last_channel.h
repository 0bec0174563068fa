/* -*- c++ -*- */
/*
 * Which delay and rotation labels have, from the channel that was there before.
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

/*! The impulse response from symbols to samples when the stream last settled.
 *
 * Labels decided without known symbols may be those that were sent, but some symbols early or late and
 * rotated by a symmetry of the constellation: the samples are the same, through a channel that
 * is late and rotated the other way. What remains of a channel that has changed, its first
 * ray, decides: the displacement is right that brings the channel of the labels nearest to the one
 * before. For an echo of amplitude a that rotated by 180° that is so up to a = 0.6, for one
 * that rotated by less, further. */
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

    //! That of the expected waveform itself.
    void reset();
    //! That of the waveform through this filter.
    void remember(const float* taps);
    /*! How labels whose waveform goes through this filter are displaced.
     * \param ahead radians by which the samples are rotated back further than they were */
    displacement find(const float* taps, double ahead) const;

    void state(archive& members);

private:
    using number = std::complex<float>;
    void pass(const float* taps, std::vector<number>& response) const;

    std::size_t d_sps, d_symmetries, d_taps, d_pitch;
    std::vector<number> d_linear; // the waveform's own
    std::vector<float> d_last;    // taps
    // From -reach symbols and half the taps on; nothing outlives a call in them.
    mutable std::vector<number> d_response, d_other;
};

} // namespace gr::adann::core
