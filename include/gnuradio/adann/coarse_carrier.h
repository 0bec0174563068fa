/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/sync_block.h>

namespace gr::adann {

/*! \brief Brings a signal to the middle of its matched filter: its carrier's offset, by the spectrum.
 * \ingroup adann
 *
 * Input and output: complex samples, `sps` a symbol, before the matched filter and the clock recovery.
 *
 * The spectrum of some 4096 latest symbols, at first of 512 to 1024, is fitted by a flat one and that of
 * the pulses, each bin by its own deviation. The offset is that of the best fit, within 0.25 cycles a
 * symbol either way, right to some 0.02, with a second ray of -12 dB; carrier_recovery finds the rest. So
 * there is no ambiguity by the constellation's rotations. Where noise alone fits as well nothing changes.
 *
 * An offset below 0.03 cycles a symbol stays. The first one found is removed at once. Later, the one in use
 * follows by 2e-9 cycles a symbol in each symbol, and at once where the signal is farther than 0.08
 * from it. The output does not depend on the buffers' sizes. Tags keep their samples. */
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
