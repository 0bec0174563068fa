/* -*- c++ -*- */
/*
 * A step towards the labels that explain the samples best.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/label_alternatives.h"
#include "core/adaptation/label_responses.h"

#include <vector>

namespace gr::adann::core {

/*! Tries other labels for a symbol, its surroundings kept: the neighbours of its point, and
 * takes the one that lowers the squared difference to the expected waveform most. With a priori
 * probabilities p of labels it lowers the difference less 2 · noise power · ln p, which is an a posteriori
 * probability. Where an echo
 * or coloured noise makes the responses of near symbols alike, it tries such pairs, too, and
 * longer chains.
 *
 * The difference is whitened, so that for Gaussian noise it is a likelihood (label_responses). What is
 * worth a try is estimated (label_alternatives); the whole waveform decides. Nothing is allocated after
 * construction.
 *
 * Source: a descent over single symbols of maximum-likelihood sequence estimation (Forney
 * 1972), as in likelihood ascent search (Vardhan et al. 2008). */
class label_descent
{
public:
    using match = label_responses::match;

    label_descent(const constellation& symbols, const expected_waveform& waveform);

    //! The signal to refine from now on.
    void use(const refinement& signal);

    label_responses& responses() { return d_responses; }
    const label_responses& responses() const { return d_responses; }
    const label_alternatives& alternatives() const { return d_alternatives; }
    float power() const { return d_power; }       //!< of the noise, for likelihoods
    float residual() const { return d_residual; } //!< refinement::residual
    //! Power of the noise of each label, over the mean: refinement::label_noise.
    const std::vector<float>& label_noise() const { return d_label_noise; }

    /*! The likelihoods of what was tried, over that of the labels as they are, summed where a
     * label is another one: it alone, and together with others. */
    struct odds {
        float alone = 0, together = 0;
        std::uint8_t other = 0; //!< the likeliest other label alone, where there is one
        //! That the label is wrong.
        float probability() const { return 1 - 1 / (1 + alone + together); }
    };
    //! What is refined.
    struct stretch {
        std::uint8_t* labels;
        std::size_t count; //!< of them
        //! Whitened rest of symbols first to last - 1 of them, changed with the labels.
        float* white;
        std::size_t first, last;
        odds* error_odds = nullptr; //!< null, or of each label afterwards
        //! Null, or of each symbol ln of its M labels' a priori probabilities, but for a constant.
        const float* priors = nullptr;
        //! Its power, for these: power() is smaller, by what decisions hide of the noise.
        float noise = 0;
    };
    /*! Refines the label of one symbol, at least the second of the stretch.
     * \param found by find_matches(); null: not yet, or another label has changed since
     * \return whether it changed */
    bool visit(const stretch& all, std::size_t symbol, const match* found = nullptr)
    {
        const match own = found ? *found : match_of(all, symbol);
        if (all.priors || d_alternatives.is_any_candidate(all.labels + symbol, own))
            return try_others(all, symbol, own, false);
        if (all.error_odds)
            all.error_odds[symbol].alone = 0;
        return false;
    }
    //! The same, of a symbol drawn without regard to its match: all others are tried, and trials()
    //! learn from them.
    bool explore(const stretch& all, std::size_t symbol)
    {
        return try_others(all, symbol, match_of(all, symbol), true);
    }
    /*! Whether there are symbols so near that their responses are much alike: then both may be
     * wrong together, where changing either alone makes it worse. */
    bool has_pairs() const { return !d_pairs.empty(); }
    /*! Refines the labels of a symbol and of later ones together, the first such pair that gains;
     * where it does not, with the labels that are then most likely wrong. What gains nothing, the
     * pair and each longer chain, is added to the error odds.
     * \param end the later symbols lie before it
     * \param found matches of `symbol` and of those after it; null as for visit()
     * \return the last of them if they changed, else 0 */
    std::size_t visit_pairs(const stretch& all,
                            std::size_t symbol,
                            std::size_t end,
                            const match* found = nullptr);
    //! Another label of a symbol.
    struct choice {
        std::size_t symbol;
        std::uint8_t label;
    };
    /*! Changes labels together, if that gains.
     * \param choices n of them, at most most_together, in the order of their symbols
     * \return whether they are changed */
    bool try_sequence(const stretch& all, const choice* choices, std::size_t n);
    static constexpr std::size_t most_together = 64;
    //! Labels that were tried so far: what costs.
    std::size_t tries() const { return d_tries; }

private:
    static constexpr std::size_t farthest = 8; // symbols of a pair
    static constexpr std::size_t longest = 8;  // labels of a chain
    static_assert(longest * farthest <= most_together);

    // A later symbol, and the products of the responses: of the former's dimensions, of its.
    struct neighbour {
        std::size_t later;
        float products[2][2];
    };
    // What is known of a symbol's response, from so many floats on.
    struct known_part {
        std::size_t skipped, n;
        float* white;
    };

    match match_of(const stretch& all, std::size_t symbol) const;
    bool
    try_others(const stretch& all, std::size_t symbol, const match& found, bool explores);
    std::size_t
    try_chain(const stretch& all, std::size_t end, choice first, choice second);
    choice
    most_likely_behind(const stretch& all, std::size_t symbol, std::size_t end) const;
    known_part part_of(const stretch& all, std::size_t symbol) const;
    float find_gain(const stretch& all, std::size_t symbol, std::uint8_t other);
    // Half of what another label gains by its a priori probability.
    float prior_gain(const stretch& all, std::size_t symbol, std::uint8_t other) const
    {
        if (!all.priors)
            return 0;
        const float* const own = all.priors + symbol * d_alternatives.classes();
        return all.noise * (own[other] - own[all.labels[symbol]]);
    }
    float likelihood(float gain) const;
    static void take(const known_part& part, const aligned_floats& change);
    std::size_t keep(const stretch& all, const known_part& part);
    void change(const stretch& all, choice& made, float& gain);
    void find_pairs();

    label_responses d_responses;
    label_alternatives d_alternatives;
    std::vector<neighbour> d_pairs;  // the nearest first
    aligned_floats d_change, d_best; // of whitened samples, by another label
    std::vector<float> d_kept;       // of the rest, before one
    float d_power = 0;               // of the noise, for likelihoods
    float d_residual = 0;            // refinement::residual
    std::vector<float> d_label_noise;
    std::size_t d_tries = 0;
    const simd::kernels* d_kernels;
};

} // namespace gr::adann::core
