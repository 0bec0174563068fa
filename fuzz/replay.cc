/* Runs a fuzz target over the files of the folders given: for compilers without libFuzzer.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "input.h"

#include <filesystem>
#include <fstream>
#include <iterator>

int main(int argc, char** argv)
{
    std::size_t files = 0;
    for (int i = 1; i < argc; ++i)
        for (const auto& each : std::filesystem::directory_iterator(argv[i])) {
            std::ifstream file(each.path(), std::ios::binary);
            const std::string bytes{ std::istreambuf_iterator<char>(file), {} };
            LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                   bytes.size());
            ++files;
        }
    std::printf("%zu inputs\n", files);
    return files ? 0 : 1;
}
