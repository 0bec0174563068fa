/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/mlse/trellis.h"

#include <algorithm>

namespace gr::adann::core {

namespace {

// The kernels have one axis for up to 8 points only.
std::size_t axes_of(const constellation& alphabet)
{
    return alphabet.is_complex() || alphabet.size() > 8 ? 2 : 1;
}

} // namespace

trellis::trellis(const channel_model& channel)
    : d_channel(channel),
      d_bits(channel.alphabet.bits_per_symbol()),
      d_digits(std::max<std::size_t>(channel.memory - 1, 1)),
      d_states(std::size_t{ 1 } << (d_bits * d_digits)),
      d_padded(std::max(d_states, simd::trellis_lanes)),
      d_oldest_stride(d_states >> d_bits),
      d_axes(axes_of(channel.alphabet)),
      d_correlator(channel.floats() * d_padded),
      d_energy(d_padded),
      d_slope(d_axes * d_padded),
      d_pending(d_padded),
      d_zero(std::max(channel.floats(), d_axes) * d_padded),
      d_last_tap(d_axes * channel.floats()),
      d_points(d_axes * channel.alphabet.size())
{
    for (std::size_t b = 0; b < channel.alphabet.size(); ++b) {
        d_points[b] = channel.alphabet.points()[b].real();
        if (d_axes == 2)
            d_points[channel.alphabet.size() + b] = channel.alphabet.points()[b].imag();
    }
}

std::size_t trellis::bytes(const channel_model& channel, std::size_t states)
{
    const std::size_t axes = axes_of(channel.alphabet);
    return sizeof(float) * states *
           (channel.floats() + std::max(channel.floats(), axes) + axes + 2);
}

void trellis::set_response(const response_taps& taps)
{
    const std::size_t floats = d_channel.floats();
    const std::size_t parts = floats / d_channel.sps;
    const auto& points = d_channel.alphabet.points();
    std::fill(d_energy.begin(), d_energy.begin() + d_states, 0.0f);
    std::fill(d_slope.begin(), d_slope.end(), 0.0f);
    float last_power = 0;
    for (std::size_t p = 0; p < d_channel.sps; ++p) {
        const auto* tap = taps.data() + p * d_channel.memory;
        const std::complex<float> last = d_channel.memory > 1 ? tap[d_digits] : 0;
        last_power += std::norm(last);
        const float g[2] = { last.real(), last.imag() };
        const float turned[2] = { -last.imag(), last.real() };
        for (std::size_t part = 0; part < parts; ++part) {
            const std::size_t c = p * parts + part;
            float* const y = d_correlator.data() + c * d_padded;
            // One digit after the other, the lowest first: known(s) + what the digit
            // adds.
            y[0] = 0;
            for (std::size_t k = 0, known = 1; k < d_digits; ++k, known <<= d_bits)
                for (std::size_t b = points.size(); b-- > 0;) {
                    const std::complex<float> product = tap[k] * points[b];
                    const float add = part == 0 ? product.real() : product.imag();
                    for (std::size_t s = 0; s < known; ++s)
                        y[b * known + s] = y[s] + add;
                }
            d_last_tap[c] = 2 * g[part];
            if (d_axes == 2)
                d_last_tap[floats + c] = 2 * turned[part];
            for (std::size_t s = 0; s < d_states; ++s)
                d_energy[s] += y[s] * y[s];
            for (std::size_t axis = 0; axis < d_axes; ++axis)
                for (std::size_t s = 0; s < d_states; ++s)
                    d_slope[axis * d_padded + s] += d_last_tap[axis * floats + c] * y[s];
            for (std::size_t s = 0; s < d_states; ++s)
                y[s] *= -2;
        }
    }
    for (std::size_t s = 0; s < d_states; ++s) {
        d_pending[s] = last_power * std::norm(points[digit(s, d_digits - 1)]);
        d_energy[s] += d_pending[s];
    }
}

simd::trellis_tables trellis::tables() const
{
    return { d_bits,
             d_padded,
             d_oldest_stride,
             d_channel.floats(),
             d_axes,
             d_correlator.data(),
             d_energy.data(),
             d_slope.data(),
             d_last_tap.data(),
             d_points.data() };
}

simd::trellis_tables trellis::erased_tables() const
{
    auto result = tables();
    result.correlator = result.slope = d_zero.data();
    result.energy = d_pending.data();
    return result;
}

} // namespace gr::adann::core
