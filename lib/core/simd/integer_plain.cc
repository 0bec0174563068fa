/* The kernels of quantised networks as plain loops, the reference in tests.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/simd/kernels.h"

#include <algorithm>

namespace gr::adann::core::simd {

namespace {

void quantise(
    const float* x, std::size_t n, float scale, std::int32_t largest, std::int32_t* y)
{
    const float limit = static_cast<float>(largest);
    for (std::size_t i = 0; i < n; ++i) {
        const float scaled = x[i] * scale;
        const float limited = scaled != scaled ? 0.0f : std::clamp(scaled, -limit, limit);
        // Adding half would round what is just below it up.
        const auto whole = static_cast<std::int32_t>(limited);
        const float rest = limited - static_cast<float>(whole);
        y[i] = whole + (rest >= 0.5f) - (rest <= -0.5f);
    }
}

std::int32_t lower(std::int32_t word) { return static_cast<std::int16_t>(word); }
std::int32_t upper(std::int32_t word) { return word >> 16; }

std::int32_t sum_of(const integer_layer& layer,
                    std::size_t output,
                    const std::int32_t* column,
                    const std::uint32_t* row)
{
    std::int32_t sum = layer.biases[output];
    for (std::size_t i = 0; i < layer.pairs; ++i) {
        const std::int32_t w = layer.weights[i * layer.outputs + output];
        const std::int32_t x = column[row[i]];
        sum += lower(w) * lower(x) + upper(w) * upper(x);
    }
    return sum;
}

std::int32_t rectified(const integer_layer& layer,
                       std::size_t output,
                       const std::int32_t* column,
                       const std::uint32_t* row)
{
    const unsigned shift = layer.shifts[output];
    const std::int32_t half = shift ? 1 << (shift - 1) : 0;
    return std::min((std::max(sum_of(layer, output, column, row), 0) + half) >> shift,
                    layer.largest);
}

void hidden(const integer_layer& layer,
            const std::int32_t* x,
            const std::uint32_t* row,
            std::int32_t* y)
{
    for (std::size_t o = 0; o < layer.outputs; o += 2)
        for (std::size_t t = 0; t < tile; ++t) {
            const std::int32_t next =
                o + 1 < layer.outputs ? rectified(layer, o + 1, x + t, row) : 0;
            y[o / 2 * tile + t] = rectified(layer, o, x + t, row) | next << 16;
        }
}

void sums(const integer_layer& layer,
          const std::int32_t* x,
          const std::uint32_t* row,
          std::int32_t* y)
{
    for (std::size_t o = 0; o < layer.outputs; ++o)
        for (std::size_t t = 0; t < tile; ++t)
            y[o * tile + t] = sum_of(layer, o, x + t, row);
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

const integer_kernels plain_integers{ quantise, hidden, sums, argmax };

} // namespace gr::adann::core::simd
