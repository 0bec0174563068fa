/* -*- c++ -*- */
/*
 * The error rate of a network on a signal whose labels nobody knows.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/constellation.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Estimates a symbol error rate from decisions and posteriors alone: what the network
 * itself doubts, plus what it is wrongly sure of.
 *
 * The doubt is the mean of 1 - (largest posterior). It is right if the posteriors are
 * calibrated (a model's temperature, found with labels when it was trained) and the
 * signal is one that the network has learnt or adapted to. On a drifted signal a network
 * may be wrong and sure of itself. The pattern score shows that: the KL divergence, in
 * nats, of the mean posteriors of a symbol, given the decisions around it, to uniform,
 * which scrambled data makes zero; less its expectation by chance, half the degrees of
 * freedom over n. The decisions are those at t - 1 and t + 1, and for parts of up to 4
 * values at t - 2 too; each of the label's parts is scored on its own, and the scores
 * are added. Constellations without label_parts have no score, but the doubt. Three times the
 * score, where it is beyond chance (five standard deviations), is added to the doubt:
 * that factor brought the sum near the counted rate on drifts of the VCSEL link.
 *
 * Symbols are forgotten exponentially, with a memory of 8192.
 */
class error_estimate
{
public:
    /*! \param scrambled whether the pattern score counts: not for data that is not random
     */
    error_estimate(const constellation& symbols, bool scrambled);

    /*! Takes n consecutive symbols: their decisions, and M calibrated posteriors of each.
     */
    void add(const std::uint8_t* decided, const float* posteriors, std::size_t n);

    //! Whether the latest symbols, up to 512, differ from those before by more than
    //! chance.
    bool changed() const;
    //! Forgets all symbols but those latest ones.
    void keep_latest();
    //! Forgets all symbols.
    void forget();

    //! By how much the doubts of some symbols may exceed their expected sum by chance:
    //! four standard deviations.
    static double chance(double expected);

    //! Symbols seen, those half forgotten in part: 0 to 8704.
    double symbols() const { return d_past.symbols + d_latest.symbols; }
    //! Expected part of symbols that the pattern score shows to be wrong: 0 if that is
    //! within chance.
    double pattern_errors() const;
    //! Expected part of wrong symbols, 0 to 1; 1 before the first symbol.
    double symbol_error_rate() const;
    //! In nats, chance subtracted; 0 if the data is not scrambled.
    double pattern_score() const;
    /*! Whether the estimate has been seen to be near the counted rate: 2048 symbols at
     * least, a pattern score within chance, and an error rate below 2 %. */
    bool trustworthy() const;

    void state(archive& members);

private:
    struct counts {
        double symbols = 0;
        double squares = 0; // of their weights
        double doubt = 0;
        std::vector<float> posteriors; // summed by dimension, context and level

        void fade(double factor);
        void add(const counts& more);
        void state(archive& members);
    };

    std::size_t contexts() const;       // of one dimension
    double independent_symbols() const; // as many unforgotten ones tell as much
    double beyond_chance() const;       // the pattern score, or 0

    std::size_t d_classes;
    label_parts d_parts;
    bool d_scrambled;
    counts d_past;
    counts d_latest;
};

} // namespace gr::adann::core
