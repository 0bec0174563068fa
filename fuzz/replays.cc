/* Recorded batches with changed numbers, replayed; reading files is the target model's.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "recordings.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    using namespace fuzz;
    input from(bytes, size);
    model changed = *recorded(from.flag()).file;
    change(changed.state.tensors, from);
    try {
        replay(changed);
    } catch (const model_file_error&) {
    }
    return 0;
}
