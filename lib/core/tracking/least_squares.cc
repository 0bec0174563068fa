/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/least_squares.h"

#include <algorithm>

namespace gr::adann::core {

using simd::lanes;

float dot(const float* a, const float* b, std::size_t n)
{
    float sums[lanes] = {};
    for (std::size_t i = 0; i < n; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l)
            sums[l] += a[i + l] * b[i + l];
    float total = 0;
    for (const float sum : sums)
        total += sum;
    return total;
}

least_squares::least_squares(const normal_equations& shape)
    : d_nothing(shape.vector_floats()),
      d_product(shape.vector_floats()),
      d_rest(shape.vector_floats()),
      d_direction(shape.vector_floats())
{
    do_nothing(shape, d_nothing);
}

void least_squares::do_nothing(const normal_equations& shape, aligned_floats& taps)
{
    std::fill(taps.begin(), taps.end(), 0.0f);
    taps[shape.taps() / 2] = 1;
}

void least_squares::approach(const normal_equations& sums,
                             float load,
                             std::size_t first,
                             std::size_t last,
                             int steps,
                             float* w,
                             float enough)
{
    const std::size_t taps = sums.taps(), floats = sums.vector_floats();
    float* const rest = d_rest.data();
    float* const direction = d_direction.data();
    float* const product = d_product.data();
    const auto multiply = [&](const float* vector) {
        sums.product(&vector, 1, &product);
    };
    const auto leave_out_others = [&](float* vector) {
        for (std::size_t part = 0; part < floats; part += sums.pitch())
            for (std::size_t c = 0; c < sums.channels(); ++c) {
                float* const channel = vector + part + c * taps;
                std::fill(channel, channel + first, 0.0f);
                std::fill(channel + last, channel + taps, 0.0f);
            }
    };
    multiply(w);
    for (std::size_t i = 0; i < floats; ++i)
        w[i] -= d_nothing[i];
    for (std::size_t i = 0; i < floats; ++i)
        rest[i] = sums.correlation()[i] - product[i] - load * w[i];
    leave_out_others(rest);
    std::copy_n(rest, floats, direction);
    float length = dot(rest, rest, floats);
    for (int step = 0; step < steps && length > 0; ++step) {
        multiply(direction);
        for (std::size_t i = 0; i < floats; ++i)
            product[i] += load * direction[i];
        leave_out_others(product);
        const float along = dot(direction, product, floats);
        if (!(along > 0))
            break;
        const float far = length / along;
        for (std::size_t i = 0; i < floats; ++i) {
            w[i] += far * direction[i];
            rest[i] -= far * product[i];
        }
        if (far * length < enough)
            break;
        const float next = dot(rest, rest, floats);
        const float turn = next / length;
        for (std::size_t i = 0; i < floats; ++i)
            direction[i] = rest[i] + turn * direction[i];
        length = next;
    }
    for (std::size_t i = 0; i < floats; ++i)
        w[i] += d_nothing[i];
}

} // namespace gr::adann::core
