/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/sync_block.h>
#include <string>

namespace gr::adann {

/*! \brief Removes a carrier's frequency offset and phase without a decision, whatever the channel.
 * \ingroup adann
 *
 * Input and output: complex samples of about unit power, `sps` a symbol; sample k sps is near the
 * middle of symbol k, as after clock recovery.
 *
 * The M-th power of these, M the order of the constellation's rotations, has a line at M times the
 * offset. Each amplitude, relative to the mean of some 512 symbols, has a weight by its information
 * about the phase (core::rotation_power). The line is the peak of the periodogram of the latest 4096
 * symbols, at first of 1024 and 2048, searched for every 1024. It counts from 40 times the median
 * on, which noise alone reaches once in 10^8 searches. Offsets reach 1/(2M) cycles per symbol either
 * way: 0.125 for QPSK and 16QAM, 0.0625 for 8PSK. One that drifts beyond is followed, of QPSK at
 * 14 dB at up to 3e-7 cycles per symbol, per symbol. After a jump of more than 1/(10M) it is within
 * that reach again. coarse_carrier, before the matched filter, has no such limit.
 *
 * The phase is that of the power's average, with 1/(2 bandwidth) symbols as time constant. This is
 * multiplied by E|p|²/|E p|² of the points' powers p, whose phases scatter without noise, too: 1.8
 * for 8PSK, 4.6 for 16QAM. A second average is four times as long. The one that has predicted the
 * powers of some 4096 symbols better is in use. The phase is right up to a multiple of 2π/M.
 *
 * For oqpsk, whose Q comes half a symbol later, the clock need not be recovered, with 4 samples or
 * more per symbol. Their square has two lines, at twice the offset plus and minus the symbol rate,
 * which may be off by 0.3 %. They count from 50 times the median on, together. The carrier's phase
 * follows from the sum of theirs. These lines come from the spectrum's edges: there are none without
 * excess bandwidth. The offset reaches 0.25 cycles per symbol; the time constant is 16 times longer.
 *
 * Where there is no line, as after strong echoes with 8PSK, the latest offset and phase stay. A pattern that
 * repeats within 4096 symbols has lines of its own, which may be taken for the carrier's. The output
 * does not depend on the buffers' sizes. Tags keep their samples.
 *
 * Source: Viterbi, Viterbi, "Nonlinear estimation of PSK-modulated carrier phase", IEEE Trans. Inf.
 * Theory 29, 1983; Wang, Serpedin, Ciblat, "Optimal blind nonlinear least-squares carrier phase and
 * frequency offset estimation for general QAM modulations", IEEE Trans. Wireless Commun. 2, 2003. */
class ADANN_API carrier_recovery : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<carrier_recovery> sptr;

    /*! \param constellation as core::constellation takes it; of 2, 4 or 8 rotations
     * \param sps samples a symbol, 1 to 64; of oqpsk from 4 on
     * \param bandwidth of the phase, relative to the symbol rate, above 0, below 0.5
     * \throws std::invalid_argument naming the parameter that is out of range */
    static sptr
    make(const std::string& constellation, unsigned sps = 2, float bandwidth = 0.005);

    //! \throws std::invalid_argument if it is out of range
    virtual void set_bandwidth(float bandwidth) = 0;
    //! The offset that is removed, in cycles a symbol; 0 before a line was found.
    virtual float frequency() const = 0;
};

} // namespace gr::adann
