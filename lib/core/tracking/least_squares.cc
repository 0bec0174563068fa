/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/least_squares.h"

#include <algorithm>

namespace gr::adann::core {

least_squares::least_squares(const normal_equations& shape)
    : d_kernels(&shape.kernels()),
      d_nothing(shape.vector_floats()),
      d_product(shape.vector_floats()),
      d_direction(shape.vector_floats())
{
    set_identity(shape, d_nothing);
}

void least_squares::set_identity(const normal_equations& shape, aligned_floats& taps)
{
    std::fill(taps.begin(), taps.end(), 0.0f);
    taps[shape.taps() / 2] = 1;
}

void least_squares::find_gradient(const normal_equations& sums,
                                  const float* taps,
                                  float* gradient) const
{
    sums.product(&taps, 1, &gradient);
    for (std::size_t i = 0; i < sums.vector_floats(); ++i)
        gradient[i] = sums.correlation()[i] - gradient[i];
}

void least_squares::approach(const normal_equations& sums,
                             float load,
                             std::size_t first,
                             std::size_t last,
                             int steps,
                             float* w,
                             float* rest,
                             float enough)
{
    const std::size_t taps = sums.taps(), floats = sums.vector_floats();
    float* const direction = d_direction.data();
    float* const product = d_product.data();
    const auto leave_out_others = [&](float* vector) {
        if (first == 0 && last == taps)
            return;
        for (std::size_t part = 0; part < floats; part += sums.pitch())
            for (std::size_t c = 0; c < sums.channels(); ++c) {
                float* const channel = vector + part + c * taps;
                std::fill(channel, channel + first, 0.0f);
                std::fill(channel + last, channel + taps, 0.0f);
            }
    };
    const auto draw = [&](float by) {
        for (std::size_t i = 0; i < floats; ++i)
            rest[i] += by * (w[i] - d_nothing[i]);
    };
    draw(-load);
    leave_out_others(rest);
    std::copy_n(rest, floats, direction);
    float length = d_kernels->dot(rest, rest, floats);
    for (int step = 0; step < steps && length > 0; ++step) {
        const float* const vector = direction;
        sums.product(&vector, 1, &product);
        for (std::size_t i = 0; i < floats; ++i)
            product[i] += load * direction[i];
        leave_out_others(product);
        const float along = d_kernels->dot(direction, product, floats);
        if (!(along > 0))
            break;
        const float far = length / along;
        for (std::size_t i = 0; i < floats; ++i) {
            w[i] += far * direction[i];
            rest[i] -= far * product[i];
        }
        if (far * length < enough)
            break;
        const float next = d_kernels->dot(rest, rest, floats);
        const float turn = next / length;
        for (std::size_t i = 0; i < floats; ++i)
            direction[i] = rest[i] + turn * direction[i];
        length = next;
    }
    draw(load);
}

} // namespace gr::adann::core
