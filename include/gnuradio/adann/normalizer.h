/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/sync_block.h>

namespace gr::adann {

/*! \brief Zero mean and unit power: (x - mean) / rms, with rms the standard deviation.
 * \ingroup adann
 *
 * The statistics are those of the recent past (make) or given ones (make_fixed, for
 * records that were measured beforehand). A sample that is not finite comes out as 0 and
 * never enters the statistics.
 *
 * Running statistics weigh all samples since the first alike until `window` of them have
 * come; then older ones fade exponentially with `window` samples as time constant. They
 * change with every one of the first 1024 samples, then after every 1024. After n <
 * window samples of noise the scale is right to about 1/sqrt(2n); a small fall in level is
 * forgotten to 5 % after 3 windows. A rise by 12 dB or more, as when a sender is switched
 * on, is followed within 32 samples: the statistics start over. A fall by 12 dB or more is
 * a pause at first, in which samples stay small. Once it has lasted window / 8
 * samples, 1024 at least, it is followed by 6 dB each 1024 samples: what is received in
 * longer pauses, noise, comes out with unit power. Constant samples come
 * out as 0, and the output is limited to ±16. It does not depend on the sizes of buffers. Tags
 * keep their samples.
 */
class ADANN_API normalizer : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<normalizer> sptr;

    /*! Running statistics.
     * \param complex whether the samples are complex
     * \param window samples, 1024 to 2^30
     * \throws std::invalid_argument if the window is out of range
     */
    static sptr make(bool complex = false, unsigned window = 65536);

    /*! Given statistics.
     * \param mean finite, and real for float samples
     * \param rms standard deviation, > 0; of complex samples sqrt(mean of |x - mean|²)
     * \param complex whether the samples are complex
     * \throws std::invalid_argument if mean or rms is out of range
     */
    static sptr make_fixed(gr_complex mean, float rms, bool complex = false);
};

} // namespace gr::adann
