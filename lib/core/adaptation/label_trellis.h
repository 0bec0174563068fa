/* -*- c++ -*- */
/*
 * Other labels of symbols that interfere with one another, decided together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/label_descent.h"

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace gr::adann::core {

/*! Probabilities of labels, given the samples and the expected waveform, over those decided.
 *
 * With e the differences of the points from those decided, b their matches in the whitened
 * residual and A the products of the responses, both over the noise's power, the likelihood of
 * other labels over that of those decided is exp(e·b - e·A e / 2). Alternatives are the neighbours of
 * the point, and all others, the nearest first, that noise may turn into it (1e-3).
 *
 * Most symbols have no likely alternative, alone or in a pair: the likelihood ratios of
 * single changes are their probabilities. Where some have, they are decided together with those that
 * their responses overlap, by a forward-backward pass over the likely labels of the latest
 * symbols. A path is weighted by its likelihood with all later labels as decided, so that few
 * are worth keeping. An alternative is unlikely from a ratio of 1e-3 on. Where responses overlap and many
 * labels change together (is_deep), so much less as one other change can raise it.
 *
 * With a priori probabilities of labels, likelihoods are multiplied by these. What is improbable by the a
 * priori probability of one label only is neither left out nor dropped: a decoder wants the extrinsic
 * ratios, which are what the samples and the other labels say of each.
 *
 * Nothing is allocated after construction.
 *
 * Sources: G. Ungerboeck, "Adaptive maximum-likelihood receiver for carrier-modulated data
 * transmission systems", IEEE Trans. Commun. 22 (1974) 624, for the branch metric; Franz and
 * Anderson, "Concatenated decoding with a reduced-search BCJR algorithm", IEEE J. Sel. Areas
 * Commun. 16 (1998) 186, for the pass. */
class label_trellis
{
public:
    static constexpr std::size_t block =
        simd::lanes; //!< symbols that are decided at once
    static constexpr std::size_t around =
        simd::lanes; //!< that are looked at on each side
    static constexpr std::size_t window = block + 2 * around;
    static constexpr std::size_t most_alternatives = 16;
    static constexpr std::size_t memory = sizeof(std::uint64_t); //!< labels of a state
    //! Negative ln of the likelihood ratio from which on a label, or a path, is ignored.
    static constexpr float unlikely = 7;

    explicit label_trellis(const constellation& symbols);

    /*! The signal from now on.
     * \param is_deep whether labels are decided together where changes have to be many before they gain: always where
     * they are coupled
     * \param least negative ln of its likelihood over that of the likeliest sequence from which on one is ignored,
     * before what another change can raise it by: `unlikely` for probabilities, 0 where only the likeliest is wanted
     * \param noise its power, over signal.power() */
    void use(const label_descent& signal, bool is_deep, float least, float noise = 1);
    /*! Decides a window.
     * \param labels,matches of the window, `window` each, kept while they are asked for
     * \param fresh how many at its end are others than in the latest call, a block before:
     * block, or window
     * \param noise its power, over that of the signal
     * \param end of the symbols that are decided, from `around` on; at most window
     * \param priors null, or of each of the window ln of its M labels' a priori probabilities, but for a
     * constant, kept as the labels */
    void find(const std::uint8_t* labels,
              const label_descent::match* matches,
              std::size_t fresh,
              float noise,
              std::size_t end,
              const float* priors = nullptr);

