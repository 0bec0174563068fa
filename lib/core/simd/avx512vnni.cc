/* The vector kernels built for AVX-512 (F, BW, DQ, VL, VNNI).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define ADANN_VECTOR 16
#define ADANN_REGISTERS 32
#include "core/simd/vector_kernels.h"

namespace gr::adann::core::simd::avx512vnni {
extern const kernels table = vector_table("avx512vnni");
} // namespace gr::adann::core::simd::avx512vnni
