/* Which kernels this machine can run, and which of them are used.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/simd/kernels.h"

#include "core/common/checks.h"

#include <cstdlib>

namespace gr::adann::core::simd {

// One translation unit each, compiled with that instruction set's flags.
namespace baseline {
extern const kernels table;
}
#ifdef ADANN_X86
namespace avx2 {
extern const kernels table;
}
namespace avx512 {
extern const kernels table;
}
namespace avx512vnni {
extern const kernels table;
}
#endif

namespace {

std::vector<const kernels*> find()
{
    std::vector<const kernels*> found{ &plain, &baseline::table };
#ifdef ADANN_X86
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2)
        found.push_back(&avx2::table);
    const bool avx512 =
        avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512)
        found.push_back(&avx512::table);
    if (avx512 && __builtin_cpu_supports("avx512vnni"))
        found.push_back(&avx512vnni::table);
#endif
    return found;
}

const kernels& choose()
{
    const auto& tables = available();
    const char* wanted = std::getenv("ADANN_ISA");
    if (!wanted)
        return *tables.back();
    std::vector<std::string> names;
    for (const auto* table : tables)
        names.push_back(table->name);
    return *tables[choice("ADANN_ISA", wanted, names)];
}

} // namespace

const std::vector<const kernels*>& available()
{
    static const std::vector<const kernels*> tables = find();
    return tables;
}

const kernels& active()
{
    static const kernels& chosen = choose();
    return chosen;
}

} // namespace gr::adann::core::simd
