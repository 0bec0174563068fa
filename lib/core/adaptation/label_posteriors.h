/* -*- c++ -*- */
/*
 * How probable each label of refined symbols is.
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

/*! Posteriors of the labels of consecutive symbols, given the samples and the expected waveform.
 *
 * With e the differences of the points from those decided, b their matches in the whitened
 * residual and A the products of the responses, both over the noise's power, the likelihood of
 * other labels over that of those decided is exp(e·b - e·A e / 2). Alternatives are the neighbours of
 * the point, and all others, the nearest first, that noise may turn into it (1e-3).
 *
 * Most symbols have no likely alternative (1e-3, alone or in a pair): the likelihood ratios of
 * single changes are their posteriors. Where some have, they are decided together with those that
 * their responses overlap, by a forward-backward pass over the likely labels of the latest
 * symbols. A path is weighted by its likelihood with all later labels as decided, so that few
 * are worth keeping.
 *
 * With a priori probabilities of labels, likelihoods are multiplied by these. What is improbable by the a
 * priori probability of one label only is neither left out nor dropped: a decoder wants the extrinsic
 * ratios, which are what the samples and the other labels say of each.
 *
 * Decisions take a part of the noise for other labels. What they hide of its power is the mean,
 * over the posteriors, of the excess of the other labels' residuals (expectation maximization).
 *
 * Sources: G. Ungerboeck, "Adaptive maximum-likelihood receiver for carrier-modulated data
 * transmission systems", IEEE Trans. Commun. 22 (1974) 624, for the branch metric; Franz and
 * Anderson, "Concatenated decoding with a reduced-search BCJR algorithm", IEEE J. Sel. Areas
 * Commun. 16 (1998) 186, for the pass. */
class label_posteriors
{
public:
    static constexpr std::size_t block =
        simd::lanes; //!< symbols that are decided at once
    static constexpr std::size_t around =
        simd::lanes; //!< that are looked at on each side
    static constexpr std::size_t window = block + 2 * around;

    explicit label_posteriors(const constellation& symbols);

    //! The signal from now on. Allocates nothing, as find().
    void use(const label_descent& signal);
    /*! Those of a block in the middle of a window.
     * \param labels,matches of the window, `window` each, kept until write() is done
     * \param fresh how many at its end are others than in the latest call, a block before:
     * block, or window
     * \param priors null, or of each of the window ln of its M labels' a priori probabilities, but for a
     * constant, kept as the labels */
    void find(const std::uint8_t* labels,
              const label_descent::match* matches,
              std::size_t fresh,
              const float* priors = nullptr);
    /*! M floats of a symbol of the block. The label decided has the largest one, or the same as a
     * likelier one. */
    void write(std::size_t symbol, float* posteriors) const;

    //! Power of the noise, over what decisions show of it: label_descent::power().
    float noise() const;

    //! As large as any other, where another one has the largest.
    static void make_consistent_with_decision(std::uint8_t label,
                                              float* posteriors,
                                              std::size_t classes);

private:
    static constexpr std::size_t memory = sizeof(std::uint64_t); // labels of a state
    static constexpr std::size_t most_alternatives = 16, most_states = 32;
    static constexpr std::uint8_t dropped = most_states;

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
    struct alternatives {
        std::size_t near = 0, all = 0;
        std::vector<std::uint8_t> farther; // the nearest first
        float noise = 1;                   // 1 over that of the label itself
        std::array<float, most_alternatives>
            bias; // ln of densities where nothing is left
        std::array<alternative, most_alternatives> of;
    };
    struct change {
        std::uint8_t at; // of the window
        std::uint8_t alternative;
        float step[2];
    };
    // Changes of the latest labels, those decided xor them bit by bit, the latest lowest.
    struct state {
        std::uint64_t key;
        float forward, backward; // probabilities
        float likeliest;         // of the paths to it, whose changes it has
        float extrinsic; // that without the a priori probability of the label that
                         // loses most by it, over that with it
        std::size_t due; // up to there it may yet become likely
        std::size_t count;
        std::array<change, memory> changes;
    };
    struct branch {
        std::uint8_t from, to, alternative; // 0: as decided
        float probability;
    };
    struct step {
        std::size_t states, branches;
        std::array<state, most_states> state_of;
        std::array<branch, most_states*(most_alternatives + 1)> branch_of;
    };
    struct promise {
        float ratio = 0;
        std::size_t due = 0;
    };
    using block_matrix = std::array<float, 4>; // of dimensions

    void find_alternatives(const constellation& symbols);
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
    promise promise_of(const state& from,
                       std::size_t at,
                       const alternative& other,
                       std::size_t last) const;
    label_descent::match matched_by(const state& of, std::size_t at) const;
    static void
    take(label_descent::match& matched, const float* step, const block_matrix& products);
    float residual_of(const label_descent::match& matched) const;
    float ratio(const alternatives& of,
                std::size_t which,
                const label_descent::match& matched,
                float left) const;
    static float likelihood(float ratio);
    void find_prior_ratios(std::size_t at);
    float most_prior_loss(const state& of, std::size_t at) const;
    /* The log-likelihood ratio of an alternative, and its prior's, which counts as least_prior at least: from
     * 0 on it is the larger one of the extrinsic and the posterior ratio. */
    template <bool has_priors = true>
    float
    posterior_ratio(const alternatives& of,
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
    std::uint8_t reach_state(step& now,
                             step& next,
                             const state& from,
                             std::size_t at,
                             const alternative* other,
                             float forward,
                             float extrinsic,
                             std::size_t due) const;
    void learn_noise();

    const std::size_t d_classes, d_dimensions;
    float d_power = 0;               // of the noise, as refinement has it
    float d_noise = 1, d_blocks = 0; // over that, and of how many blocks
    float d_scale = 0;               // 1 over the noise's power
    std::size_t d_reach = 0;         // symbols whose responses meet
    std::size_t d_distinct = 0;      // latest labels by which states differ
    std::size_t d_strong = 0; // those that may change together though neither does alone
    std::array<block_matrix, memory + 1> d_products{}; // of a symbol and later ones
    std::array<float, memory + 1> d_most{};            // gain by two changes together
    std::array<float, 2> d_inverse{};                  // of a response's energy
    std::vector<alternatives> d_alternatives;          // of each label
    std::vector<float> d_energies,
        d_counts; // of each label: residual, in d_power; symbols
    // Of the window.
    const std::uint8_t* d_labels = nullptr;
    const label_descent::match* d_matches = nullptr;
    const float* d_priors = nullptr;    // (window, M), or null
    std::array<float, window> d_best{}; // posterior_ratio() of an alternative, from 0 on
    std::array<float, window> d_residuals{}; // residual_of()
    // ln of the a priori probability of alternatives over that of the label decided.
    std::array<std::array<float, most_alternatives>, window> d_prior_ratios{};
    std::array<bool, window> d_unsure{};
    std::array<std::array<float, most_alternatives + 1>, window> d_found{}; // posteriors
    std::vector<step> d_steps;                                              // window + 1
};

} // namespace gr::adann::core
