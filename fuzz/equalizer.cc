/* A learner with any settings on any floats: what decides stays finite.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "alphabets.h"
#include "input.h"

#include "core/adaptation/learner.h"
#include "core/network/decider.h"
#include "core/training/initialize.h"

#include <cmath>
#include <map>
#include <stdexcept>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

const model& of_alphabet(const constellation& alphabet)
{
    static std::map<std::string, model> made;
    const auto found = made.find(alphabet.name());
    if (found != made.end())
        return found->second;
    const network net({ 2, 1, alphabet.size() });
    return made.try_emplace(alphabet.name(), net, 1, 0, true, alphabet.text())
        .first->second;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    fuzz::input from(bytes, size);
    try {
        const constellation& alphabet = from.of(fuzz::alphabets());
        const unsigned sps = 1 + from.up_to(3), half_window = from.up_to(3);
        const bool complex = from.flag() || alphabet.is_complex();
        const window_geometry window(sps, half_window, complex);
        network net({ window.dimension(), 1 + from.up_to(11), alphabet.size() });
        initialize(net, from.up_to(9));
        model initial = of_alphabet(alphabet);
        initial.net = net;
        initial.window = window;
        initial.sps = sps;
        initial.half_window = half_window;
        initial.complex = complex;
        initial.symbol_error_rate = from.flag() ? 0.01f : NAN;
        learner_settings settings;
        settings.batch = 16 + from.up_to(100);
        settings.average = from.up_to(20'000);
        settings.guard = !from.flag();
        settings.optimizer = from.word<optimizer_kind>();
        settings.loss = from.word<loss_kind>();
        settings.pseudo_label = from.word<pseudo_label_kind>();
        for (auto* each : { &settings.learning_rate, &settings.sigma, &settings.epsilon })
            if (from.flag())
                *each = from.take<float>();
        for (float* each : { &settings.xi, &settings.balance })
            if (from.flag())
                *each = from.take<float>();
        learner learning(initial, settings);

        const std::size_t stride = window.stride(), n = settings.batch;
        const auto given = from.rest<float>(2000);
        if (given.empty())
            return 0;
        std::vector<float> samples((n - 1) * stride + window.dimension());
        std::vector<std::uint8_t> labels(n);
        std::vector<float> posteriors(n * alphabet.size());
        decider decides(net);
        const std::size_t steps =
            std::min<std::size_t>(given.size() / samples.size() + 3, 6);
        for (std::size_t step = 0; step < steps; ++step) {
            // The last batches hold usable numbers.
            const bool good = step + 2 >= steps;
            for (std::size_t i = 0; i < samples.size(); ++i)
                samples[i] = good ? std::sin(0.37f * i * i)
                                  : given[(step * samples.size() + i) % given.size()];
            const feature_view view{ samples.data(), stride, window.dimension(), n };
            decides.decide(prepared_network(learning.in_use(), stride),
                           view,
                           labels.data(),
                           posteriors.data());
            for (const auto label : labels)
                fuzz::require(label < alphabet.size(), "labels of the constellation");
            for (const float posterior : posteriors)
                fuzz::require(!good || std::isfinite(posterior), "finite posteriors");
            learning.step(view, labels.data());
        }
    } catch (const std::invalid_argument&) {
    }
    return 0;
}
