/* The vector kernels built for what every machine of the kind has (x86-64: SSE2).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define ADANN_VECTOR 4
#define ADANN_REGISTERS 16
#include "core/simd/vector_kernels.h"

namespace gr::adann::core::simd::baseline {
extern const kernels table = vector_table("baseline");
} // namespace gr::adann::core::simd::baseline
