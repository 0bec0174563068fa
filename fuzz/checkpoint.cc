/* Checkpoints with changed numbers: refused, or learnt on from.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "recordings.h"

#include <cmath>

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    using namespace fuzz;
    input from(bytes, size);
    learner_settings settings = recorded().settings;
    settings.guard = !from.flag();
    try {
        learner learning(changed(from), settings);
        std::vector<std::uint8_t> labels(batch);
        for (std::size_t i = 0; i < batches; ++i) {
            for (auto& label : labels)
                label = (label * 5 + i) % 4;
            for (const auto& event : learning.step(recorded().view(i), labels.data()))
                require(event.what != event_kind::error, "no error from a step");
        }
        for (const float parameter : learning.in_use().parameters())
            require(std::isfinite(parameter), "finite weights in use");
        const std::string saved = model_contents(learning.checkpoint());
        learner(parse_model(saved), settings);
    } catch (const model_file_error&) {
    }
    return 0;
}
