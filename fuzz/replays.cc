/* Recorded batches with changed numbers, replayed.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "recordings.h"

#include <unistd.h>

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    using namespace fuzz;
    input from(bytes, size);
    const std::string path = "/tmp/adann-fuzz-" + std::to_string(getpid());
    save_model(path, changed(from));
    try {
        replay(path);
    } catch (const model_file_error&) {
    }
    unlink(path.c_str());
    return 0;
}
