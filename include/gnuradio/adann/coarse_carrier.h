/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/sync_block.h>

namespace gr::adann {

/*! \brief Removes most of a carrier's frequency offset, by the spectrum, before the matched filter.
 * \ingroup adann
 *
 * Input and output: complex samples, `sps` a symbol, before the matched filter and the clock recovery.
 *
 * A flat spectrum plus that of the pulses is fitted to the spectrum of some 4096 latest symbols, at
 * first of 512 to 1024; bins are weighted by their standard deviations. The offset is that of the best
 * fit, within 0.25 cycles per symbol either way. Its error is some 0.02 with a second ray of -12 dB;
 * carrier_recovery removes the remainder. The constellation's rotations make no ambiguity here. Where
 * noise alone fits as well nothing changes.
 *
 * An offset below 0.03 cycles per symbol is not removed. The first one found is removed at once. Later
 * changes are followed by 2e-9 cycles per symbol, per symbol; changes of more than 0.08 at once. The
 * output does not depend on the buffers' sizes. Tags keep their samples. */
class ADANN_API coarse_carrier : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<coarse_carrier> sptr;

    /*! \param sps samples a symbol, 2 to 64
     * \param roll_off of root-raised-cosine pulses, 0.05 to 1
     * \throws std::invalid_argument naming the parameter that is out of range */
    static sptr make(float sps, float roll_off = 0.35f);

    //! The offset that is removed, in cycles a symbol; 0 before one was found.
    virtual float frequency() const = 0;
};

} // namespace gr::adann