    // Of a symbol that is decided:
    //! Whether probability() has it. Else its neighbours are as decided: only likelihood() counts.
    bool is_unsure(std::size_t at) const { return d_unsure[at]; }
    //! Number of alternatives, those that are neighbours first, and of these.
    std::size_t alternatives(std::size_t at) const { return of(at).all; }
    std::size_t neighbours(std::size_t at) const { return of(at).near; }
    std::uint8_t label(std::size_t at, std::size_t alternative) const
    {
        return of(at).of[alternative].label;
    }
    float probability(std::size_t at, std::size_t alternative) const
    {
        return d_found[at][alternative + 1];
    }
    float probability_as_decided(std::size_t at) const { return d_found[at][0]; }
    std::uint8_t most_probable(std::size_t at) const;
    //! Likelihood of an alternative alone, over that of the label decided, the priors included.
    float likelihood(std::size_t at, std::size_t alternative) const
    {
        return likelihood(
            posterior_ratio(of(at), at, alternative, d_matches[at], d_residuals[at]));
    }
    //! ln of that by the samples, and by the a priori probabilities.
    float likelihood_ratio(std::size_t at, std::size_t alternative) const
    {
        return ratio(of(at), alternative, d_matches[at], d_residuals[at]);
    }
    float prior_ratio(std::size_t at, std::size_t alternative) const
    {
        return d_priors ? d_prior_ratios[at][alternative] : 0;
    }
    //! ln of the largest of them, of neighbours; of the extrinsic ones where these are larger.
    float largest_ratio(std::size_t at) const { return d_best[at]; }
    //! The residual along a symbol's response, squared.
    float residual(std::size_t at) const { return d_residuals[at]; }
    //! What it is with an alternative, of that alone.
    float residual(std::size_t at, std::size_t alternative) const
    {
        return d_residuals[at] - 2 * of(at).of[alternative].gain(d_matches[at]);
    }
    /*! Whether two labels that change together cost hardly more than one alone: then residual() of an alternative
     * alone says little of what it is with those that change with it. */
    bool is_coupled() const;

private:
    static constexpr std::size_t most_states = 64;
    static constexpr std::size_t most_branches = most_states * (most_alternatives + 1);
    static constexpr std::size_t slots = 2048; // more than branches of a step
    static constexpr std::uint16_t dropped = most_branches;
    using vector = std::array<float, 2>;       // of dimensions
    using block_matrix = std::array<float, 4>; // of dimensions

    // Another label instead of one.
    struct alternative {
        std::uint8_t label;
        float step[2], loss;
        float noise; // 1 over its power, over the mean

        // Half of what the squared residual falls by: (e·b - e·A e / 2).
        float gain(const label_descent::match& matched) const
        {
            return step[0] * matched.along[0] + step[1] * matched.along[1] - loss;
        }
    };
    // Of a label: neighbours first, then farther ones.
    struct label_changes {
        std::size_t near = 0, all = 0;
        std::vector<std::uint8_t> farther; // the nearest first
        float noise = 1;                   // 1 over that of the label itself
        std::array<float, most_alternatives>
            bias; // ln of densities where nothing is left
        std::array<alternative, most_alternatives> of;
    };
    // The likeliest path with certain changes of the latest labels: those decided xor them, byte by
    // byte, the latest lowest.
    struct survivor {
        std::uint64_t key;
        float forward;   // probability of all such paths
        float likeliest; // that of the one whose changes `taken` and `lost` have
        float
            extrinsic; // forward without the a priori probability of the label that loses
                       // most by it, over that with it
        std::uint16_t number;             // in its step
        std::size_t due;                  // up to there it may yet become likely
        std::array<vector, memory> taken; // out of what the next symbols are matched by
        std::array<float, memory>
            lost; // by the a priori probability of the latest labels
    };
    struct branch {
        std::uint16_t to;               // number, then place of a state; dropped: none
        std::uint8_t from, alternative; // 0: as decided
        float probability;
    };
    struct step {
        std::size_t states, branches;
        std::array<float, most_states> forward, backward; // probabilities
        std::array<branch, most_branches> branch_of;
    };
    // States that a step leads to.
    struct reached {
        std::array<survivor, most_states> states;
        std::array<std::uint8_t, slots> places; // by key: 0, or one more than a place
        std::size_t count = 0;
        std::uint16_t numbered = 0; // of all that there have been
        float least = 0;            // weight of the weakest, or less

