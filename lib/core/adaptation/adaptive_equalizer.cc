/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptive_equalizer.h"

#include "core/common/checks.h"
#include "core/counting/clopper_pearson.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#ifdef __linux__
#include <sys/resource.h>
#endif

namespace gr::adann::core {

namespace {
const adaptation_settings& checked(const adaptation_settings& settings)
{
    settings.check();
    return settings;
}
} // namespace

adaptive_equalizer::adaptive_equalizer(
    const model& initial,
    std::size_t stride,
    const adaptation_settings& settings,
    std::function<void(const adaptation_event&)> on_event)
    : d_settings(checked(settings)),
      d_initial(settings.mode == "off" ? initial : offline(initial)),
      d_stride(stride),
      d_batch(settings.batch),
      d_approach(static_cast<float>(d_batch) /
                 static_cast<float>(settings.average + d_batch)),
      d_adapts(settings.mode != "off"),
      d_lockstep(settings.mode == "lockstep"),
      d_supervised(d_adapts && settings.training.loss.loss == "supervised"),
      d_on_event(std::move(on_event)),
      d_decider(d_initial.net),
      d_floats((d_batch - 1) * stride + initial.window.dimension()),
      d_queue(d_adapts ? queue_slots(d_batch, d_floats) : 0,
              { std::vector<float>(d_floats), std::vector<std::uint8_t>(d_batch) }),
      d_weights(prepared_network(d_initial.net, stride)),
      d_training(settings.training.scaled_to(initial.symbols, initial.sps)),
      d_trainer(d_initial.net, d_training),
      d_average(d_initial.net)
{
    if (!d_adapts)
        return;
    tensor_file from;
    std::swap(from, d_initial.state);
    if (settings.guard && !d_supervised && !std::isnan(initial.symbol_error_rate)) {
        const bool scrambled = settings.training.loss.balance > 0;
        d_signal.emplace(d_initial.symbols.size(), scrambled);
        d_guard.emplace(d_initial, scrambled, settings.training.seed);
    }
    if (!settings.checkpoint.empty())
        d_recorder.emplace(
            stride, initial.window.dimension(), d_batch, queue_slots(d_batch, d_floats));
    if (!from.tensors.empty()) {
        archive members = archive::restoring(from, "state");
        state(members);
        publish();
    }
}

adaptive_equalizer::~adaptive_equalizer() { stop(); }

void adaptive_equalizer::start()
{
    if (d_thread.joinable())
        return;
    while (d_queue.filled_slot())
        d_queue.pop();
    d_filling = nullptr;
    d_position = 0;
    d_wake.clear();
    d_done.clear();
    d_stopping = false;
    d_thread = std::thread([this] { run(); });
}

void adaptive_equalizer::stop()
{
    if (!d_thread.joinable())
        return;
    d_stopping = true;
    d_wake.post();
    d_thread.join();
}

void adaptive_equalizer::decide(const feature_view& view,
                                const std::uint8_t* known_labels,
                                std::uint8_t* labels,
                                float* posteriors)
{
    if (d_supervised && !known_labels)
        refuse("known labels",
               "missing",
               "one per feature vector for the loss 'supervised'");
    for (std::size_t done = 0; done < view.count;) {
        const std::size_t n = std::min(view.count - done, d_batch - d_position);
        const feature_view part = view.from(done, n);
        d_decider.decide(d_weights.newest(),
                         part,
                         labels + done,
                         posteriors ? posteriors + done * d_initial.net.outputs()
                                    : nullptr,
                         d_position);
        if (d_adapts && d_thread.joinable())
            collect(part, d_supervised ? known_labels + done : labels + done);
        d_position = (d_position + n) % d_batch;
        done += n;
    }
}

void adaptive_equalizer::collect(const feature_view& view, const std::uint8_t* labels)
{
    if (d_position == 0) {
        d_filling = d_frozen ? nullptr : d_queue.free_slot();
        if (!d_filling && !d_frozen)
            ++d_dropped;
    }
    if (d_filling) {
        // Windows overlap: this writes the end of the last call's samples once more.
        std::copy_n(view.data,
                    view.floats(),
                    d_filling->samples.begin() + d_position * view.stride);
        std::copy_n(labels, view.count, d_filling->labels.begin() + d_position);
    }
    if (d_filling && d_position + view.count == d_batch) {
        d_queue.push();
        d_wake.post();
        if (d_lockstep)
            d_done.wait();
    }
}

void adaptive_equalizer::request_reset()
{
    {
        const std::lock_guard<std::mutex> lock(d_requests_mutex);
        d_reset_requested = true;
    }
    d_wake.post();
}

void adaptive_equalizer::request_save(const std::string& path)
{
    {
        const std::lock_guard<std::mutex> lock(d_requests_mutex);
        d_save_requests.push_back(path);
    }
    d_wake.post();
}

void adaptive_equalizer::set_learning_rate(float rate)
{
    change_training([rate](training_settings& t) { t.learning_rate = rate; });
}

void adaptive_equalizer::set_sigma(float sigma)
{
    change_training([sigma](training_settings& t) { t.loss.sigma = sigma; });
}

void adaptive_equalizer::set_epsilon(float epsilon)
{
    change_training([epsilon](training_settings& t) { t.loss.epsilon = epsilon; });
}

template <typename change>
void adaptive_equalizer::change_training(change make)
{
    const std::lock_guard<std::mutex> lock(d_requests_mutex);
    training_settings changed = d_training;
    make(changed);
    changed = changed.scaled_to(d_initial.symbols, d_initial.sps);
    changed.loss.check();
    check_range("learning_rate", changed.learning_rate, 0.0f, 10.0f);
    d_training = changed;
    d_settings_changed = true;
}

void adaptive_equalizer::run()
{
#ifdef __linux__
    // Where cores are few, decisions come first. This thread alone becomes nicer.
    if (d_adapts && !d_lockstep)
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 10);
#endif
    using clock = std::chrono::steady_clock;
    const bool saves = d_adapts && !d_settings.checkpoint.empty();
    auto saved = clock::now();
    for (d_wake.wait(); !d_stopping; d_wake.wait()) {
        take_requests();
        const batch* filled = d_queue.filled_slot();
        if (!filled)
            continue;
        const std::uint64_t rollbacks = d_rollbacks;
        if (d_recorder)
            d_recorder->add(filled->samples.data(), filled->labels.data(), [this] {
                return checkpoint();
            });
        learn(filled->samples.data(), filled->labels.data());
        d_queue.pop();
        if (d_lockstep)
            d_done.post();
        // While decide() goes on.
        if (d_recorder && d_rollbacks > rollbacks)
            save_rollback();
        if (saves && clock::now() - saved >=
                         std::chrono::seconds(d_settings.checkpoint_interval)) {
            save(d_settings.checkpoint, checkpoint());
            saved = clock::now();
        }
    }
    if (saves)
        save(d_settings.checkpoint, checkpoint());
}

