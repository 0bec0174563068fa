/* Recorded batches with changed numbers, replayed.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "recordings.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    using namespace fuzz;
    static const int memory = memfd_create("replay", 0); // a file, and no disk waits
    static const std::string path = "/proc/self/fd/" + std::to_string(memory);
    input from(bytes, size);
    model changed = *recorded(from.flag()).file;
    change(changed.state.tensors, from);
    const std::string contents = model_contents(changed);
    require(ftruncate(memory, 0) == 0 &&
                pwrite(memory, contents.data(), contents.size(), 0) ==
                    static_cast<ssize_t>(contents.size()),
            "room for the file");
    try {
        replay(path);
    } catch (const model_file_error&) {
    }
    return 0;
}
