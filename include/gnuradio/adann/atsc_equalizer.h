/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/block.h>

#include <cstdint>
#include <vector>

namespace gr::adann {

/*! \brief Adaptive equalizer for GNU Radio's ATSC (8VSB) receiver.
 * \ingroup adann
 *
 * Takes the place of dtv::atsc_equalizer between dtv::atsc_fs_checker and
 * dtv::atsc_viterbi_decoder. Input 0: segments of 832 floats. Input 1: each one's plinfo, four
 * bytes: flags (uint16: bit 0x10, second field) and segment number (int16: -1, a field's first
 * segment). Outputs: segments of data and their plinfo, levels ±1 … ±7 with residual noise. Field
 * segments are not put out, nor is anything before the first one. A segment comes out when the next
 * one has come in; tags stay at their segment.
 *
 * The taps start from a field's 704 known symbols, by least squares. They follow the signal from
 * known symbols and from the posterior means of the others, as core::segment_equalizer says. The
 * output does not depend on the buffers' sizes.
 *
 * Message port `status`: a dictionary per field: event ("step"), tracking (following, or lost if it
 * has just started over), memory (symbols), filter_resets, decided (symbols), and of the known
 * symbols of the field's first segment, as they came, residual and mer (dB), evm, and
 * known_errors (part that was decided wrongly). */
class ADANN_API atsc_equalizer : virtual public gr::block
{
public:
    typedef std::shared_ptr<atsc_equalizer> sptr;

    /*! \param past,future samples before and after its own that a symbol is estimated from, 8 to
     * 128: for an echo that is n symbols late, past > n
     * \throws std::invalid_argument naming the one that is out of range */
    static sptr make(unsigned past = 64, unsigned future = 32);

    // After the latest field, safe while it runs.
    //! dB, of a field's known symbols; NaN before the second field.
    virtual double modulation_error_ratio() const = 0;
    //! Part of a field's known symbols that was decided wrongly; NaN before the second field.
    virtual double known_errors() const = 0;
    //! Forgetting time constant of the taps in use, symbols; 0 before the first field.
    virtual std::uint64_t memory() const = 0;
    //! Times that it started over, from the known symbols of a field.
    virtual std::uint64_t resets() const = 0;
    //! The earliest sample's first.
    virtual std::vector<float> taps() const = 0;
};

} // namespace gr::adann
