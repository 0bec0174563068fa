/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/soft_bits.h"

#include "core/common/checks.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

constexpr float least_probability =
    1e-30f; // far beyond the limit; keeps logarithms finite

} // namespace

soft_bits::soft_bits(std::size_t size) : d_size(size)
{
    while (d_size >> (d_bits + 1))
        ++d_bits;
    if (d_size < 2 || d_size > 256 || d_size != std::size_t(1) << d_bits)
        refuse("size", size, "powers of two from 2 to 256");
}

void soft_bits::process(const float* posteriors, float* out, std::size_t symbols) const
{
    for (; symbols; --symbols, posteriors += d_size) {
        for (unsigned shift = d_bits; shift-- > 0;) {
            float sums[2] = { 0, 0 };
            for (std::size_t label = 0; label < d_size; ++label)
                sums[label >> shift & 1] += posteriors[label];
            // The order of max's arguments makes NaN the least probability too.
            const float ratio = std::log(std::max(least_probability, sums[1]) /
                                         std::max(least_probability, sums[0]));
            *out++ = std::clamp(ratio, -limit, limit);
        }
    }
}

double soft_bits::information(const float* ratios, std::uint8_t label) const
{
    double missing = 0; // nats
    for (unsigned b = 0; b < d_bits; ++b) {
        const bool is_one = label >> (d_bits - 1 - b) & 1;
        missing +=
            std::log1p(std::exp(is_one ? -double{ ratios[b] } : double{ ratios[b] }));
    }
    return d_bits - missing / std::log(2.0);
}

} // namespace gr::adann::core
