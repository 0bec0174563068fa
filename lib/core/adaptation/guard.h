/* -*- c++ -*- */
/*
 * What keeps adaptation from making things worse.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/error_estimate.h"
#include "core/adaptation/label_refiner.h"
#include "core/adaptation/random_looks.h"
#include "core/adaptation/waveform_judge.h"
#include "core/network/decider.h"
#include "core/network/model.h"

#include <array>
#include <optional>

namespace gr::adann::core {

/*! Chooses, without labels, which network decides; it has three candidates.
 *
 * - offline: the network as it was loaded;
 * - adaptive: the running average of the network that is being trained;
 * - last good: a copy of the adaptive one from when it was seen to be good.
 *
 * With the expected waveform, and batches that are long enough for it, the one in use and the adaptive
 * one decide each batch before it is trained on, the other two in turn, and a waveform_judge compares
 * the others' decisions with those in use. A candidate that is surely better (sequential_test) is put
 * into use. While the adaptive one is in use and surely better than the last good one, a copy of it
 * becomes the last good one. While it is not in use and surely worse, training starts over from the
 * one in use: a rollback, which changes no decision. The data need not be random.
 *
 * With other models the adaptive one decides, unless its symbol error rate, as estimated
 * without labels, is more than twice the offline one's: that is what this estimate is worth
 * of two networks of which one has learnt from labels. There is no rollback then.
 *
 * Error rates are estimated on the same symbols for all that may decide, before any of them is
 * trained on: a quarter of each batch, the tiles that random_looks draws. If one estimate
 * detects a change of the signal, all restart.
 */
class guard
{
public:
    enum candidate { offline, adaptive, last_good };
    static const char* name(candidate which);

    /*! \param initial the offline network, its error rate and its temperatures
     * \param scrambled whether the data is random: without that, patterns are no evidence
     * \param seed of the random samples
     * \param batch what judge() will see at once, for a waveform_judge of the model's
     * expected waveform; 0 for none */
    guard(const model& initial,
          bool scrambled,
          std::uint64_t seed,
          std::size_t batch = 0);

    //! After a pause: the last good network decides, and all estimates start over.
    void restart_estimates();

    /*! Looks at a batch, and decides which candidate is in use. Returns whether training
     * has to start over from it.
     * \param apart batches since the one before, this one included: what is counted of refined
     * labels lasts as many times longer; that the signal has changed lasts 65,536 symbols, with
     * those between */
    bool judge(const feature_view& batch, const network& average, std::size_t apart = 1);

    candidate in_use() const { return d_in_use; }
    /*! Of the batch that judge() saw: what the network in use decided, refined by the
     * expected waveform (label_refiner); null where the signal is not known yet. */
    const std::uint8_t* refined() const
    {
        return d_is_refined ? d_refined.data() : nullptr;
    }
    //! Of these labels how probably each is wrong: what likelihoods leave open, times what was
    //! counted for that when the model was trained; NaN at the batch's ends; null where they are.
    const float* error_probabilities() const
    {
        return d_is_refined ? d_error_probabilities.data() : nullptr;
    }
    //! Whether it has a waveform_judge, and may refine labels.
    bool judges() const { return d_judge.has_value(); }
    //! What those were refined by; null where refined() is.
    const refinement* refined_by() const
    {
        return d_is_refined ? &d_refiner->found() : nullptr;
    }
    //! Whether the signal was seen to change in the batch that judge() saw.
    bool changed() const { return d_changed; }
    //! Whether the expected waveform explains what is decided nearly as well as when it
    //! was trained; true without one.
    bool explained() const;

    /*! Error probability of the refined labels by their likelihoods, times the errors that were counted for
     * each expected one in training; NaN while nothing is refined. Of some 8192 latest symbols, `apart`
     * times as many if one batch in `apart` is looked at. */
    double refined_symbol_error_rate() const;
    //! Effective number of symbols that it is made from.
    double refined_symbols() const { return d_refined_symbols; }
    /*! Whether that is to be trusted: docs/adaptation.md has the conditions.
     * \param unexplained the part of the symbols, those that judge() did not see too, that is wrong where
     * noise does not explain the refined labels' residual */
    bool refined_trustworthy(double unexplained = 0) const;

    /*! Of the network in use, as error_estimate has it; where data that is well explained
     * was seen not to be random, without the pattern score. */
    double symbol_error_rate() const;
    /*! Also asks that labels have calibrated the model, and that the waveform explains, all
     * stretches with the same noise (residual_scatter).
     * \param unexplained as refined_trustworthy() has it */
    bool trustworthy(double unexplained = 0) const;
    //! The network in use; `average` if that is the adaptive one.
    const network& choose(const network& average) const;
    //! Of the network in use.
    const error_estimate& estimate() const { return d_candidates[d_in_use].estimate; }
    //! Without the waveform the last good one, which then is the offline one, has that one's.
    const error_estimate& estimate(candidate which) const
    {
        return d_candidates[which == last_good && !d_judge ? offline : which].estimate;
    }

    //! Back to the beginning: judges on as one just made.
    void reset();

    void state(archive& members);

private:
    struct watched_network {
        network net;
        float temperature;
        error_estimate estimate;

        void state(archive& members);
    };

    double errors_per_expected() const;
    bool same_noise(double rate, double symbols, double unexplained = 0) const;
    bool judge_waveform(const feature_view& batch, std::size_t apart);
    void estimate_errors(const feature_view& part);
    void look(watched_network& each, const feature_view& view);

    const model d_initial;
    const bool d_scrambled;
    bool d_random; // whether the data is, as far as is known
    std::array<watched_network, 3> d_candidates; // the adaptive one's network is given
    candidate d_in_use = offline;
    random_looks d_looks;

    // By the expected waveform: the others' decisions against those in use.
    struct rivalry {
        sequential_test better, worse;
    };
    std::optional<waveform_judge> d_judge;
    std::optional<label_refiner> d_refiner;
    float d_residual_limit = 0; // rms, of a float: below it the waveform follows
    std::array<rivalry, 3> d_rivals;
    std::array<std::vector<std::uint8_t>, 3> d_decisions;
    std::vector<std::uint8_t> d_refined;
    std::vector<float> d_error_probabilities; // of these
    bool d_is_refined = false, d_changed = false;
    bool d_turn = false; // whether the offline one was compared, or the last good one
    double d_expected_errors = 0, d_refined_symbols = 0; // sums, of the latest ones
    double d_changes = 0;                                // of the signal, likewise

    void forget_errors() { d_expected_errors = d_refined_symbols = 0; }

    decider d_decider;
    network d_scaled;
    prepared_network d_prepared;
    prepared_network d_streamed; // for windows on a stream
    std::vector<std::uint8_t> d_labels;
    std::vector<float> d_posteriors;
};

} // namespace gr::adann::core
