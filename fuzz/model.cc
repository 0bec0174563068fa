/* Model files: what loads decides, and is written and read again as it was.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "input.h"

#include "core/network/decider.h"
#include "core/network/model.h"
#include "core/network/quantized_decider.h"

#include <cmath>
#include <stdexcept>

using namespace gr::adann::core;

namespace {

void decide_in_whole_numbers(const model& loaded,
                             const std::vector<float>& samples,
                             std::vector<std::uint8_t>& labels)
{
    const std::size_t dimension = loaded.window.dimension();
    std::vector<std::int32_t> logits(labels.size() * loaded.symbols.size());
    try {
        quantized_decider().decide(
            prepared_quantized(quantized_network(loaded.net, *loaded.formats)),
            { samples.data(), dimension, dimension, labels.size() },
            labels.data(),
            logits.data());
    } catch (const std::invalid_argument&) { // a sum could overflow
        return;
    }
    for (const auto label : labels)
        fuzz::require(label < loaded.symbols.size(), "labels of the constellation");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    try {
        const std::string text(reinterpret_cast<const char*>(bytes), size);
        const model loaded = parse_model(text, "fuzzed");
        const std::string saved = model_contents(loaded);
        fuzz::require(model_contents(parse_model(saved)) == saved, "a round trip");
        if (loaded.net.parameters().size() > 100'000)
            return 0;

        const std::size_t dimension = loaded.window.dimension(), count = 3;
        std::vector<float> samples(count * dimension);
        for (std::size_t i = 0; i < samples.size(); ++i)
            samples[i] = static_cast<float>(i % 7) - 3;
        std::vector<std::uint8_t> labels(count);
        std::vector<float> posteriors(count * loaded.symbols.size());
        decider(loaded.net)
            .decide(prepared_network(loaded.net),
                    { samples.data(), dimension, dimension, count },
                    labels.data(),
                    posteriors.data());
        for (const auto label : labels)
            fuzz::require(label < loaded.symbols.size(), "labels of the constellation");
        if (loaded.waveform) {
            const std::size_t around = loaded.waveform->reach();
            const std::vector<std::uint8_t> sent(2 * around + count);
            std::vector<float> expected(count * loaded.waveform->stride());
            loaded.waveform->expect(&sent[around], count, expected.data());
            for (const float each : expected)
                fuzz::require(std::isfinite(each), "a finite waveform");
        }
        if (loaded.formats)
            decide_in_whole_numbers(loaded, samples, labels);
    } catch (const model_file_error& error) {
        for (const unsigned char c : std::string(error.what()))
            fuzz::require(c >= 0x20 && c != 0x7f, "errors without control characters");
    }
    return 0;
}
