/* -*- c++ -*- */
/*
 * Chooses the network that decides, so that adaptation does not make decisions worse.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/error_estimate.h"
#include "core/adaptation/label_refiner.h"
#include "core/adaptation/random_tiles.h"
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
 * - last good: a copy of the adaptive one from when it was found to be better.
 *
 * With an expected waveform, and batches that are long enough for it, each batch is decided before
 * it is trained on: by the network in use, by the adaptive one, and by one of the other two in
 * turn. A waveform_judge compares their decisions with those in use. A significantly better
 * candidate (sequential_test) is put into use. While the adaptive network is in use and
 * significantly better than the last good one, a copy of it becomes the last good one. While it is
 * not in use and significantly worse, training starts over from the network in use: a rollback,
 * which changes no decision. The data need not be random. Where the training was so noisy that
 * residuals do not show which network is better, the offline network stays in use.
 *
 * Without an expected waveform the adaptive network decides, unless its
 * symbol error rate, estimated without labels, is more than twice the
 * offline one's. The factor of two is the accuracy of this estimate for two
 * networks, one of which has learnt from labels. There is no rollback then.
 *
 * Error rates are estimated on the same symbols for all candidates, before any of them is trained
 * on: a quarter of each batch, in tiles that random_tiles draws. If one estimate detects a change
 * of the signal, all restart.
 */
class guard
{
public:
    enum candidate { offline, adaptive, last_good };
    static const char* name(candidate which);

    /*! \param initial the offline network, its error rate and its temperatures
     * \param scrambled whether the data is random, so that patterns are evidence of errors
     * \param seed of the symbols that are drawn
     * \param batch symbols of a batch, for a waveform_judge by the model's expected waveform; 0: none */
    guard(const model& initial,
          bool scrambled,
          std::uint64_t seed,
          std::size_t batch = 0);

    //! After a pause: the last good network decides, and all estimates start over.
    void restart_estimates();

    /*! Evaluates a batch, and chooses the candidate in use. Returns whether training has to start
     * over from it.
     * \param apart batches since the previous call, this one included: statistics of refined labels
     * have a longer time constant, see refined_symbol_error_rate() */
    bool judge(const feature_view& batch, const network& average, std::size_t apart = 1);

    candidate in_use() const { return d_in_use; }
    /*! Labels of judge()'s batch: decisions of the network in use, refined by the expected
     * waveform (label_refiner); null while the signal is not known. */
    const std::uint8_t* refined() const
    {
        return d_is_refined ? d_refined.data() : nullptr;
    }
    //! Error probability of each of these labels: by the likelihoods, times the calibration factor
    //! refined_errors_per_doubt of the model; NaN at the batch's ends; null where refined() is.
    const float* error_probabilities() const
    {
        return d_is_refined ? d_error_probabilities.data() : nullptr;
    }
    //! Whether it has a waveform_judge, and may refine labels.
    bool judges() const { return d_judge.has_value(); }
    //! The signal that they were refined by; null where refined() is.
    const refinement* refined_by() const
    {
        return d_is_refined ? &d_refiner->found() : nullptr;
    }
    //! Whether the signal changed in judge()'s batch.
    bool changed() const { return d_changed; }
    //! Whether the expected waveform explains the decisions nearly as well as when it was
    //! trained; true without one.
    bool explained() const;
    /*! Mean error probability of the refined labels, calibrated as error_probabilities(); NaN
     * while nothing is refined. Averaged over some 8192 symbols, `apart` times as many if one
     * batch in `apart` is used, up to 131,072 symbols of the stream. */
    double refined_symbol_error_rate() const;
    //! Effective number of symbols in that mean.
    double refined_symbols() const { return d_refined_symbols; }
    //! Whether calibrated rates are those of too few symbols to be trusted.
    bool lacks_symbols() const;
    /*! Why that rate is not trusted, if it is not: docs/adaptation.md has the conditions.
     * \param missed of all symbols, including those without judge() */
    distrust refined_distrusted(const missed_errors& missed = {}) const;
    /*! Symbol error rate of the network in use, by its error_estimate; without the pattern score
     * if the data was found not to be random while it was well explained. */
    double symbol_error_rate() const;
    /*! Why that rate is not trusted, if it is not: a model that was not calibrated with labels, a
     * waveform that does not explain all stretches with the same noise (residual_scatter), or
     * error_estimate::distrusted().
     * \param missed see refined_distrusted() */
    distrust distrusted(const missed_errors& missed = {}) const;
    //! The network in use; `average` if that is the adaptive one.
    const network& choose(const network& average) const;
    //! Of the network in use.
    const error_estimate& estimate() const { return d_candidates[d_in_use].estimate; }
    //! Without a waveform the last good network is the offline one.
    const error_estimate& estimate(candidate which) const
    {
        return d_candidates[which == last_good && !d_judge ? offline : which].estimate;
    }

    //! Back to the state after construction.
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
    distrust
    noise_distrusted(double rate, double symbols, const missed_errors& missed) const;
    bool judge_waveform(const feature_view& batch, std::size_t apart);
    void estimate_errors(const feature_view& part);
    void add_posteriors(watched_network& each, const feature_view& view);

    const model d_initial;
    const bool d_scrambled;
    bool d_random; // whether the data is assumed to be
    std::array<watched_network, 3>
        d_candidates; // the adaptive network comes with judge()
    candidate d_in_use = offline;
    random_tiles d_tiles;
    // Tests of a candidate's decisions against those in use, by the expected waveform.
    struct rivalry {
        sequential_test better, worse;
    };
    std::optional<waveform_judge> d_judge;
    std::optional<label_refiner> d_refiner;
    float d_residual_limit = 0; // rms of a float, below which the waveform is updated
    bool d_compares = false;    // whether residuals show which network is better
    std::array<rivalry, 3> d_rivals;
    std::array<std::vector<std::uint8_t>, 3> d_decisions;
    std::vector<std::uint8_t> d_refined;
    std::vector<float> d_error_probabilities; // of d_refined
    bool d_is_refined = false, d_changed = false;
    bool d_turn =
        false; // whether the offline network is compared, else the last good one
    double d_expected_errors = 0, d_refined_symbols = 0; // sums with exponential weights
    double d_changes = 0; // number of changes of the signal, likewise

    void forget_errors() { d_expected_errors = d_refined_symbols = 0; }

    decider d_decider;
    network d_scaled;
    prepared_network d_prepared;
    prepared_network d_streamed; // for overlapping windows of a stream
    std::vector<std::uint8_t> d_labels;
    std::vector<float> d_posteriors;
};

} // namespace gr::adann::core
