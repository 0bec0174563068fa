/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/block.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann {

struct burst_equalizer_settings {
    unsigned sps = 2;    //!< samples of a symbol, 1 to 16
    bool complex = true; //!< samples; float ones take real points
    //! Key of the tag that each burst has, as digital.corr_est_cc sets it.
    std::string start_tag = "corr_est";
    //! Number of the burst's symbol whose sample has that tag: where the correlated sequence begins.
    std::size_t tagged_symbol = 0;
    //! Key of the tags after a burst's last symbol; empty: all bursts have as many symbols.
    std::string end_tag;
    unsigned length = 6; //!< symbols that the taps span, 1 to 32
    float carrier =
        1.0f / 32; //!< largest offset of the carrier, cycles a symbol, 0 to 0.25
};

/*! \brief Equalizes each burst as a whole, from known symbols anywhere in it. \ingroup adann
 *
 * Input: complex samples, or float ones, such as an FM discriminator's; symbol i of a burst is at
 * sample i sps from its first one, or less than half a symbol from it. Between bursts samples are
 * dropped. A burst needs the samples of some length/2 symbols on both sides, too.
 *
 * Outputs, one item a symbol of each burst, bursts one after the other:
 * 0: labels (byte), known ones as they were given; 1, optional: estimates, complex of unit power;
 * 2, optional: posteriors, M floats. The first symbol has the tags `packet_len` (symbols, so that
 * tagged-stream blocks take them), `sample` (of the first symbol at the input, uint64), `frequency`
 * (of the carrier, cycles a symbol) and `noise` (of the estimates, relative to the symbols' power).
 *
 * Taps and carrier are fitted to the longest run of known symbols, or to several runs if none has
 * 10. From there the burst is equalized in both directions, and then once more as a whole
 * (burst_equalizer.h in the core). There is no model, and nothing is kept from one burst to the
 * next. The block waits for a burst's end and then equalizes it at once, in some 0.08 ms per symbol
 * with taps over 6 symbols, 0.15 ms over 14. It allocates memory for that.
 *
 * A start tag within a burst that has not ended is ignored. A burst that the stream's end cuts off
 * comes out as far as its samples have come; zeros follow them. A burst with fewer than 10 known
 * symbols before its end is dropped, with a warning. */
class ADANN_API burst_equalizer : virtual public gr::block
{
public:
    typedef std::shared_ptr<burst_equalizer> sptr;

    /*! \param constellation as core::constellation takes it, not oqpsk
     * \param known_symbols label of each symbol of a burst, 255 where it is not known: 16 to 10^5
     * of them, 10 known within 1024 at least
     * \throws std::invalid_argument naming the parameter that is out of range */
    static sptr make(const std::string& constellation,
                     const std::vector<std::uint8_t>& known_symbols,
                     const burst_equalizer_settings& settings = {});

    virtual std::uint64_t bursts() const = 0; //!< that were handed out
};

} // namespace gr::adann
