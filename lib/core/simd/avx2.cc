/* The kernels for AVX2 and FMA.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define ADANN_VECTOR 8
#define ADANN_REGISTERS 16
#include "core/simd/trellis_vector.h"
#include "core/simd/vector_kernels.h"

namespace gr::adann::core::simd::avx2 {
extern const kernels table{ "avx2",           split,
                            affine,           outer,
                            row_sums,         softmax,
                            argmax,           cross_entropy,
                            posterior_change, rectify,
                            compose,          set_length,
                            normal,           add_compare_select };
} // namespace gr::adann::core::simd::avx2
