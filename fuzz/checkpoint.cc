/* Checkpoints with changed numbers: refused, or learnt on from.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "recordings.h"

#include <cmath>

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    using namespace fuzz;
    constexpr std::size_t steps = 3;
    input from(bytes, size);
    const recording& known = recorded(from.flag());
    learner_settings settings = known.settings;
    settings.guard = !from.flag();
    model changed = *known.file;
    change(changed.state.tensors, from);
    try {
        learner learning(changed, settings);
        std::vector<std::uint8_t> labels(batch);
        for (std::size_t i = 0; i < steps; ++i) {
            for (auto& label : labels)
                label = (label * 5 + i) % 4;
            for (const auto& event : learning.step(known.view(i), labels.data()))
                require(event.what != event_kind::error, "no error from a step");
        }
        for (const float parameter : learning.in_use().parameters())
            require(std::isfinite(parameter), "finite weights in use");
        const model saved = learning.checkpoint();
        try {
            learner(saved, settings);
        } catch (const model_file_error& error) {
            require(false, error.what());
        }
    } catch (const model_file_error&) {
    }
    return 0;
}
