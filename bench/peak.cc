/* The most floating-point operations that a core can do: independent multiply-adds in
 * registers. SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench.h"

namespace bench {

namespace {

// Twelve chains hide the operations' latency and leave registers for the two factors. One
// function per instruction set: the attribute lets the compiler use it, and fuse.
#define ADANN_CHAINS(STATEMENT)                                                          \
    _Pragma("GCC unroll 12") for (int c = 0; c < 12; ++c) STATEMENT

#define ADANN_MULTIPLY_ADDS(NAME, WIDTH, ATTRIBUTES)                                     \
    ATTRIBUTES float NAME(long rounds)                                                   \
    {                                                                                    \
        typedef float vec __attribute__((vector_size(4 * WIDTH)));                       \
        const vec a = vec{} + 0.999f, b = vec{} + 0.001f;                                \
        vec x[12], sum = {};                                                             \
        ADANN_CHAINS(x[c] = vec{} + 0.1f * c;)                                           \
        for (long i = 0; i < rounds; ++i)                                                \
            ADANN_CHAINS(x[c] = x[c] * a + b;)                                           \
        ADANN_CHAINS(sum += x[c];)                                                       \
        return sum[0];                                                                   \
    }

#if defined(__x86_64__)
ADANN_MULTIPLY_ADDS(avx2, 8, __attribute__((target("avx2,fma"))))
ADANN_MULTIPLY_ADDS(avx512, 16, __attribute__((target("avx512f,fma"))))
#endif
ADANN_MULTIPLY_ADDS(baseline, 4, )

double measure(float (*multiply_adds)(long), double width, double seconds)
{
    constexpr long rounds = 10000;
    volatile float result;
    return rate(
        2 * 12 * width * rounds, seconds, [&] { result = multiply_adds(rounds); });
}

} // namespace

double peak(const std::string& isa, double seconds)
{
#if defined(__x86_64__)
    if (isa == "avx2")
        return measure(avx2, 8, seconds);
    if (isa == "avx512" || isa == "avx512vnni")
        return measure(avx512, 16, seconds);
#endif
    return measure(baseline, 4, seconds);
}

} // namespace bench
