/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/sync_block.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann {

/*! \brief Several channels in, a stream for each transmitter out: polarisations, antennas.
 * \ingroup adann
 *
 * The channels have mixtures of the transmitters. A matrix of filters makes of them streams such as
 * the model was trained on, for an adann::equalizer after each output. Its taps adapt by
 * exponentially windowed least squares to the waveform that the model expects of its network's
 * decisions, and each output's carrier is tracked. It starts blindly after 4096 symbols; until then
 * output o is channel o. Of two outputs on one transmitter one starts again, and so does one that is
 * lost. Which transmitter is at which output is not determined.
 *
 * Inputs: complex samples, sample i·sps the middle of symbol i, zero mean and about unit
 * power. Outputs: the same, delay() symbols later; a tag moves with its sample. The result
 * does not depend on the buffers' sizes. A blind start takes some tens of milliseconds of
 * work()'s time.
 */
class ADANN_API mimo_filter : virtual public gr::sync_block
{
public:
    typedef std::shared_ptr<mimo_filter> sptr;

    /*!
     * \param model path of a model file, of one transmitter, for complex samples and with
     * an expected waveform
     * \param channels inputs, 1 to 8; times the model's samples a symbol at most 64
     * \param outputs transmitters, 1 to `channels`
     * \param length symbols that the taps span, 1 to 64
     * \throws std::invalid_argument naming what is out of range, or if the model file
     * cannot be read
     */
    static sptr make(const std::string& model,
                     unsigned channels = 2,
                     unsigned outputs = 2,
                     unsigned length = 12);
    //! The same with the contents of a model file.
    static sptr make_from_memory(const std::string& contents,
                                 unsigned channels = 2,
                                 unsigned outputs = 2,
                                 unsigned length = 12);

    virtual unsigned delay() const = 0; //!< symbols
    //! How many outputs have a transmitter.
    virtual unsigned found() const = 0;
    //! Times that a transmitter was found, over all outputs.
    virtual std::uint64_t starts() const = 0;
    /*! Residual of the filtered samples relative to the expected waveform, dB, of the worst output;
     * NaN before the first update. */
    virtual double residual() const = 0;
    //! Of the carrier that is removed from each output, cycles per symbol.
    virtual std::vector<double> frequencies() const = 0;
};

} // namespace gr::adann
