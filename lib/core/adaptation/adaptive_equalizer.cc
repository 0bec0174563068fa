/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptive_equalizer.h"

#include "core/common/checks.h"

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

// A blind start of the model's signal, to be tried once that is lost; none where it is not wanted.
std::optional<blind_start>
start_beside(const model& given, std::size_t stride, const adaptation_settings& settings)
{
    const window_geometry& window = given.window;
    if (settings.mode == adaptation_mode::off || row(settings.loss).supervised() ||
        !settings.guard || !settings.front_filter || !given.waveform ||
        stride != window.stride() || window.samples() > blind_start::most_samples)
        return std::nullopt;
    return blind_start(given.symbols.text(),
                       static_cast<unsigned>(window.sps()),
                       static_cast<unsigned>((window.samples() / window.sps() - 1) / 2),
                       given.complex,
                       settings.seed);
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
      d_has_waveform(initial.waveform || start),
      d_on_event(std::move(on_event)),
      d_start(std::move(start)),
      d_beside(d_start ? *d_start : start_beside(initial, stride, settings)),
      d_is_given(!d_start),
      d_dimension(initial.window.dimension() +
                  2 * reach(initial, stride, settings, d_adapts && d_has_waveform) *
                      initial.window.floats_per_sample()),
      d_floats((d_batch - 1) * stride + initial.window.dimension()),
      d_decided(d_batch),
      d_posteriors(d_batch * initial.net.outputs()),
      d_packets(initial.symbols, stride, initial.window.dimension(), d_batch),
      d_queue(d_adapts ? queue_slots(d_batch, d_floats) : 0,
              { std::vector<float>(d_floats),
                std::vector<std::uint8_t>(d_batch),
                std::vector<std::uint8_t>(d_batch),
                std::vector<float>(d_beside ? d_floats : 0) }),
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
    if (d_adapts && !d_start)
        d_learner = std::make_unique<learner>(initial, settings);
    d_parts = parts_of(initial, d_learner.get());
    d_using = d_parts.get();
    d_has_front = d_parts->front != nullptr;
    if (!d_adapts)
        return;
    if (!settings.checkpoint.empty())
        d_recorder.emplace(
            stride, initial.window.dimension(), d_batch, queue_slots(d_batch, d_floats));
    d_started = !d_start;
    if (d_beside)
        d_trials = std::make_unique<start_trials>(*d_beside);
    if (d_start)
        return;
    share_status();
    publish();
    restore(d_initial, *d_parts);
    if (d_parts->front)
        tell(d_parts->front->resting());
    d_initial.state = {};
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
    d_symbols = d_end = 0;
    d_gap = true;
    d_untrained = d_sequence = 0;
    d_known.clear();
    if (d_frame)
        d_frame->start();
    d_known_position = 0;
    d_packets.start();
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        d_packet_count = {};
    }
    d_using = d_parts.get();
    d_using->start();
    d_left_labels = nullptr;
    d_left_points = nullptr;
    d_handing_over = false;
    d_wake.clear();
    d_saved = clock::now();
    d_stopping = false;
    d_thread = std::thread([this] { run(); });
    d_wake.post(); // for what was asked before
}

void adaptive_equalizer::set_known_frame(std::vector<std::uint8_t> labels)
{
    d_frame.emplace(d_initial.symbols, std::move(labels));
}

std::optional<std::size_t> adaptive_equalizer::known_position() const
{
    const std::size_t position = d_known_position;
    return position ? std::optional(position - 1) : std::nullopt;
}

void adaptive_equalizer::stop()
{
    if (!d_thread.joinable())
        return;
    d_stopping = true;
    d_wake.post();
    d_thread.join();
}

/* What decides by a model, no sooner than what does now. No front filter where it is switched off,
 * without a waveform, or for separate vectors. Decisions are refined where the learner can say how,
 * unless that was seen to harm on the signal that the model learnt from. */
std::unique_ptr<deciding_parts> adaptive_equalizer::parts_of(const model& learnt,
                                                             learner* learns) const
{
    auto parts = std::make_unique<deciding_parts>(learnt, d_stride);
    if (!learnt.waveform)
        return parts;
    if (d_adapts && d_settings.front_filter && d_stride == learnt.window.stride()) {
        front_filter_settings front;
        front.length = d_settings.front_filter_length;
        parts->front =
            std::make_unique<observed<front_filter>>(front_filter(learnt, front));
    }
    parts->soft = std::make_unique<soft_symbols>(
        *learnt.waveform,
        learnt.symbols,
        learnt.window,
        d_parts && d_parts->soft ? d_parts->soft->lag() : 0);
    const std::size_t least_delay =
        d_parts && d_parts->refined ? d_parts->refined->delay() : 0;
    const bool refines = learns && d_settings.decisions == decision_kind::refined &&
                         learns->can_refine() && !learnt.refined_has_more_errors();
    if (refines)
        learns->decide_refined();
    if (refines || least_delay)
        parts->refined = std::make_unique<refined_stream>(
            learnt.symbols, *learnt.waveform, least_delay);
    return parts;
}

// From a checkpoint: what the learner does not hold.
void adaptive_equalizer::restore(model& saved, deciding_parts& parts)
{
    if (saved.state.tensors.empty())
        return;
    archive members = archive::restoring(saved.state, "state");
    if (parts.front && saved.state.has("state.front.taps"))
        members("front", parts.front->resting());
    members("dropped", d_dropped);
    members("spared", d_spared);
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

void adaptive_equalizer::request_load(const std::string& path, std::size_t training)
{
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        d_load_request = path;
        d_training_symbols = training;
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

void adaptive_equalizer::set_loss(loss_kind loss)
{
    if (row(loss).supervised() != row(d_settings.loss).supervised())
        refuse("loss",
               std::string("'") + name(loss) + "'",
               row(d_settings.loss).supervised()
                   ? "'supervised', which it was made with"
                   : "one that needs no known labels, as that it was made with");
    change_training([loss](training_settings& t) { t.loss = loss; });
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

packet_count adaptive_equalizer::packets() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    return d_packet_count;
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
    const std::size_t overdue =
        (queue_slots(d_batch, d_floats) + learner::estimate_every / d_batch) * d_pace + 1;
    if (d_since_estimate > overdue)
        status.estimated.trustworthy = false;
    return status;
}

} // namespace gr::adann::core
