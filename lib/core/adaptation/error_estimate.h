/* -*- c++ -*- */
/*
 * Estimates the error rate of a network on a signal whose labels are not known.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/distrust.h"
#include "core/files/archive.h"
#include "core/signal/constellation.h"

#include <array>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Estimates a symbol error rate from decisions and posteriors alone: the expected rate
 * by the network's own confidence, plus a correction for over-confidence.
 *
 * The expected rate is the mean uncertainty, 1 - (largest posterior). It is right if the
 * posteriors are calibrated (by the model's temperature, fitted with labels when it was
 * trained), and if the network was trained on the signal or has adapted to it. On a
 * drifted signal a network may be wrong with high confidence. The pattern score detects
 * that. It is the KL divergence, in nats, from the uniform distribution to the mean
 * posteriors of a symbol given the decisions around it. For scrambled data it is zero but
 * for chance, whose expectation, half the degrees of freedom over n, is subtracted. The
 * decisions are those at t - 1 and t + 1, and for parts of up to 4 values also at t - 2.
 * Each of the label's parts is scored separately, and the scores are added.
 * Constellations without label_parts have no pattern score. If the score is significant
 * (five standard deviations), three times the score is added to the rate: with this
 * factor the sum is near the counted rate on drifts of the VCSEL link.
 *
 * **Not trusted** is an estimate with a significant pattern score; with labels that are
 * not equally frequent (I and Q are no longer independent, a class has vanished); or of a
 * product constellation with one of I and Q three times as uncertain as the other, as the
 * posteriors are calibrated for equal noise on both.
 *
 * **Not detectable without labels**, and therefore trusted, is whatever maps one possible
 * sequence of symbols onto another one: inverted PAM; QAM rotated by a symmetry, and
 * slips between rotations; an inverted spectrum; I and Q exchanged, or one of them late
 * by whole symbols; a network that has converged to a permutation of the labels; permuted
 * bits or another scrambler; another transmitter. Known symbols or a decoder's parity
 * checks show these.
 *
 * Symbols are forgotten exponentially, with a time constant of 8192.
 */
class error_estimate
{
public:
    //! An estimate is trusted from so many symbols on, and below this symbol error rate, where
    //! calibrated posteriors were found to be right.
    static constexpr double least_symbols = 2048, most_trusted = 0.02;

    /*! \param scrambled whether the pattern score counts: not for data that is not random
     */
    error_estimate(const constellation& symbols, bool scrambled);

    //! Adds n consecutive symbols: their decisions, and M calibrated posteriors of each.
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
    //! Part of symbols that are wrong by the pattern score; 0 if it is not significant.
    double pattern_errors() const;
    //! Expected part of wrong symbols, 0 to 1; 1 before the first symbol.
    double symbol_error_rate() const;
    //! In nats, chance subtracted; 0 if the data is not scrambled.
    double pattern_score() const;
    /*! Which condition the estimate does not meet: least_symbols, labels equally frequent,
     * no significant pattern score, I and Q equally uncertain, an error rate below
     * most_trusted. If none, it may still be wrong where errors are not detectable without
     * labels, see above. */
    distrust distrusted() const;

    void state(archive& members);

private:
    struct counts {
        double symbols = 0;
        double squares = 0; // sum of their squared weights
        double uncertainty = 0;
        std::array<double, 2> axes{};  // the uncertainty of I and of Q
        std::vector<float> posteriors; // summed by dimension, context and level
        std::vector<float> labels;     // posteriors summed by label

        void fade(double factor);
        void add(const counts& more);
        void state(archive& members);
    };

    std::size_t contexts() const; // of one dimension
    double independent_symbols()
        const; // number of equally weighted symbols of the same variance
    double beyond_chance() const; // the pattern score if it is significant, else 0
    bool equal_labels() const;    // whether they are equally frequent, up to chance
    bool equal_axes() const;      // whether I and Q are equally uncertain, up to chance

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
