/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/learner.h"

#include "core/common/checks.h"
#include "core/counting/clopper_pearson.h"
#include "core/signal/known_symbols.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

// Symbols in a row without an accepted step, or of unusable batches.
constexpr std::size_t most_rejected = 16384;
// Factor of the learning rate for refined labels that the waveform explains.
constexpr float faster = 6;
// Learnt symbols for each step of pace(): as many as the default of `average`.
constexpr std::size_t symbols_a_pace = 10'000;
constexpr std::size_t slowest_pace = 8; // batches

// Scaled to the model; without the balance of labels where these are not equally probable.
training_settings fitted_to(const model& fits, const training_settings& training)
{
    training_settings settings = scaled_to(fits, training);
    if (fits.waveform && !fits.waveform->has_equal_probabilities())
        settings.balance = 0;
    return settings;
}

learner_settings checked(learner_settings settings, const model& fits)
{
    learner_settings::visit(settings, setting_checks{});
    static_cast<training_settings&>(settings) = fitted_to(fits, settings);
    return settings;
}

// The network of a checkpoint before it adapted; any other model unchanged.
model offline(model from)
{
    if (!from.state.tensors.empty())
        archive::restoring(from.state, "state")("offline", from.net.parameters());
    from.state = {};
    return from;
}

// Whether any of n symbols is known.
bool knows_any(const std::uint8_t* known, std::size_t n, std::size_t classes)
{
    return known && std::any_of(known, known + n, [=](std::uint8_t label) {
               return is_known(label, classes);
           });
}

} // namespace

learner::learner(const model& initial, const learner_settings& settings)
    : d_settings(checked(settings, initial)),
      d_rate(*d_settings.learning_rate),
      d_offline(offline(initial)),
      d_trainer(d_offline.net, d_offline.symbols.parts(), d_settings),
      d_average(d_offline.net)
{
    d_settings.learning_rate = settings.learning_rate;
    const bool supervised = row(settings.loss).supervised();
    const bool judged = initial.waveform &&
                        settings.batch >= waveform_judge::least_batch(*initial.waveform);
    if (settings.guard && !supervised &&
        (judged || !std::isnan(initial.symbol_error_rate))) {
        const bool scrambled = d_settings.balance > 0;
        d_signal.emplace(d_offline.symbols, scrambled);
        d_guard.emplace(d_offline, scrambled, settings.seed, judged ? settings.batch : 0);
        take_status();
    }
    d_events.reserve(4);
    if (!initial.state.tensors.empty()) {
        tensor_file from = initial.state;
        archive members = archive::restoring(from, "state");
        state(members);
    }
}

const std::vector<learner_event>& learner::step(const feature_view& batch,
                                                const std::uint8_t* labels,
                                                std::size_t apart,
                                                const std::uint8_t* known)
{
    d_events.clear();
    const bool supervised = row(d_settings.loss).supervised();
    if (supervised && !knows_any(known, batch.count, d_offline.symbols.size()))
        return d_events;
    ++d_status.steps;
    if (d_guard && !watch(batch, labels, apart)) {
        d_explained = 0;
        return d_events;
    }
    const bool teaches_refined = d_settings.pseudo_label == pseudo_label_kind::refined &&
                                 !d_offline.refined_is_worse();
    const std::uint8_t* refined =
        d_guard && teaches_refined ? d_guard->refined() : nullptr;
    const bool is_automatic = !d_settings.learning_rate;
    const bool is_explained = refined && d_guard->explained();
    d_trainer.set_learning_rate(is_explained && is_automatic ? faster * d_rate : d_rate);
    const step_result result =
        d_trainer.step(batch,
                       supervised ? known : refined,
                       refined ? d_guard->error_probabilities() : nullptr,
                       supervised ? nullptr : known);
    if (result.accepted) {
        ++d_status.updates;
        update_average(batch.count);
    }
    d_explained = is_explained ? d_explained + batch.count : 0;
    d_rejected = result.accepted ? 0 : d_rejected + batch.count;
    d_events.push_back(event(event_kind::step, "", result));
    if (d_guard && d_rejected >= most_rejected)
        roll_back("no step was accepted: ");
    return d_events;
}

// Runs the signal check and the guard on a batch. Returns whether to train on it.
bool learner::watch(const feature_view& batch,
                    const std::uint8_t* decided,
                    std::size_t apart)
{
    const bool usable = all_usable(batch.data, batch.floats());
    d_unusable = usable ? 0 : d_unusable + batch.count;
    if (!usable && d_unusable < most_rejected)
        return false; // an unusable batch is skipped without a pause
    const std::string problem = d_signal->problem(batch, decided);
    if (!problem.empty()) {
        if (!d_paused) {
            // A bad adaptive network may be the reason why good samples look unusable.
            d_guard->restart_estimates();
            take_status();
            forget_estimate();
            d_paused = true;
            d_events.push_back(event(event_kind::paused, problem));
        }
        return false;
    }
    if (d_paused) {
        d_paused = false;
        d_events.push_back(event(event_kind::resumed));
    }
    const bool rolls_back = d_guard->judge(batch, d_average, apart);
    take_status();
    if (d_guard->changed()) { // the estimate was another signal's
        forget_estimate();
        d_explained = 0;
    }
    if (rolls_back)
        roll_back("");
    estimate_errors(batch.count);
    // After a disturbance the estimate is not trusted, even before the next one is made.
    if (d_status.estimated.untrusted == distrust::none)
        d_status.estimated.untrusted = distrusted();
    return true;
}

