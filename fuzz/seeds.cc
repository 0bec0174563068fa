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

// Files that are refused, each for a reason of its own.
void write_damaged_models()
{
    model whole = small({ 6, 2, 4 }, 1, true, "qpsk");
    expected_waveform waveform(whole.symbols, 1, true, 0, 0);
    waveform.set(
        std::vector<float>(waveform.rows() * 2), std::vector<float>(2, 0.1f), 0.2f);
    whole.set_waveform(waveform);
    const std::string contents = model_contents(whole);
    const auto damaged = [&](const std::string& name, auto damage) {
        tensor_file file = tensor_file::parse(contents, name);
        damage(file);
        write("model", name, file.contents());
    };
    for (const auto& [key, value] : { std::pair{ "format", "adann/0" },
                                      { "sps", "one" },
                                      { "half_window", "2" },
                                      { "complex", "perhaps" },
                                      { "constellation", "16qam" },
                                      { "temperature", "1e9" },
                                      { "waveform_context", "3" },
                                      { "quantization_bits", "8" } })
        damaged(key, [&, &key = key, &value = value](tensor_file& file) {
            file.metadata[key] = value;
        });
    damaged("no_training", [](tensor_file& file) { file.metadata.erase("training"); });
    damaged("no_tensor", [](tensor_file& file) { file.tensors.pop_back(); });
    damaged("no_weight", [](tensor_file& file) { file.tensors.clear(); });
    // The first ones are layers.0.weight, layers.0.bias, layers.1.weight.
    for (const std::size_t which : { 0, 1, 2 }) {
        const std::string name = std::to_string(which);
        damaged("dtype" + name,
                [&](tensor_file& file) { file.tensors[which].dtype = "F64"; });
        damaged("shape" + name,
                [&](tensor_file& file) { file.tensors[which].shape[0] += 1; });
        damaged("dimensions" + name,
                [&](tensor_file& file) { file.tensors[which].shape.push_back(1); });
        damaged("infinite" + name,
                [&](tensor_file& file) { file.tensors[which].bytes.assign(48, '\xff'); });
    }
    write("model", "short", contents.substr(0, 4));
    write("model", "cut", contents.substr(0, contents.size() - 4));
    write("model", "list", std::string("\2\0\0\0\0\0\0\0[]", 10));
    write("model", "nothing", std::string("\7\0\0\0\0\0\0\0{\"a\":1}", 15));
}

// What comes behind the settings: stride, labels, samples.
void write_damaged_replays()
{
    const std::size_t tensors = fuzz::recorded(true).file->state.tensors.size();
    for (const std::size_t back : { 3, 2, 1 }) {
        std::string bytes("\1\1", 2);               // judged, one change
        bytes += static_cast<char>(tensors - back); // of this one
        bytes += std::string("\2\0", 2) + std::string(8, '\x63');
        write("replays", "damaged" + std::to_string(back), bytes);
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }

int main(int, char** argv)
{
    folder = argv[1];
    write_models();
    write_damaged_models();
    write_damaged_replays();
    // Numbers whose exponents are those of samples, and a few that are none.
    std::string numbers;
    for (std::size_t i = 0; i < 600; ++i) {
        const float value = i % 97 == 96 ? 1e30f : fuzz::recorded(true).samples[i];
        numbers.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    for (const char* target : { "checkpoint",
                                "replays",
                                "front_filter",
                                "mimo_filter",
                                "refined_stream",
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
