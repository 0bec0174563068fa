/* -*- c++ -*- */
/*
 * The error rate of a network on a signal whose labels are not known.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/constellation.h"

#include <array>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Estimates a symbol error rate from decisions and posteriors alone: the expected rate
 * by the network's own confidence, plus a correction for over-confidence.
 *
 * The first is the mean of the uncertainty, 1 - (largest posterior). It is right if the
 * posteriors are calibrated (a model's temperature, fitted with labels when it was
 * trained) and the signal is one that the network was trained on or has adapted to. On a
 * drifted signal a network may be wrong with high confidence. The pattern score detects
 * that: the KL divergence, in
 * nats, of the mean posteriors of a symbol, given the decisions around it, to uniform,
 * which scrambled data makes zero; less its expectation by chance, half the degrees of
 * freedom over n. The decisions are those at t - 1 and t + 1, and for parts of up to 4
 * values at t - 2 too; each of the label's parts is scored on its own, and the scores
 * are added. Constellations without label_parts have no pattern score. Three times the
 * score, where it is beyond chance (five standard deviations), is added to it:
 * that factor brought the sum near the counted rate on drifts of the VCSEL link.
 *
 * **What is not trusted**: a score beyond chance; labels that do not come equally often
 * (I and Q that are no longer independent, a class that vanished); I and Q of a product
 * constellation of which one is three times as uncertain as the other, for the
 * posteriors are calibrated for equal noise on both.
 *
 * **What does not show without labels**, and is trusted: whatever makes of one sequence of
 * symbols that could have been sent another such. PAM inverted; QAM rotated by a symmetry,
 * and slips between them; the spectrum inverted, I and Q exchanged, one of them late by
 * whole symbols; a network that has settled on a permutation of the labels; bits
 * permuted or scrambled otherwise; another sender. A count of known symbols or a
 * decoder's parity checks show these.
 *
 * Symbols are forgotten exponentially, with a memory of 8192.
 */
class error_estimate
{
public:
    //! What is trusted: from so many symbols, and below this symbol error rate, where calibrated posteriors
    //! were seen to be right.
    static constexpr double least_symbols = 2048, most_trusted = 0.02;

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

    //! Four standard deviations of a sum of uncertainties with the given expectation.
    static double chance(double expected);

    //! Effective number of symbols: each with its exponential weight. Up to 8192 and the
    //! latest call's.
    double symbols() const { return d_past.symbols + d_latest.symbols; }
    //! Expected part of symbols that the pattern score shows to be wrong: 0 if that is
    //! within chance.
    double pattern_errors() const;
    //! Expected part of wrong symbols, 0 to 1; 1 before the first symbol.
    double symbol_error_rate() const;
    //! In nats, chance subtracted; 0 if the data is not scrambled.
    double pattern_score() const;
    //! Whether the labels come equally often, and I and Q are as uncertain, up to
    //! chance.
    bool balanced() const;
    /*! Whether the estimate has been seen to be near the counted rate: least_symbols, a
     * pattern score within chance, balanced(), and an error rate below most_trusted. Not
     * if what happened does not show without labels, see above. */
    bool trustworthy() const;

    void state(archive& members);

private:
    struct counts {
        double symbols = 0;
        double squares = 0; // of their weights
        double uncertainty = 0;
        std::array<double, 2> axes{};  // the uncertainty of I and of Q
        std::vector<float> posteriors; // summed by dimension, context and level
        std::vector<float> labels;     // posteriors summed by label

        void fade(double factor);
        void add(const counts& more);
        void state(archive& members);
    };

    std::size_t contexts() const; // of one dimension
    double
    independent_symbols() const;  // as many unforgotten ones carry as much information
    double beyond_chance() const; // the pattern score, or 0

    constellation d_symbols;
    std::size_t d_classes;
    label_parts d_parts;
    bool d_scrambled;
    using lists = std::vector<std::vector<std::uint8_t>>; // of labels
    std::array<lists, 2> d_having;                        // for each part and value
    std::array<lists, 2>
        d_on_level; // of a product constellation: for each axis and label
    counts d_past;
    counts d_latest;
};

} // namespace gr::adann::core
