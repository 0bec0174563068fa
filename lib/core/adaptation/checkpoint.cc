/* The adaptive equalizer's checkpoints. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptive_equalizer.h"

#include <filesystem>

namespace gr::adann::core {

// A checkpoint's network as it was before it adapted; any other model as it is.
model adaptive_equalizer::offline(model from)
{
    if (!from.state.tensors.empty())
        archive::restoring(from.state, "state")("offline", from.net.parameters());
    return from;
}

model adaptive_equalizer::checkpoint()
{
    model saved = d_initial;
    saved.net = in_use();
    if (d_adapts) {
        archive members = archive::saving(saved.state, "state");
        state(members);
    }
    return saved;
}

void adaptive_equalizer::state(archive& members)
{
    members("offline", d_initial.net.parameters());
    members("average", d_average.parameters());
    members("trainer", d_trainer);
    members("paused", d_paused);
    members("unestimated", d_unestimated);
    members("steps", d_steps);
    members("updates", d_updates);
    members("dropped", d_dropped);
    members("rollbacks", d_rollbacks);
    bool guarded = d_guard.has_value();
    members("guarded", guarded);
    if (guarded && d_guard) {
        members("signal", *d_signal);
        members("guard", *d_guard);
    }
}

void adaptive_equalizer::save(const std::string& path, const model& saved)
{
    try {
        save_model(path, saved);
        report("saved", path);
    } catch (const std::exception& error) {
        report("error", error.what());
    }
}

void adaptive_equalizer::save_rollback()
{
    adaptation_settings settings = d_settings;
    {
        const std::lock_guard<std::mutex> lock(d_requests_mutex);
        settings.training = d_training;
    }
    save(std::filesystem::path(d_settings.checkpoint)
             .replace_extension(".rollback.safetensors"),
         d_recorder->recorded(settings));
}

} // namespace gr::adann::core