        void clear();
        survivor* find(std::uint64_t key, std::size_t& slot);
    };
    struct promise {
        float ratio = 0;
        std::size_t due = 0;
    };

    const label_changes& of(std::size_t at) const { return d_changes[d_labels[at]]; }
    void find_products(const label_descent& signal, bool is_deep, float least);
    void look(std::size_t fresh);
    void look_at_pairs();
    std::size_t last_near(std::size_t first) const;
    void decide_alone(std::size_t at);
    void decide_together(std::size_t first, std::size_t last);
    // As all that is called for each path: without a priori probabilities these cost nothing.
    template <bool has_priors>
    void go_forward(std::size_t first, std::size_t last);
    void go_back(std::size_t first, std::size_t last);
    template <bool has_priors>
    promise promise_of(const survivor& from,
                       std::size_t at,
                       const alternative& other,
                       std::size_t last) const;
    static label_descent::match less(const label_descent::match& matched,
                                     const vector& taken)
    {
        return { { matched.along[0] - taken[0], matched.along[1] - taken[1] } };
    }
    vector product(const float* changed, std::size_t later) const
    {
        const block_matrix& of = d_products[later];
        return { changed[0] * of[0] + changed[1] * of[2],
                 changed[0] * of[1] + changed[1] * of[3] };
    }
    float ratio(const label_changes& of,
                std::size_t which,
                const label_descent::match& matched,
                float left) const;
    static float likelihood(float ratio);
    void find_prior_ratios(std::size_t at);
    /* The log-likelihood ratio of an alternative, and its prior's, which counts as least_prior at least: from
     * 0 on it is the larger one of the extrinsic and the posterior ratio. */
    template <bool has_priors = true>
    float
    posterior_ratio(const label_changes& of,
                    std::size_t at,
                    std::size_t which,
                    const label_descent::match& matched,
                    float left,
                    float least_prior = -std::numeric_limits<float>::infinity()) const
    {
        const float found = ratio(of, which, matched, left);
        return has_priors ? found + std::max(d_prior_ratios[at][which], least_prior)
                          : found;
    }
    float prior_loss(std::size_t at, std::size_t which) const
    {
        return std::max(-d_prior_ratios[at][which], 0.0f);
    }
    template <bool has_priors>
    std::uint16_t reach(const survivor& from,
                        std::size_t at,
                        std::size_t alternative,
                        float forward,
                        float extrinsic,
                        std::size_t due);

    const std::size_t d_classes, d_dimensions;
    float d_power = 0;          // of the noise, as refinement has it
    float d_scale = 0;          // 1 over the noise's power
    float d_depth = unlikely;   // negative ln of the ratio of a path that is ignored
    std::size_t d_reach = 0;    // symbols whose responses meet
    std::size_t d_distinct = 0; // latest labels by which states differ
    std::size_t d_strong = 0; // those that may change together though neither does alone
    std::array<block_matrix, memory + 1> d_products{}; // of a symbol and later ones
    std::array<float, memory + 1> d_most{};            // gain by two changes together
    label_responses::energy_along d_energy_along;
    std::vector<label_changes> d_changes; // of each label
    // Of the window.
    const std::uint8_t* d_labels = nullptr;
    const label_descent::match* d_matches = nullptr;
    const float* d_priors = nullptr;    // (window, M), or null
    std::array<float, window> d_best{}; // posterior_ratio() of an alternative, from 0 on
    std::array<float, window> d_residuals{}; // energy_along of each
    // ln of the a priori probability of alternatives over that of the label decided.
    std::array<std::array<float, most_alternatives>, window> d_prior_ratios{};
    std::array<bool, window> d_unsure{};
    std::array<std::array<float, most_alternatives + 1>, window>
        d_found{};                  // probabilities
    std::vector<step> d_steps;      // window + 1
    std::vector<reached> d_reached; // two, in turn
};

} // namespace gr::adann::core
