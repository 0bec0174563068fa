/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/network/quantization.h"

#include "core/common/checks.h"

#include <cmath>
#include <cstdlib>
#include <limits>

namespace gr::adann::core {

namespace {

constexpr int widest_exponent = 30, most_shift = 30;
constexpr std::int64_t largest_sum = std::numeric_limits<std::int32_t>::max();

std::string of_layer(std::size_t k) { return " of layer " + std::to_string(k); }

// lround rounds halves away from zero; what is beyond the limit is limited.
std::int64_t rounded(float x, int exponent, std::int64_t largest)
{
    const double scaled = std::ldexp(static_cast<double>(x), exponent);
    const double limit = static_cast<double>(largest);
    return std::isnan(scaled) ? 0 : std::llround(std::clamp(scaled, -limit, limit));
}

} // namespace

void check_formats(const network& net, const quantization& formats)
{
    check_range("bits", formats.bits, quantization::fewest_bits, quantization::most_bits);
    const std::size_t count = net.layers().size();
    if (formats.values.size() != count || formats.weights.size() != count)
        refuse("layers of the quantization",
               std::max(formats.values.size(), formats.weights.size()),
               std::to_string(count) + ", the network's");
    for (std::size_t k = 0; k < count; ++k) {
        const auto& rows = formats.weights[k];
        if (rows.size() != net.layers()[k].outputs)
            refuse("weight exponents" + of_layer(k),
                   rows.size(),
                   std::to_string(net.layers()[k].outputs));
        check_range("input exponent" + of_layer(k),
                    formats.values[k],
                    -widest_exponent,
                    widest_exponent);
        for (const int exponent : rows)
            check_range("weight exponent" + of_layer(k),
                        exponent,
                        -widest_exponent,
                        widest_exponent);
    }
    for (std::size_t k = 0; k + 1 < count; ++k)
        for (const int exponent : formats.weights[k])
            check_range("shift" + of_layer(k),
                        exponent + formats.values[k] - formats.values[k + 1],
                        0,
                        most_shift);
    const auto& last = formats.weights.back();
    for (const int exponent : last)
        if (exponent != last.front())
            refuse("weight exponent" + of_layer(count - 1),
                   exponent,
                   std::to_string(last.front()) + ", as of its other rows");
}

quantized_network::quantized_network(const network& net, const quantization& formats)
    : d_formats(formats)
{
    check_formats(net, formats);
    for (std::size_t k = 0; k < net.layers().size(); ++k)
        d_layers.push_back(quantised(net, k));
}

quantized_network::layer quantized_network::quantised(const network& net,
                                                      std::size_t k) const
{
    const auto& from = net.layers()[k];
    const bool is_last = k + 1 == net.layers().size();
    const std::int64_t largest_input =
        k == 0 ? d_formats.largest() : d_formats.largest_hidden();
    layer to{ from.inputs, from.outputs, {}, {}, {} };
    for (std::size_t o = 0; o < from.outputs; ++o) {
        const float* weights = &net.parameters()[from.weights + o * from.inputs];
        const int exponent = d_formats.weights[k][o];
        std::int64_t most = 0;
        for (std::size_t i = 0; i < from.inputs; ++i) {
            const auto weight = rounded(weights[i], exponent, d_formats.largest());
            to.weights.push_back(static_cast<std::int16_t>(weight));
            most += std::abs(weight) * largest_input;
        }
        const int sum_exponent = exponent + d_formats.values[k];
        const auto bias =
            rounded(net.parameters()[from.biases + o], sum_exponent, largest_sum);
        to.biases.push_back(static_cast<std::int32_t>(bias));
        const int shift = is_last ? 0 : sum_exponent - d_formats.values[k + 1];
        to.shifts.push_back(static_cast<std::uint8_t>(shift));
        most += std::abs(bias) + (shift ? 1 << (shift - 1) : 0);
        if (most > largest_sum)
            refuse("largest sum" + of_layer(k),
                   most,
                   "up to 2147483647: weights and inputs of fewer bits");
    }
    return to;
}

float quantized_network::sample_scale() const
{
    return std::ldexp(1.0f, d_formats.values.front());
}

float quantized_network::logit_scale() const
{
    return std::ldexp(1.0f,
                      -(d_formats.weights.back().front() + d_formats.values.back()));
}

} // namespace gr::adann::core
