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
    : d_formats(formats), d_chosen(formats)
{
    check_formats(net, formats);
    for (std::size_t k = 0; k < net.layers().size(); ++k) {
        const auto& from = net.layers()[k];
        d_layers.push_back({ from.inputs,
                             from.outputs,
                             std::vector<std::int16_t>(from.inputs * from.outputs),
                             std::vector<std::int32_t>(from.outputs),
                             std::vector<std::uint8_t>(from.outputs) });
        for (std::size_t o = 0; o < from.outputs; ++o) {
            round_row(net, k, o);
            if (const auto most = largest_sum_of(k, o); most > largest_sum)
                refuse("largest sum" + of_layer(k),
                       most,
                       "up to 2147483647: weights and inputs of fewer bits");
        }
    }
}

void quantized_network::assign(const network& net)
{
    for (std::size_t k = 0; k < d_layers.size(); ++k) {
        const bool is_last = k + 1 == d_layers.size();
        auto& rows = d_formats.weights[k];
        std::copy(d_chosen.weights[k].begin(), d_chosen.weights[k].end(), rows.begin());
        const int coarsest =
            is_last ? -widest_exponent
                    : std::max(-widest_exponent,
                               d_formats.values[k + 1] - d_formats.values[k]);
        for (std::size_t o = 0; o < rows.size(); ++o) {
            for (; rows[o] > coarsest; --rows[o]) {
                round_row(net, k, o);
                if (fits(net, k, o))
                    break;
            }
            round_row(net, k, o);
        }
        // The rows of the last layer share one exponent.
        const int common = *std::min_element(rows.begin(), rows.end());
        for (std::size_t o = 0; is_last && o < rows.size(); ++o)
            if (rows[o] != common) {
                rows[o] = common;
                round_row(net, k, o);
            }
    }
}

void quantized_network::round_row(const network& net, std::size_t k, std::size_t o)
{
    const auto& from = net.layers()[k];
    layer& to = d_layers[k];
    const float* weights = &net.parameters()[from.weights + o * from.inputs];
    const int exponent = d_formats.weights[k][o];
    for (std::size_t i = 0; i < from.inputs; ++i)
        to.weights[o * from.inputs + i] =
            static_cast<std::int16_t>(rounded(weights[i], exponent, d_formats.largest()));
    const int sum_exponent = exponent + d_formats.values[k];
    to.biases[o] = static_cast<std::int32_t>(
        rounded(net.parameters()[from.biases + o], sum_exponent, largest_sum));
    to.shifts[o] = static_cast<std::uint8_t>(
        k + 1 == net.layers().size() ? 0 : sum_exponent - d_formats.values[k + 1]);
}

std::int64_t quantized_network::largest_sum_of(std::size_t k, std::size_t o) const
{
    const layer& of = d_layers[k];
    std::int64_t weights = 0;
    for (std::size_t i = 0; i < of.inputs; ++i)
        weights += std::abs(static_cast<std::int64_t>(of.weights[o * of.inputs + i]));
    const std::int64_t input = k == 0 ? d_formats.largest() : d_formats.largest_hidden();
    return weights * input + std::abs(static_cast<std::int64_t>(of.biases[o])) +
           (of.shifts[o] ? 1 << (of.shifts[o] - 1) : 0);
}

// Whether nothing was limited when row o was rounded, and its sums cannot overflow.
bool quantized_network::fits(const network& net, std::size_t k, std::size_t o) const
{
    const auto& from = net.layers()[k];
    const float* weights = &net.parameters()[from.weights + o * from.inputs];
    const double most = std::ldexp(d_formats.largest() + 0.5, -d_formats.weights[k][o]);
    return largest_sum_of(k, o) <= largest_sum &&
           std::all_of(weights, weights + from.inputs, [&](float weight) {
               return std::abs(static_cast<double>(weight)) < most;
           });
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
