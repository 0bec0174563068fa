/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/block.h>
#include <string>
#include <utility>

namespace gr::adann {

/*! \brief Bit error rate of decided labels, given the sent ones.
 * \ingroup adann
 *
 * Input 0 takes the decided labels and input 1 the sent ones, one per byte, each at its
 * own pace; input 2, optional, takes M posteriors with each decided label, as the
 * equalizer gives them. The block finds the delay between them and the inversion (PAM) or rotation
 * (PSK, QAM, APSK) by itself. Until it has locked, and after the streams no longer agree better than
 * by chance, it counts nothing and says so, rather than 0.5. A false lock on streams that
 * have nothing to do with each other has a probability below 1e-12 per window searched.
 *
 * Where the streams agree with another order of the labels, as between two bit mappings or
 * for a mirrored spectrum, it does not lock either, and names the labels. Where no delay is
 * found for 300,000 symbols, or to the end of a stream, it says that, too.
 *
 * Output 0, optional, gives the bit error rate of each batch as it completes, one float
 * per batch, and NaN for each batch of labels in which no delay is found. A slip (inserted
 * or deleted symbols) ends a batch early, and so does the end of a stream. If the flowgraph
 * is stopped, the unfinished batch is only in messages and totals. Message port `ber`:
 * - per batch a dictionary of `batch` (its number), `first` (number of its first
 *   decided label), `delay`, `symmetry`, `symbols`, `symbol_errors`, `bits`,
 * `bit_errors`, `ber`, `ci95_low`, `ci95_high`, `smoothed_ber` (of the latest 8 batches),
 * `total_bits`, `total_bit_errors` and `total_ber`; with posteriors `gmi`, `ngmi` (gmi over
 * the bits of a symbol), `code_rate` (the highest of DVB-S2 whose pre-FEC limit that
 * meets, as 3/4, or empty) and `total_gmi`;
 * - per change of the lock a dictionary of `locked` (bool), `delay` in symbols,
 * `symmetry` (number of the inversion or rotation; 0: none), `relocks` and `permuted`.
 *
 * One stream can be about 65536 labels ahead of the other before it has to wait. Starting
 * the flowgraph starts the count anew. The getters can be called at any time from any
 * thread.
 */
class ADANN_API ber_counter : virtual public gr::block
{
public:
    typedef std::shared_ptr<ber_counter> sptr;

    /*!
     * \param constellation its name, such as pam4, qpsk, 8psk, 16qam, or the points in
     * label order as JSON, [[re, im], ...]
     * \param batch symbols per result, 1 to 2^30
     * \param search largest delay in symbols that is looked for, either way, 0 to 16384
     * \throws std::invalid_argument if a parameter is out of range
     */
    static sptr make(const std::string& constellation = "gr:qpsk",
                     std::size_t batch = 8192,
                     unsigned search = 1024);

    //! Whether the streams are aligned now.
    virtual bool locked() const = 0;
    //! Decided label i belongs to sent label i - delay; of the latest lock.
    virtual long delay() const = 0;
    //! Number of the inversion or rotation, 0 for none; of the latest lock.
    virtual unsigned symmetry() const = 0;
    //! "1<->2" while there is no lock because the labels are permuted, else "".
    virtual std::string permuted() const = 0;
    //! How often the streams were aligned anew after the first lock.
    virtual unsigned long relocks() const = 0;
    //! Bit errors so far.
    virtual unsigned long errors() const = 0;
    //! Bits compared so far.
    virtual unsigned long bits() const = 0;
    //! errors() / bits(); not a number before the first bit.
    virtual double ber() const = 0;
    /*! Generalized mutual information of the posteriors' soft bits, bits per symbol, over all
     * symbols so far that were counted: the rate of an ideal code. NaN without posteriors,
     * and before the first symbol. */
    virtual double gmi() const = 0;
    //! Exact (Clopper-Pearson) 95 % interval of ber(); 0 to 1 before the first bit.
    virtual std::pair<double, double> interval() const = 0;
    //! Forgets counts and lock and aligns the labels that come from now on.
    virtual void reset() = 0;
};

} // namespace gr::adann
