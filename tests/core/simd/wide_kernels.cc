/* The 16-float kernels that AVX-512 runs, built for any machine, so that all test them.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define ADANN_VECTOR 16
#define ADANN_REGISTERS 32
#include "core/simd/vector_kernels.h"

namespace gr::adann::core::simd::wide {
extern const kernels table = vector_table("wide");
} // namespace gr::adann::core::simd::wide
