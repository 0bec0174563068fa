/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/adann/soft_bit_convention.h>
#include <gnuradio/sync_interpolator.h>
#include <string>

namespace gr::adann {

/*! \brief Soft bits for a FEC decoder, from the equalizer's posteriors.
 * \ingroup adann
 *
 * Input: vectors of M posteriors. Output: for each of them log2(M) soft bits, floats or
 * int8, as the decoder takes them: see soft_bit_convention.
 *
 * Input 1, optional: vectors of log2(M) floats, the a priori ratios ln(P(1)/P(0)) that the
 * equalizer had at its input 2 for these posteriors. Soft bits are then extrinsic: the ratio less
 * the a priori one, which counts as ±20 at most and as 0 where it is not a number.
 *
 * Order: the bits of a label, most significant first, and the symbols as they come. A
 * sender that maps the bits in another order has another constellation: points in label
 * order. A deinterleaver belongs after this block. A tag moves to its symbol's first bit.
 *
 * Before GNU Radio 3.10.8 fec.ldpc_decoder takes a value y as the ratio y/(2 sigma^2).
 * sigma = 1 is best there: the exact sqrt(1/2) overflows in some frames.
 */
class ADANN_API soft_bits : virtual public gr::sync_interpolator
{
public:
    typedef std::shared_ptr<soft_bits> sptr;

    /*! \param size of the constellation (M): 2, 4, 8 ... 256
     * \param convention a name of soft_bit_conventions
     * \throws std::invalid_argument for another */
    static sptr make(unsigned size = 4, const std::string& convention = "gnuradio");

    //! \throws std::invalid_argument if a member of the convention is out of range
    static sptr make(unsigned size, const soft_bit_convention& convention);
};

} // namespace gr::adann