// Updates the status after the guard has judged or started over.
void learner::take_status()
{
    d_status.in_use = d_guard->in_use();
    d_status.refined = d_decides_refined && d_guard->refined();
}

void learner::forget_estimate()
{
    d_unestimated = 0;
    d_status.estimated = {};
}

bool learner::is_refined_estimated() const
{
    return d_decides_refined && !std::isnan(d_guard->refined_symbol_error_rate());
}

distrust learner::distrusted() const
{
    return is_refined_estimated() ? d_guard->refined_distrusted(d_missed)
                                  : d_guard->distrusted(d_missed);
}

void learner::estimate_errors(std::size_t more_symbols)
{
    d_unestimated += more_symbols;
    if (d_unestimated < estimate_every)
        return;
    forget_estimate();
    const bool refined = is_refined_estimated();
    const auto symbols = static_cast<std::uint64_t>(std::lround(
        refined ? d_guard->refined_symbols() : d_guard->estimate().symbols()));
    if (symbols == 0)
        return;
    ++d_status.estimates;
    const double rate =
        refined ? d_guard->refined_symbol_error_rate() : d_guard->symbol_error_rate();
    const auto errors = static_cast<std::uint64_t>(std::lround(rate * symbols));
    const auto interval = clopper_pearson(errors, symbols);
    // Errors are between neighbouring points.
    const double bits =
        d_offline.symbols.bits_per_symbol() / d_offline.symbols.bits_per_error();
    d_status.estimated = {
        rate / bits,
        interval.low / bits,
        interval.high / bits,
        distrusted(),
    };
}

std::size_t learner::pace() const
{
    if (d_guard && d_guard->lacks_symbols())
        return 1;
    return std::clamp<std::size_t>(d_explained / symbols_a_pace, 1, slowest_pace);
}

void learner::roll_back(const std::string& reason)
{
    start_over_from(in_use().parameters());
    ++d_status.rollbacks;
    d_events.push_back(event(event_kind::rollback,
                             reason + "training starts over from the weights '" +
                                 guard::name(d_status.in_use) + "'"));
}

void learner::start_over_from(const std::vector<float>& parameters)
{
    d_trainer.reset(parameters);
    d_average.parameters() = d_trainer.net().parameters();
    d_rejected = d_explained = 0;
}

// Updates the exponential moving average of the trained weights.
void learner::update_average(std::size_t symbols)
{
    const float part =
        static_cast<float>(symbols) / static_cast<float>(d_settings.average + symbols);
    const auto& trained = d_trainer.net().parameters();
    auto& average = d_average.parameters();
    for (std::size_t i = 0; i < average.size(); ++i)
        average[i] = (1.0f - part) * average[i] + part * trained[i];
}

learner_event learner::reset()
{
    start_over_from(d_offline.net.parameters());
    d_trainer.seed(d_settings.seed);
    d_unusable = 0;
    if (d_guard) {
        d_guard->reset();
        d_signal->reset();
        take_status();
        d_paused = false;
        forget_estimate();
    }
    return event(event_kind::reset);
}

void learner::set_training(const training_settings& training)
{
    const auto scaled = fitted_to(d_offline, training);
    d_trainer.set(scaled);
    static_cast<training_settings&>(d_settings) = scaled;
    d_rate = *scaled.learning_rate;
    d_settings.learning_rate = training.learning_rate;
}

const network& learner::in_use() const
{
    return d_guard ? d_guard->choose(d_average) : d_average;
}

std::array<double, 3> learner::guard_estimates() const
{
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    std::array<double, 3> rates{ none, none, none };
    if (d_guard)
        for (const auto which : { guard::offline, guard::adaptive, guard::last_good })
            rates[which] = d_guard->estimate(which).symbol_error_rate();
    return rates;
}

learner_event
learner::event(event_kind what, const std::string& detail, step_result step) const
{
    return { d_status, what, detail, step };
}

model learner::checkpoint()
{
    model saved = d_offline;
    saved.net = in_use();
    archive members = archive::saving(saved.state, "state");
    state(members);
    return saved;
}

void learner::state(archive& members)
{
    auto offline =
        d_offline.net.parameters(); // a copy: the constructor has restored them
    members("offline", offline);
    members("average", d_average.parameters());
    members("trainer", d_trainer);
    members("paused", d_paused);
    members("unestimated", d_unestimated);
    members("rejected", d_rejected);
    members("unusable", d_unusable);
    members("explained", d_explained);
    members("steps", d_status.steps);
    members("updates", d_status.updates);
    members("rollbacks", d_status.rollbacks);
    bool guarded = d_guard.has_value();
    members("guarded", guarded);
    if (guarded && d_guard) {
        members("signal", *d_signal);
        members("guard", *d_guard);
        take_status();
    }
}

} // namespace gr::adann::core
