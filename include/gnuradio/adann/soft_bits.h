/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/sync_interpolator.h>

namespace gr::adann {

/*! \brief Soft bits for a FEC decoder, from the equalizer's posteriors.
 * \ingroup adann
 *
 * Input: vectors of M posteriors. Output: for each of them log2(M) floats, the bits of
 * the label, most significant first. Of a bit it is the log-likelihood ratio ln(P(1) /
 * P(0)), natural logarithm, limited to ±20; positive is a 1, as in gr-fec. A tag moves
 * to its symbol's first bit.
 *
 * What gr-fec's decoders make of the scale: fec.ldpc_decoder takes these ratios as they
 * are; before GNU Radio 3.10.8 it took a value y as the ratio 2y/sigma^2 and wants
 * sigma = sqrt(2) there. The others quantise to 8
 * bits with 48 steps per unit behind fec.extended_decoder, which keeps 2.6: multiply by
 * 0.25 before it, which keeps ratios up to 10; a Viterbi decoder's result does not depend
 * on the scale.
 */
class ADANN_API soft_bits : virtual public gr::sync_interpolator
{
public:
    typedef std::shared_ptr<soft_bits> sptr;

    /*! \param size of the constellation (M): 2, 4, 8 ... 256
     * \throws std::invalid_argument for another */
    static sptr make(unsigned size = 4);
};

} // namespace gr::adann
