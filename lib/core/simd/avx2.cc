/* The vector kernels built for AVX2 and FMA.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define ADANN_VECTOR 8
#define ADANN_REGISTERS 16
#include "core/simd/vector_kernels.h"

namespace gr::adann::core::simd::avx2 {
extern const kernels table = vector_table("avx2");
} // namespace gr::adann::core::simd::avx2
