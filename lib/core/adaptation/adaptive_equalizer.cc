/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptive_equalizer.h"

#include "core/common/checks.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace gr::adann::core {

namespace {
const adaptation_settings& checked(const adaptation_settings& settings)
{
    adaptation_settings::visit(settings, setting_checks{});
    if (settings.checkpoint.empty())
        return settings;
    const auto file = std::filesystem::absolute(settings.checkpoint);
    if (!std::filesystem::is_directory(file.parent_path()) ||
        std::filesystem::is_directory(file))
        refuse("checkpoint",
               "'" + settings.checkpoint + "'",
               "a file in a folder that exists");
    return settings;
}

// Samples that a front filter looks at on each side, if there is one.
std::size_t reach(const model& initial,
                  std::size_t stride,
                  const adaptation_settings& settings,
                  bool filters)
{
    return filters && settings.front_filter && stride == initial.window.stride()
               ? front_filter::reach(settings.front_filter_length, initial.window.sps())
               : 0;
}

} // namespace

adaptive_equalizer::adaptive_equalizer(
    const model& initial,
    std::size_t stride,
    const adaptation_settings& settings,
    std::function<void(const adaptation_event&)> on_event)
    : adaptive_equalizer(initial, stride, settings, std::move(on_event), nullptr)
{
}

adaptive_equalizer::adaptive_equalizer(
    const blind_start& start,
    std::size_t stride,
    const adaptation_settings& settings,
    std::function<void(const adaptation_event&)> on_event)
    : adaptive_equalizer(start.found(),
                         stride,
                         settings,
                         std::move(on_event),
                         std::make_unique<blind_start>(start))
{
}

adaptive_equalizer::adaptive_equalizer(
    const model& initial,
    std::size_t stride,
    const adaptation_settings& settings,
    std::function<void(const adaptation_event&)> on_event,
    std::unique_ptr<blind_start> start)
    : d_settings(checked(settings)),
      d_initial(initial),
      d_stride(stride),
      d_batch(settings.batch),
      d_adapts(settings.mode != adaptation_mode::off),
      d_lockstep(settings.mode == adaptation_mode::lockstep),
      d_supervised(d_adapts && row(settings.loss).supervised()),
      d_on_event(std::move(on_event)),
      d_start(std::move(start)),
      d_decider(initial.net),
      d_front(make_front(initial, stride, settings)),
      d_following(d_front.get()),
      d_dimension(initial.window.dimension() +
                  2 * reach(initial, stride, settings, d_front || d_start) *
                      initial.window.floats_per_sample()),
      d_floats((d_batch - 1) * stride + initial.window.dimension()),
      d_taught(d_supervised ? d_batch : 0),
      d_queue(d_adapts ? queue_slots(d_batch, d_floats) : 0,
              { std::vector<float>(d_floats), std::vector<std::uint8_t>(d_batch) }),
      d_weights(prepared_network(initial.net, stride)),
      d_front_report(
          { {},
            std::vector<std::complex<float>>((d_dimension - initial.window.dimension()) /
                                                 initial.window.floats_per_sample() +
                                             1) }),
      d_training(settings)
{
    d_known.reserve(front_filter::most_training);
    if (d_start && !d_adapts)
        refuse("model", "empty", "a file, for the mode 'off'");
    make_soft(initial);
    if (!d_adapts)
        return;
    if (!settings.checkpoint.empty())
        d_recorder.emplace(
            stride, initial.window.dimension(), d_batch, queue_slots(d_batch, d_floats));
    d_started = !d_start;
    if (d_start)
        return;
    d_learner.emplace(initial, settings);
    d_status = d_learner->status();
    publish();
    if (!initial.state.tensors.empty()) {
        archive members = archive::restoring(d_initial.state, "state");
        members("dropped", d_dropped);
        if (d_front && d_initial.state.has("state.front.taps"))
            members("front", d_front->resting());
    }
    if (d_front)
        tell(d_front->resting());
    d_initial.state = {};
}

