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

// Floats of a vector, with a front filter's reach on each side, if there is one.
std::size_t dimension_of(const model& initial,
                         std::size_t stride,
                         const adaptation_settings& settings,
                         bool has_waveform)
{
    const window_geometry& window = initial.window;
    const bool filters = has_waveform && wants_front_filter(settings, window, stride);
    const std::size_t reach =
        filters ? front_filter::reach(settings.front_filter_length, window.sps()) : 0;
    return window.dimension() + 2 * reach * window.floats_per_sample();
}

// A blind start for the model's signal, to be tried once that is lost; none if it is not wanted.
std::optional<blind_start> start_for_trials(const model& given,
                                            std::size_t stride,
                                            const adaptation_settings& settings)
{
    const window_geometry& window = given.window;
    if (!wants_front_filter(settings, window, stride) ||
        row(settings.loss).supervised() || !settings.guard || !given.waveform ||
        window.samples() > blind_start::most_samples)
        return std::nullopt;
    return blind_start(given.symbols.text(),
                       static_cast<unsigned>(window.sps()),
                       static_cast<unsigned>((window.samples() / window.sps() - 1) / 2),
                       given.complex,
                       settings.seed);
}

// Floats of a batch.
std::size_t
floats_of(const model& initial, std::size_t stride, const adaptation_settings& settings)
{
    return (settings.batch - 1) * stride + initial.window.dimension();
}

// An empty batch of the size of the queue's slots.
adaptation_batch batch_of(std::size_t symbols, std::size_t floats, bool keeps_received)
{
    adaptation_batch made;
    made.samples.resize(floats);
    made.received.resize(keeps_received ? floats : 0);
    made.labels.resize(symbols);
    made.truth.resize(symbols);
    return made;
}

} // namespace

adaptive_equalizer::adaptive_equalizer(const model& initial,
                                       std::size_t stride,
                                       const adaptation_settings& settings,
                                       adapter::listener on_event)
    : adaptive_equalizer(
          initial,
          stride,
          settings,
          std::move(on_event),
          nullptr,
          dimension_of(initial, stride, settings, initial.waveform.has_value()),
          start_for_trials(initial, stride, settings))
{
}

adaptive_equalizer::adaptive_equalizer(const blind_start& start,
                                       std::size_t stride,
                                       const adaptation_settings& settings,
                                       adapter::listener on_event)
    : adaptive_equalizer(start.found(),
                         stride,
                         settings,
                         std::move(on_event),
                         std::make_unique<blind_start>(start),
                         dimension_of(start.found(), stride, settings, true),
                         start)
{
    if (settings.mode == adaptation_mode::off)
        refuse("model", "empty", "a file, for the mode 'off'");
}

adaptive_equalizer::adaptive_equalizer(const model& initial,
                                       std::size_t stride,
                                       const adaptation_settings& settings,
                                       adapter::listener on_event,
                                       std::unique_ptr<blind_start> start,
                                       std::size_t dimension,
                                       const std::optional<blind_start>& trials)
    : d_settings(checked(settings)),
      d_exchange(settings.mode == adaptation_mode::off
                     ? 0
                     : queue_slots(settings.batch, floats_of(initial, stride, settings)),
                 batch_of(settings.batch,
                          floats_of(initial, stride, settings),
                          trials || dimension > initial.window.dimension()),
                 (dimension - initial.window.dimension()) /
                         initial.window.floats_per_sample() +
                     1),
      d_adapter(initial,
                stride,
                d_settings,
                std::move(on_event),
                std::move(start),
                trials,
                d_exchange),
      d_decides(d_adapter.initial(),
                d_adapter.parts(),
                stride,
                dimension,
                settings.batch,
                settings.mode != adaptation_mode::off && row(settings.loss).supervised(),
                d_exchange,
                [this] {
                    if (d_settings.mode == adaptation_mode::lockstep)
                        d_adapter.serve();
                    else
                        d_exchange.wake.post();
                })
{
}

void adaptive_equalizer::start()
{
    if (d_adapter.runs())
        return;
    d_decides.start(d_adapter.parts(), d_settings.mode != adaptation_mode::off);
    d_adapter.start();
}

void adaptive_equalizer::stop()
{
    d_adapter.stop();
    d_decides.stop();
}

void adaptive_equalizer::freeze(bool frozen)
{
    if (d_exchange.frozen.exchange(frozen) != frozen)
        d_exchange.wake.post();
}

void adaptive_equalizer::request_reset()
{
    d_adapter.requests().reset();
    d_exchange.wake.post();
}

void adaptive_equalizer::request_save(const std::string& path)
{
    d_adapter.requests().save(path);
    d_exchange.wake.post();
}

void adaptive_equalizer::request_load(const std::string& path, std::size_t training)
{
    d_adapter.requests().load(path, training);
    d_exchange.wake.post();
}

void adaptive_equalizer::set_learning_rate(std::optional<float> rate)
{
    d_adapter.requests().change_training(
        [rate](training_settings& t) { t.learning_rate = rate; });
}

void adaptive_equalizer::set_sigma(std::optional<float> sigma)
{
    d_adapter.requests().change_training(
        [sigma](training_settings& t) { t.sigma = sigma; });
}

void adaptive_equalizer::set_epsilon(std::optional<float> epsilon)
{
    d_adapter.requests().change_training(
        [epsilon](training_settings& t) { t.epsilon = epsilon; });
}

void adaptive_equalizer::set_loss(loss_kind loss)
{
    if (row(loss).supervised() != row(d_settings.loss).supervised())
        refuse("loss",
               std::string("'") + name(loss) + "'",
               row(d_settings.loss).supervised()
                   ? "'supervised', which it was made with"
                   : "one that needs no known labels, as that it was made with");
    d_adapter.requests().change_training([loss](training_settings& t) { t.loss = loss; });
}

std::vector<std::complex<float>> adaptive_equalizer::taps() const
{
    return has_front_filter() ? d_exchange.front.taps()
                              : std::vector<std::complex<float>>{};
}

} // namespace gr::adann::core
