/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/bit_priors.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

bit_priors::bit_priors(std::size_t size) : d_size(size)
{
    while (d_size >> (d_bits + 1))
        ++d_bits;
}

float bit_priors::limited(float ratio)
{
    return std::isnan(ratio) ? 0 : std::clamp(ratio, -largest, largest);
}

void bit_priors::find(const float* ratios, float* logarithms) const
{
    logarithms[0] = 0;
    for (unsigned bit = 0; bit < d_bits; ++bit) {
        const std::size_t first = std::size_t{ 1 } << bit;
        const float ratio = limited(ratios[d_bits - 1 - bit]);
        for (std::size_t label = first; label < 2 * first; ++label)
            logarithms[label] = logarithms[label - first] + ratio;
    }
}

std::uint8_t
bit_priors::weigh(const float* logarithms, std::uint8_t label, float* posteriors) const
{
    const auto [least, most] = std::minmax_element(logarithms, logarithms + d_size);
    if (*least == *most)
        return label;
    float sum = 0;
    for (std::size_t m = 0; m < d_size; ++m)
        sum += posteriors[m] * std::exp(logarithms[m] - *most);
    if (!(sum > 0) || !std::isfinite(sum))
        return label;
    for (std::size_t m = 0; m < d_size; ++m)
        posteriors[m] *= std::exp(logarithms[m] - *most) / sum;
    return static_cast<std::uint8_t>(std::max_element(posteriors, posteriors + d_size) -
                                     posteriors);
}

} // namespace gr::adann::core