std::unique_ptr<observed<front_filter>> adaptive_equalizer::make_front(
    const model& initial, std::size_t stride, const adaptation_settings& settings)
{
    if (!settings.front_filter || settings.mode == adaptation_mode::off ||
        !initial.waveform || stride != initial.window.stride())
        return nullptr;
    front_filter_settings front;
    front.length = settings.front_filter_length;
    return std::make_unique<observed<front_filter>>(front_filter(initial, front));
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
    d_gap = true;
    if (d_front)
        d_front->resting().start();
    if (d_soft)
        d_soft->start();
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

// Where there is an expected waveform.
void adaptive_equalizer::make_soft(const model& learnt)
{
    if (!learnt.waveform)
        return;
    d_soft =
        std::make_unique<soft_symbols>(*learnt.waveform, learnt.symbols, learnt.window);
    d_showing = d_soft.get();
}

std::size_t adaptive_equalizer::decide(const feature_view& view,
                                       const std::uint8_t* known_labels,
                                       std::uint8_t* labels,
                                       float* posteriors,
                                       float* soft,
                                       soft_symbol_kind kind)
{
    std::size_t shown = 0;
    if (d_supervised && !known_labels)
        refuse("known labels",
               "missing",
               "one per feature vector for the loss 'supervised'");
    for (std::size_t done = 0; done < view.count;) {
        std::size_t n = std::min(view.count - done, d_batch - d_position);
        if (d_untrained)
            n = std::min(n, d_untrained);
        const feature_view part = decide_some(
            view.from(done, n),
            known_labels ? known_labels + done : nullptr,
            labels + done,
            posteriors ? posteriors + done * d_initial.net.outputs() : nullptr);
        if (soft)
            shown += show(part,
                          labels + done,
                          posteriors + done * d_initial.net.outputs(),
                          soft + shown * d_initial.window.floats_per_sample(),
                          kind);
        if (d_adapts && d_thread.joinable())
            collect(part,
                    d_supervised ? taught(known_labels + done, labels + done, part.count)
                                 : labels + done);
        d_position = (d_position + part.count) % d_batch;
        done += part.count;
        if (d_untrained && (d_untrained -= part.count) == 0)
            leave_batch();
    }
    return shown;
}

std::size_t adaptive_equalizer::show(const feature_view& view,
                                     const std::uint8_t* labels,
                                     const float* posteriors,
                                     float* soft,
                                     soft_symbol_kind kind)
{
    soft_symbols* const showing = d_showing;
    if (showing && kind == soft_symbol_kind::received)
        return showing->take(view, labels, soft);
    for (std::size_t i = 0; i < view.count; ++i, posteriors += d_initial.net.outputs()) {
        const std::complex<float> mean = d_initial.symbols.mean(posteriors);
        *soft++ = mean.real();
        if (d_initial.complex)
            *soft++ = mean.imag();
    }
    return view.count;
}

// Decides the first vectors of those that belong to one batch. Returns what the network
// saw.
feature_view adaptive_equalizer::decide_some(const feature_view& view,
                                             const std::uint8_t* known_labels,
                                             std::uint8_t* labels,
                                             float* posteriors)
{
    const prepared_network& net = d_weights.newest();
    observed<front_filter>* const following = d_following;
    if (!following) {
        d_known.clear();
        const std::size_t dimension = d_initial.window.dimension();
        const feature_view middle{
            view.data + (d_dimension - dimension) / 2, d_stride, dimension, view.count
        };
        d_decider.decide(net, middle, labels, posteriors, d_position);
        return middle;
    }
    front_filter& front = following->enter();
    const bool follows = d_follows;
    if (d_reset_front.exchange(false) || std::exchange(d_followed, follows) != follows)
        front.reset();
    if (!d_known.empty())
        front.train(d_known.data(), d_known.size());
    d_known.clear();
    const std::size_t n = std::min(view.count, front.left());
    const feature_view seen = front.filter(view.from(0, n));
    d_decider.decide(net, seen, labels, posteriors, d_position);
    if (d_frozen || !follows || d_between)
        front.hold(labels, n);
    else if (d_supervised)
        front.known(taught(known_labels, labels, n), n);
    else
        front.decided(labels, n, d_decider, net);
    if (d_position + n == d_batch || n == d_untrained)
        tell(front);
    following->leave();
    return seen;
}

const std::uint8_t* adaptive_equalizer::taught(const std::uint8_t* known_labels,
                                               const std::uint8_t* labels,
                                               std::size_t n)
{
    constexpr std::uint8_t unknown = 255; // but of 256 points
    if (d_initial.net.outputs() > unknown)
        return known_labels;
    for (std::size_t i = 0; i < n; ++i)
        d_taught[i] = known_labels[i] == unknown ? labels[i] : known_labels[i];
    return d_taught.data();
}

void adaptive_equalizer::tell(const front_filter& front)
{
    auto& report = d_front_report.writing();
    const signal_planes taps = front.in_use();
    report.status = front.status();
    report.taps.resize(front.taps());
    for (std::size_t k = 0; k < report.taps.size(); ++k)
        report.taps[k] = { taps.re[k], taps.im ? taps.im[k] : 0.0f };
    d_front_report.publish();
}

void adaptive_equalizer::collect(const feature_view& view, const std::uint8_t* labels)
{
    const bool learns = !d_frozen && !d_between && !d_untrained;
    if (d_position == 0) {
        d_filling = learns ? d_queue.free_slot() : nullptr;
        if (!d_filling && learns)
            ++d_dropped;
        if (d_filling)
            d_filling->follows = !d_gap;
        d_gap = !d_filling;
    }
    if (d_filling) {
        // Windows overlap: this writes the end of the last call's samples once more.
        std::copy_n(view.data,
                    view.floats(),
                    d_filling->samples.begin() + d_position * view.stride);
        std::copy_n(labels, view.count, d_filling->labels.begin() + d_position);
    }
    const bool is_whole = d_position + view.count == d_batch;
    if (is_whole)
        ++d_since_estimate;
    if (d_filling && is_whole) {
        d_queue.push();
        d_wake.post();
        if (d_lockstep)
            d_done.wait();
    }
}

void adaptive_equalizer::begin_burst(const std::vector<std::uint8_t>& training)
{
    d_known = training;
    d_untrained = training.size();
    d_between = false;
    leave_batch();
}

void adaptive_equalizer::end_burst(bool resets)
{
    d_between = true;
    d_reset_front = d_reset_front || resets;
    d_known.clear();
    d_untrained = 0;
    leave_batch();
}

// What is in it is not learnt from; the next symbol begins another one.
void adaptive_equalizer::leave_batch()
{
    d_filling = nullptr;
    d_position = 0;
    d_gap = true;
}

void adaptive_equalizer::freeze(bool frozen)
{
    if (d_frozen.exchange(frozen) != frozen)
        d_wake.post();
}

void adaptive_equalizer::request_reset()
{
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        d_reset_requested = true;
    }
    d_wake.post();
}