void adaptive_equalizer::take_requests()
{
    bool reset = false, changed = false;
    std::vector<std::string> paths;
    {
        const std::lock_guard<std::mutex> lock(d_requests_mutex);
        d_trainer.set_loss(d_training.loss);
        d_trainer.set_learning_rate(d_training.learning_rate);
        std::swap(changed, d_settings_changed);
        std::swap(reset, d_reset_requested);
        std::swap(paths, d_save_requests);
    }
    if (d_recorder && (changed || reset))
        d_recorder->clear();
    if (reset) {
        d_trainer.reset(d_initial.net.parameters());
        approach_trained(1.0f);
        if (d_guard) {
            d_guard->reset();
            d_signal->reset();
            d_paused = false;
            forget_estimate();
        }
        publish();
        report("reset", "");
    }
    for (const auto& path : paths)
        save(path, checkpoint());
}

void adaptive_equalizer::learn(const float* samples, const std::uint8_t* labels)
{
    try {
        const feature_view view{
            samples, d_stride, d_initial.window.dimension(), d_batch
        };
        ++d_steps;
        if (d_guard && !watch(view, labels))
            return;
        const step_result result = d_trainer.step(view, labels);
        if (result.accepted) {
            ++d_updates;
            approach_trained(d_approach);
        }
        publish(); // whatever the step: the guard may have chosen another network
        report("step", "", result);
    } catch (const std::exception& error) {
        report("error", error.what());
    }
}

