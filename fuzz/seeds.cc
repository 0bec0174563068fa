/* Writes the seed corpora into the folder given, by the library's own writers.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "recordings.h"

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

void write_model(const std::string& name,
                 std::vector<std::size_t> sizes,
                 unsigned sps,
                 bool complex,
                 const std::string& alphabet)
{
    network net(sizes);
    initialize(net, 1);
    model m(net, sps, 1, complex, alphabet, "a seed");
    m.symbol_error_rate = 0.01f;
    write("model", name, model_contents(m));
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }

int main(int, char** argv)
{
    folder = argv[1];
    write_model("pam4", { 12, 3, 4 }, 4, false, "pam4");
    write_model("16qam", { 12, 2, 2, 16 }, 2, true, "16qam");
    write_model("points", { 6, 2, 2 }, 1, true, "[[1,0.5],[-1,-0.5]]");
    write("model", "checkpoint", model_contents(*fuzz::recorded().file));
    // Numbers whose exponents are those of samples, and a few that are none.
    std::string numbers;
    for (std::size_t i = 0; i < 600; ++i) {
        const float value = i % 97 == 96 ? 1e30f : fuzz::recorded().samples[i];
        numbers.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    for (const char* target :
         { "checkpoint", "replays", "mlse", "equalizer", "error_counter", "normalizer" })
        for (std::size_t i = 0; i < 4; ++i) {
            std::string head;
            for (std::size_t k = 0; k < 24; ++k)
                head += static_cast<char>(k * k * (i + 3) + 7 * i + k);
            write(target, std::to_string(i), head + numbers.substr(400 * i, 1200));
        }
}