void adaptive_equalizer::request_save(const std::string& path)
{
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        d_save_requests.push_back(path);
    }
    d_wake.post();
}

void adaptive_equalizer::set_learning_rate(std::optional<float> rate)
{
    change_training([rate](training_settings& t) { t.learning_rate = rate; });
}

void adaptive_equalizer::set_sigma(std::optional<float> sigma)
{
    change_training([sigma](training_settings& t) { t.sigma = sigma; });
}

void adaptive_equalizer::set_epsilon(std::optional<float> epsilon)
{
    change_training([epsilon](training_settings& t) { t.epsilon = epsilon; });
}

template <typename change>
void adaptive_equalizer::change_training(change make)
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    training_settings changed = d_training;
    make(changed);
    training_settings::visit(changed, setting_checks{});
    d_training = changed;
    d_settings_changed = true;
}

front_filter_status adaptive_equalizer::front_status() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    return d_front_report.newest().status;
}

std::vector<std::complex<float>> adaptive_equalizer::taps() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    return has_front_filter() ? d_front_report.newest().taps
                              : std::vector<std::complex<float>>{};
}

learner_status adaptive_equalizer::status() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    learner_status status = d_status;
    if (d_since_estimate >
        queue_slots(d_batch, d_floats) + learner::estimate_every / d_batch + 1)
        status.estimated.trustworthy = false;
    return status;
}

} // namespace gr::adann::core
