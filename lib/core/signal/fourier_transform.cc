/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/fourier_transform.h"

#include "core/common/complex.h"

#include <cmath>
#include <utility>

namespace gr::adann::core {

fourier_transform::fourier_transform(std::size_t size) : d_turns(size / 2)
{
    for (std::size_t k = 0; k < d_turns.size(); ++k)
        d_turns[k] = static_cast<std::complex<float>>(std::polar(
            1.0, -2 * M_PI * static_cast<double>(k) / static_cast<double>(size)));
}

// By decimation in time (Cooley and Tukey, Math. Comput. 19, 1965).
void fourier_transform::run(std::complex<float>* samples) const
{
    const std::size_t middle = d_turns.size(), size = 2 * middle;
    for (std::size_t i = 1, j = 0; i < size; ++i) {
        std::size_t bit = middle;
        for (; j & bit; bit /= 2)
            j ^= bit;
        j ^= bit;
        if (i < j)
            std::swap(samples[i], samples[j]);
    }
    for (std::size_t half = 1; half < size; half *= 2)
        for (std::size_t i = 0; i < size; i += 2 * half)
            for (std::size_t k = 0; k < half; ++k) {
                std::complex<float>&a = samples[i + k], &b = samples[i + k + half];
                const auto turned = times(b, d_turns[k * (middle / half)]);
                b = a - turned;
                a += turned;
            }
}

} // namespace gr::adann::core
