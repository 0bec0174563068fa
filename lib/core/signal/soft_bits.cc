/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/soft_bits.h"

#include "core/common/checks.h"
#include "core/signal/bit_priors.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace gr::adann::core {

namespace {

constexpr float least_probability = 1e-30f; // beyond every clip; keeps logarithms finite

} // namespace

soft_bit_convention soft_bit_convention_named(const std::string& name)
{
    std::vector<std::string> names;
    for (const auto& each : soft_bit_conventions)
        names.push_back(each.name);
    return soft_bit_conventions[choice("convention", name, names)].convention;
}

void check(const soft_bit_convention& convention)
{
    check_range("positive", convention.positive, 0u, 1u);
    check_range("scale", convention.scale, 1e-3f, 1e3f);
    check_range("clip", convention.clip, 0.1f, 60.0f);
}

soft_bits::soft_bits(std::size_t size, const soft_bit_convention& convention)
    : d_size(size), d_convention(convention)
{
    while (d_bits < 8 && d_size >> (d_bits + 1))
        ++d_bits;
    if (d_size < 2 || d_size > 256 || d_size != std::size_t(1) << d_bits)
        refuse("size", size, "powers of two from 2 to 256");
    check(convention);
}

void soft_bits::process(const float* posteriors,
                        void* out,
                        std::size_t symbols,
                        const float* a_priori) const
{
    if (is_float())
        write(posteriors, static_cast<float*>(out), symbols, a_priori);
    else
        write(posteriors, static_cast<std::int8_t*>(out), symbols, a_priori);
}

template <typename Item>
void soft_bits::write(const float* posteriors,
                      Item* out,
                      std::size_t symbols,
                      const float* a_priori) const
{
    const float clip = d_convention.clip, factor = d_convention.factor();
    for (; symbols; --symbols, posteriors += d_size) {
        for (unsigned shift = d_bits; shift-- > 0;) {
            float sums[2] = { 0, 0 };
            for (std::size_t label = 0; label < d_size; ++label)
                sums[label >> shift & 1] += posteriors[label];
            // The order of max's arguments makes NaN the least probability too.
            float ratio = std::log(std::max(least_probability, sums[1]) /
                                   std::max(least_probability, sums[0]));
            if (a_priori)
                ratio -= bit_priors::limited(*a_priori++);
            const float value = factor * std::clamp(ratio, -clip, clip);
            if constexpr (std::is_same_v<Item, float>)
                *out++ = value;
            else
                *out++ =
                    static_cast<Item>(std::nearbyint(std::clamp(value, -127.0f, 127.0f)));
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
