/* The kernels of quantised networks as plain loops, the reference in tests.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/simd/kernels.h"

#include <algorithm>

namespace gr::adann::core::simd {

namespace {

// The value at a place of a word of two or of four.
template <unsigned values>
std::int32_t weight(std::int32_t word, unsigned place)
{
    if (values == 2)
        return static_cast<std::int16_t>(word >> 16 * place);
    return static_cast<std::int8_t>(word >> 8 * place);
}
template <unsigned values>
std::int32_t input(std::int32_t word, unsigned place)
{
    if (values == 2)
        return static_cast<std::int16_t>(word >> 16 * place);
    return static_cast<std::uint8_t>(word >> 8 * place);
}

template <unsigned values>
void quantise(const float* x, std::size_t n, float scale, std::int32_t largest, void* y)
{
    const float limit = static_cast<float>(largest);
    for (std::size_t i = 0; i < n; ++i) {
        const float scaled = x[i] * scale;
        const float limited = scaled != scaled ? 0.0f : std::clamp(scaled, -limit, limit);
        // Adding half would round what is just below it up.
        auto whole = static_cast<std::int32_t>(limited);
        const float rest = limited - static_cast<float>(whole);
        whole += (rest >= 0.5f) - (rest <= -0.5f);
        if (values == 2)
            static_cast<std::int16_t*>(y)[i] = static_cast<std::int16_t>(whole);
        else
            static_cast<std::uint8_t*>(y)[i] =
                static_cast<std::uint8_t>(whole + word_kernels::offset);
    }
}

template <unsigned values>
std::int32_t sum_of(const integer_layer& layer,
                    std::size_t output,
                    const std::int32_t* column,
                    const std::uint32_t* row)
{
    std::int64_t sum = layer.biases[output];
    for (std::size_t i = 0; i < layer.groups; ++i)
        for (unsigned place = 0; place < values; ++place)
            sum += std::int64_t(
                       weight<values>(layer.weights[i * layer.outputs + output], place)) *
                   input<values>(column[row[i]], place);
    return static_cast<std::int32_t>(sum);
}

template <unsigned values>
void hidden(const integer_layer& layer,
            const std::int32_t* x,
            const std::uint32_t* row,
            std::int32_t* y)
{
    for (std::size_t t = 0; t < tile; ++t)
        for (std::size_t o = 0; o < layer.outputs; o += values) {
            std::uint32_t word = 0;
            for (unsigned place = 0; place < values && o + place < layer.outputs;
                 ++place) {
                const std::int32_t sum = sum_of<values>(layer, o + place, x + t, row);
                const std::int32_t value =
                    std::min(std::max(sum, 0) >> layer.shifts[o + place], layer.largest);
                word |= static_cast<std::uint32_t>(value) << (32 / values * place);
            }
            y[o / values * tile + t] = static_cast<std::int32_t>(word);
        }
}

template <unsigned values>
void sums(const integer_layer& layer,
          const std::int32_t* x,
          const std::uint32_t* row,
          std::int32_t* y)
{
    for (std::size_t o = 0; o < layer.outputs; ++o)
        for (std::size_t t = 0; t < tile; ++t)
            y[o * tile + t] = sum_of<values>(layer, o, x + t, row);
}

void argmax(const std::int32_t* logits, std::size_t classes, std::uint8_t* labels)
{
    for (std::size_t t = 0; t < tile; ++t) {
        std::size_t label = 0;
        for (std::size_t j = 1; j < classes; ++j)
            if (logits[j * tile + t] > logits[label * tile + t])
                label = j;
        labels[t] = static_cast<std::uint8_t>(label);
    }
}

} // namespace

const integer_kernels plain_integers{ { 2, quantise<2>, hidden<2>, sums<2> },
                                      { 4, quantise<4>, hidden<4>, sums<4> },
                                      argmax };

} // namespace gr::adann::core::simd
