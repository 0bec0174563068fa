/* The 16-float kernels that AVX-512 runs, built for any machine, so that all test that
 * source. SPDX-License-Identifier: GPL-3.0-or-later */
#define ADANN_VECTOR 16
#define ADANN_REGISTERS 32
#include "core/simd/trellis_vector.h"
#include "core/simd/vector_kernels.h"

namespace gr::adann::core::simd::wide {
extern const kernels table{ "wide",           split,
                            affine,           outer,
                            row_sums,         softmax,
                            argmax,           cross_entropy,
                            posterior_change, rectify,
                            compose,          set_length,
                            normal,           add_compare_select };
} // namespace gr::adann::core::simd::wide
