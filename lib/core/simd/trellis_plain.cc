/* The Viterbi algorithm's inner loop as plain loops: the reference in tests.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/simd/trellis_kernels.h"

#include <utility>

namespace gr::adann::core::simd {

void plain_add_compare_select(const trellis_tables& t,
                              const float* x,
                              std::size_t steps,
                              float* metrics[2],
                              std::uint8_t* survivors)
{
    const std::size_t branches = std::size_t{ 1 } << t.label_bits;
    for (; steps > 0; --steps, x += t.floats, survivors += t.states) {
        const float* now = metrics[0];
        float* next = metrics[1];
        for (std::size_t s = 0; s < t.states; ++s) {
            float w[2] = {};
            for (std::size_t axis = 0; axis < t.axes; ++axis) {
                w[axis] = t.slope[axis * t.states + s];
                for (std::size_t c = 0; c < t.floats; ++c)
                    w[axis] -= t.last_tap[axis * t.floats + c] * x[c];
            }
            float best = 0;
            for (std::size_t b = 0; b < branches; ++b) {
                float metric = now[b * t.oldest_stride + (s >> t.label_bits)];
                for (std::size_t axis = 0; axis < t.axes; ++axis)
                    metric += t.points[axis * branches + b] * w[axis];
                if (b == 0 || metric < best) {
                    best = metric;
                    survivors[s] = b;
                }
            }
            best += t.energy[s];
            for (std::size_t c = 0; c < t.floats; ++c)
                best += x[c] * t.correlator[c * t.states + s];
            next[s] = best;
        }
        std::swap(metrics[0], metrics[1]);
    }
}

} // namespace gr::adann::core::simd