// Has the signal check and the guard look at a batch. Returns whether to train on it.
bool adaptive_equalizer::watch(const feature_view& view, const std::uint8_t* decided)
{
    const std::string problem = d_signal->problem(view, decided);
    if (!problem.empty()) {
        // The adapting network may be what makes good samples look useless.
        if (!d_paused) {
            d_guard->restart_estimates();
            forget_estimate();
            publish();
        }
        d_paused = true;
        report("paused", problem);
        return false;
    }
    if (d_paused) {
        d_paused = false;
        report("resumed", "");
    }
    if (d_guard->judge(view, d_average)) {
        d_trainer.reset(in_use().parameters());
        approach_trained(1.0f);
        ++d_rollbacks;
        report("rollback",
               std::string("training starts over from the weights '") +
                   guard::name(d_guard->in_use()) + "'");
    }
    estimate_errors(view.count);
    return true;
}

void adaptive_equalizer::forget_estimate()
{
    d_unestimated = 0;
    const std::lock_guard<std::mutex> lock(d_requests_mutex);
    d_estimated = {};
}

void adaptive_equalizer::estimate_errors(std::size_t more_symbols)
{
    constexpr std::size_t often_enough = 4096; // symbols: an interval takes microseconds
    d_unestimated += more_symbols;
    if (d_unestimated < often_enough)
        return;
    d_unestimated = 0;
    const auto& estimate = d_guard->estimate();
    const auto symbols = static_cast<std::uint64_t>(std::lround(estimate.symbols()));
    const double rate = estimate.symbol_error_rate();
    const double bits = d_initial.symbols.bits_per_symbol(); // Gray: one is wrong
    error_rate found;
    if (symbols > 0) {
        const auto errors = static_cast<std::uint64_t>(std::lround(rate * symbols));
        const auto interval = clopper_pearson(errors, symbols);
        found = {
            rate / bits, interval.low / bits, interval.high / bits, estimate.trustworthy()
        };
    }
    const std::lock_guard<std::mutex> lock(d_requests_mutex);
    d_estimated = found;
}

error_rate adaptive_equalizer::estimated() const
{
    const std::lock_guard<std::mutex> lock(d_requests_mutex);
    return d_estimated;
}

// Brings the average nearer to the trained weights: wholly with part = 1.
void adaptive_equalizer::approach_trained(float part)
{
    const auto& trained = d_trainer.net().parameters();
    auto& average = d_average.parameters();
    for (std::size_t i = 0; i < average.size(); ++i)
        average[i] = (1.0f - part) * average[i] + part * trained[i];
}

std::array<double, 3> adaptive_equalizer::badness() const
{
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    return d_guard ? std::array{ d_guard->badness(guard::offline),
                                 d_guard->badness(guard::adaptive),
                                 d_guard->badness(guard::last_good) }
                   : std::array{ none, none, none };
}

const network& adaptive_equalizer::in_use() const
{
    return d_guard ? d_guard->choose(d_average) : d_average;
}

void adaptive_equalizer::publish()
{
    d_weights.writing().assign(in_use());
    d_weights.publish();
}

void adaptive_equalizer::report(const std::string& what,
                                const std::string& detail,
                                step_result step)
{
    if (d_on_event)
        d_on_event({ what,
                     detail,
                     step,
                     estimated(),
                     guard::name(d_guard ? d_guard->in_use() : guard::adaptive),
                     d_steps,
                     d_updates,
                     d_dropped,
                     rejected(),
                     d_rollbacks,
                     queued() });
}

} // namespace gr::adann::core
