/* -*- c++ -*- */
/*
 * The policy of adaptation: what is learnt from each batch, which weights decide the
 * next.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/guard.h"
#include "core/adaptation/signal_check.h"
#include "core/network/model.h"
#include "core/training/trainer.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace gr::adann::core {

//! A bit error rate estimated without labels: see error_estimate.
struct error_rate {
    double ber = std::numeric_limits<double>::quiet_NaN(); //!< NaN: not known
    double low = ber;  //!< 95 % interval for as many errors among as many symbols,
    double high = ber; //!< Clopper-Pearson
    distrust untrusted = distrust::few_symbols; //!< why it is not trusted
};

//! What can happen to an equalizer that adapts.
enum class event_kind {
    start,
    step,
    frozen,
    unfrozen,
    paused,
    resumed,
    rollback,
    reset,
    saved,
    loaded,
    refused,
    error
};
constexpr std::array<word<event_kind>, 12> words(event_kind)
{
    return { { { event_kind::start, "start" },
               { event_kind::step, "step" },
               { event_kind::frozen, "frozen" },
               { event_kind::unfrozen, "unfrozen" },
               { event_kind::paused, "paused" },
               { event_kind::resumed, "resumed" },
               { event_kind::rollback, "rollback" },
               { event_kind::reset, "reset" },
               { event_kind::saved, "saved" },
               { event_kind::loaded, "loaded" },
               { event_kind::refused, "refused" },
               { event_kind::error, "error" } } };
}

//! Counters and state of a learner.
struct learner_status {
    std::uint64_t steps = 0;     //!< batches seen so far, see step()
    std::uint64_t updates = 0;   //!< of them, those that changed the weights
    std::uint64_t rollbacks = 0; //!< times that training started over
    guard::candidate in_use = guard::adaptive; //!< whose weights decide
    //! Of the decisions: the network's, or refined labels. Not known without a guard, nor in the
    //! first 4096 symbols that are learnt from after a start, a reset, a pause or a checkpoint.
    error_rate estimated;
    std::uint64_t estimates = 0; //!< how many were made
    bool refined =
        false; //!< whether decisions are refined: requested, and the signal is known

    std::uint64_t rejected() const { return steps - updates; }
};

//! An event, and the learner's status after it.
struct learner_event : learner_status {
    event_kind what;
    std::string detail; //!< the path of "saved" and "loaded", the reason of most others
    step_result step{}; //!< for "step"
};

/*! Learns from the batches that a receiver decides, one after the other (Algorithm 2),
 * and chooses the weights that decide the next one.
 *
 * A step, in this order:
 * 1. The signal check examines the batch. While it finds a problem, learning pauses: the
 *    last good weights are in use, and the batch is not learnt from.
 * 2. The guard compares its three networks on the batch, estimates their error rates,
 *    chooses the one in use, and may have training start over from it: a rollback.
 * 3. The trainer makes one step: pseudo-labels, loss, gradient, optimizer. With the
 *    pseudo-label "refined" the guard's refined labels are learnt where there are any, at
 *    six times the automatic learning rate where the waveform explains them. After 16384 symbols without an accepted step
 *    training starts over as well.
 * 4. The adaptive weights are an exponential moving average of the trained ones, with
 *    α = N_b / (average + N_b) for a step of N_b symbols. This keeps the noise of single
 *    steps out of the decisions; with `average` = 0 the trained weights decide.
 *
 * Signal check and guard need a model with a known error rate or with an expected waveform,
 * and are not used with known labels. A checkpoint is a model file of the weights in use,
 * together with all state that the next step depends on: a learner made from it continues,
 * with the same settings to the bit. Batch length, loss and its parameters, learning rate
 * and average may differ from before; another optimizer is refused. Without a guard the
 * saved state of one is ignored; a guard without saved state starts anew.
 *
 * It decides nothing itself, and uses neither threads nor files: see adaptive_equalizer.
 */
