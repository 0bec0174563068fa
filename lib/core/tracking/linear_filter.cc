/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/linear_filter.h"

#include <algorithm>

namespace gr::adann::core {

linear_filter::linear_filter(std::size_t taps, bool complex, const simd::kernels& kernels)
    : d_kernels(&kernels), d_taps(taps), d_negative(complex ? taps : 0)
{
}

void linear_filter::run(const float* taps,
                        std::size_t pitch,
                        const signal_planes& x,
                        std::size_t n,
                        float* re,
                        float* im)
{
    const std::size_t columns = simd::whole_lanes(n);
    std::fill_n(re, columns, taps[d_taps]);
    if (!x.im) {
        d_kernels->slide(&taps, 1, d_taps, x.re, 1, columns, 1, &re);
        return;
    }
    std::fill_n(im, columns, taps[pitch + d_taps]);
    run_channel(taps, pitch, x, n, re, im, true);
}

void linear_filter::run_channel(const float* taps,
                                std::size_t pitch,
                                const signal_planes& x,
                                std::size_t n,
                                float* re,
                                float* im,
                                bool adds)
{
    const std::size_t columns = simd::whole_lanes(n);
    const float* const imaginary = taps + pitch;
    for (std::size_t k = 0; k < d_taps; ++k)
        d_negative[k] = -imaginary[k];
    float* const y[] = { re, im };
    const float* const with_re[] = { taps, imaginary };
    d_kernels->slide(with_re, 2, d_taps, x.re, 1, columns, adds, y);
    const float* const with_im[] = { d_negative.data(), taps };
    d_kernels->slide(with_im, 2, d_taps, x.im, 1, columns, 1, y);
}

} // namespace gr::adann::core
