/* MLSE with any settings on any floats: labels in order, whatever the cuts.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "alphabets.h"
#include "input.h"

#include "core/mlse/mlse.h"

#include <cmath>
#include <stdexcept>

using namespace gr::adann;
using namespace gr::adann::core;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    fuzz::input from(bytes, size);
    try {
        const constellation& alphabet = from.of(fuzz::alphabets());
        const unsigned sps = from.up_to(4);
        unsigned memory = from.up_to(5);
        while (std::pow(alphabet.size(), memory) > 1024) // states: a run takes no time
            --memory;
        const channel_model channel(
            alphabet, sps, memory, from.flag() || alphabet.is_complex());
        mlse_settings settings;
        settings.traceback_depth = from.up_to(80);
        settings.block_length = from.up_to(60);
        settings.guard = static_cast<int>(from.up_to(17)) - 1;
        settings.update_interval = from.up_to(300);
        settings.adaptation = from.word<mlse_adaptation>();
        settings.step = from.take<float>();
        mlse decider(channel, settings);
        if (from.flag()) {
            decider.set_training({ 0, 1, 1, 0, 1 });
            decider.start_training();
        }
        const std::size_t piece = 1 + from.up_to(99), room = 1 + from.up_to(99);
        const auto samples = from.rest<float>(1000);
        const std::size_t symbols = samples.size() / channel.floats();
        std::vector<std::uint8_t> known, labels(symbols + 1);
        known.reserve(symbols);
        for (std::size_t i = 0; i < symbols; ++i)
            known.push_back(i % 3 ? 255 : i % alphabet.size());
        mlse::progress done{};
        while (done.symbols < symbols || decider.pending()) {
            const auto now =
                decider.process(&samples[0] + done.symbols * channel.floats(),
                                known.data() + done.symbols,
                                std::min(piece, symbols - done.symbols),
                                labels.data() + done.labels,
                                std::min(room, symbols - done.labels));
            done.symbols += now.symbols;
            done.labels += now.labels;
        }
        fuzz::require(done.labels + decider.latency() >= symbols, "latency()");
        for (std::size_t i = 0; i < done.labels; ++i)
            fuzz::require(labels[i] < alphabet.size(), "labels of the constellation");
        channel.check(decider.response());
    } catch (const std::invalid_argument&) {
    }
    return 0;
}
