/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/block.h>

namespace gr::adann {

/*! \brief Samples in, one feature vector per symbol out.
 * \ingroup adann
 *
 * For users' own networks and for looking at the data; adann::equalizer takes its windows
 * from the samples directly. Sample i·sps is the middle of symbol i. Its vector holds the
 * samples i·sps - ⌊sps/2⌋ - half_window·sps and on, sps·(2·half_window + 1) of them;
 * before the first sample there are zeros. Complex samples become interleaved I, Q
 * floats. Vector i appears once the last of its samples has come; a tag moves to the
 * vector of the symbol that owns its sample: from j to ⌊(j + ⌊sps/2⌋)/sps⌋.
 * Source: the paper's v(i), Section II-A.
 */
class ADANN_API feature_windower : virtual public gr::block
{
public:
    typedef std::shared_ptr<feature_windower> sptr;

    /*!
     * \param sps samples per symbol, 1 to 64
     * \param half_window symbols on each side of the one in the middle, 0 to 255
     * \param complex whether the samples are complex
     * \throws std::invalid_argument if a parameter is out of range
     */
    static sptr make(unsigned sps = 4, unsigned half_window = 5, bool complex = false);

    //! Floats of one output vector.
    virtual std::size_t dimension() const = 0;
};

} // namespace gr::adann
