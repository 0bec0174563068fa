/* Writes the seed corpora into the folder given, by the library's own writers.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "recordings.h"

#include <cmath>
#include <filesystem>
#include <fstream>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

std::filesystem::path folder;

void write(const std::string& target, const std::string& name, const std::string& bytes)
{
    std::filesystem::create_directories(folder / target);
    std::ofstream(folder / target / name, std::ios::binary) << bytes;
}

model small(std::vector<std::size_t> sizes,
            unsigned sps,
            bool complex,
            const std::string& alphabet)
{
    network net(std::move(sizes));
    initialize(net, 1);
    model made(net, sps, 1, complex, alphabet, "a seed");
    made.symbol_error_rate = 0.01f;
    return made;
}

void write_models()
{
    const auto write_model = [](const std::string& name, const model& made) {
        write("model", name, model_contents(made));
    };
    write_model("pam4", small({ 12, 3, 4 }, 4, false, "pam4"));
    write_model("16qam", small({ 12, 2, 2, 16 }, 2, true, "16qam"));
    write_model("points", small({ 6, 2, 2 }, 1, true, "[[1,0.5],[-1,-0.5]]"));
    model followed = small({ 6, 2, 4 }, 1, true, "qpsk");
    expected_waveform waveform(followed.symbols, 1, true, 1, 1);
    waveform.set(std::vector<float>(waveform.rows() * 2, 0.5f),
                 std::vector<float>(4 * 2, 0.1f),
                 0.2f);
    followed.set_waveform(waveform);
    write_model("waveform", followed);
    followed.set_formats({ 8, { 4, 4 }, { { 6, 6 }, { 6, 6, 6, 6 } } });
    write_model("quantized", followed);
    model uncertain = small({ 3, 2, 2 }, 1, false, "pam2");
    uncertain.symbol_error_rate = NAN;
    uncertain.state.tensors = { { "state.a", "BOOL", {}, { "\1", 1 } },
                                { "state.b", "I64", { 1 }, std::string(8, '\2') } };
    write_model("state", uncertain);
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }

int main(int, char** argv)
{
    folder = argv[1];
    write_models();
    // Numbers whose exponents are those of samples, and a few that are none.
    std::string numbers;
    for (std::size_t i = 0; i < 600; ++i) {
        const float value = i % 97 == 96 ? 1e30f : fuzz::recorded(true).samples[i];
        numbers.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    for (const char* target : { "checkpoint",
                                "replays",
                                "front_filter",
                                "mlse",
                                "equalizer",
                                "error_counter",
                                "normalizer" })
        for (std::size_t i = 0; i < 8; ++i) {
            std::string head;
            for (std::size_t k = 0; k < 24; ++k)
                head += static_cast<char>(k * k * (i + 3) + 7 * i + k);
            write(target, std::to_string(i), head + numbers.substr(200 * i, 1000));
        }
}