class learner
{
public:
    /*! \param initial the offline network, or a checkpoint
     * \throws std::invalid_argument naming the setting that is out of range,
     * model_file_error if `initial` is a checkpoint that does not fit */
    learner(const model& initial, const learner_settings& settings);

    /*! Learns from a batch of 1 to settings.batch vectors, as they were decided.
     * \param labels batch.count decisions of the network in use
     * \param known null, or the known label of each symbol, not_known where there is none: the loss
     * "supervised" learns from these only, other losses take them as certain
     * \param apart batches since the previous call, this one included
     * \returns the events, in order, valid until the next call. None while a pause goes on; none,
     * without counting the batch, if the loss is "supervised" and no label is known */
    const std::vector<learner_event>& step(const feature_view& batch,
                                           const std::uint8_t* labels,
                                           std::size_t apart = 1,
                                           const std::uint8_t* known = nullptr);

    //! Back to the offline weights and an empty optimizer, as after construction to the bit.
    //! Changed settings and counters stay.
    learner_event reset();

    //! Symbols learnt from between two estimates, which take microseconds.
    static constexpr std::size_t estimate_every = 4096;

    //! The present settings, with the values found of an automatic sigma and epsilon.
    const learner_settings& settings() const { return d_settings; }
    //! \throws std::invalid_argument naming the value that is out of range
    void set_training(const training_settings& training);

    /*! One batch in so many is worth a step, 1 to 8: fewer steps, the longer refined labels have
     * been learnt that the waveform explains. Each one, as long as
     * guard::lacks_symbols(). */
    std::size_t pace() const;
    //! The network that decides, by the guard's choice.
    const network& in_use() const;
    //! The model as it was loaded.
    const model& loaded() const { return d_offline; }
    const learner_status& status() const { return d_status; }
    //! Whether labels can ever be refined: with a guard and an expected waveform.
    bool can_refine() const { return d_guard && d_guard->judges(); }
    //! Of the latest symbols, including those not learnt from. A smaller estimate is not trusted.
    void set_missed_errors(const missed_errors& missed) { d_missed = missed; }
    //! From now on decisions are refined, and the estimated error rate is that of refined labels.
    void decide_refined() { d_decides_refined = true; }
    bool decides_refined() const { return d_decides_refined; }
    //! The signal by which labels of the latest batch are refined; null where they are not.
    const refinement* refines() const
    {
        return d_guard ? d_guard->refined_by() : nullptr;
    }
    //! The labels of the latest batch, refined; null where they are not, and in a pause.
    const std::uint8_t* refined() const
    {
        return d_guard && !d_paused ? d_guard->refined() : nullptr;
    }
    /*! The symbol error rates that the guard estimates, of the offline, the adaptive and the
     * last good network; NaN without a guard. */
    std::array<double, 3> guard_estimates() const;

    model checkpoint();

private:
    void state(archive& members);
    bool watch(const feature_view& batch, const std::uint8_t* decided, std::size_t apart);
    void estimate_errors(std::size_t more_symbols);
    void take_status();
    bool is_refined_estimated() const; // whether the estimate is that of refined labels
    distrust distrusted() const;
    void forget_estimate();
    void roll_back(const std::string& reason);
    void start_over_from(const std::vector<float>& parameters);
    void update_average(std::size_t symbols);
    learner_event
    event(event_kind what, const std::string& detail = "", step_result step = {}) const;

    learner_settings d_settings;
    float d_rate; // the learning rate, found if it is automatic
    const model d_offline;
    trainer d_trainer;
    network d_average;                    // the adaptive weights
    std::optional<signal_check> d_signal; // with a guard only
    std::optional<guard> d_guard;
    bool d_decides_refined = false;
    bool d_paused = false;
    // Symbols since the latest estimate; since the latest accepted step; since
    // the latest usable batch.
    std::size_t d_unestimated = 0, d_rejected = 0, d_unusable = 0;
    std::size_t d_explained =
        0; // symbols in a row learnt by refined labels, well explained
    missed_errors d_missed;
    learner_status d_status;
    std::vector<learner_event> d_events; // of the latest step
};

} // namespace gr::adann::core
