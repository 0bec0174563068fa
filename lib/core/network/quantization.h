/* -*- c++ -*- */
/*
 * A network in whole numbers: 4 to 16 bits a weight and a value, sums of 32.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/network.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Number of bits and place of the binary point: a number x is stored as the whole number
 * nearest to x · 2^exponent, halves away from zero, limited to ±largest(); hidden outputs,
 * which are not negative, to largest_hidden().
 *
 * All scales are powers of two, so that between the layers there is a shift and no
 * multiplication. */
struct quantization {
    static constexpr unsigned fewest_bits = 4, most_bits = 16;

    unsigned bits;                         //!< of weights, samples and hidden outputs
    std::vector<int> values;               //!< exponent of each layer's inputs
    std::vector<std::vector<int>> weights; //!< exponent of each layer's rows

    std::int32_t largest() const { return (1 << (bits - 1)) - 1; }
    //! Without a sign, but never above 15 bits, so that pairs of them fit in a word.
    std::int32_t largest_hidden() const { return (1 << std::min(bits, 15u)) - 1; }
    bool operator==(const quantization& other) const
    {
        return bits == other.bits && values == other.values && weights == other.weights;
    }
};

/*! \throws std::invalid_argument for formats that are not those of this network's shape,
 * exponents beyond ±30, and shifts between layers beyond 0 to 30 */
void check_formats(const network& net, const quantization& formats);

/*! The network's layers by such formats.
 *
 * Layer k gets whole numbers x, and its row o gives the sum s = Σ w x + b, which stands
 * for s · 2^-(weights[k][o] + values[k]). Hidden ones become min((max(s, 0) + h) >> shift,
 * largest_hidden), h half of what is shifted out; those of the last layer, whose rows share one
 * exponent, are the logits. Where a sum could overflow 32 bits, whatever the inputs are,
 * there is no such network.
 */
class quantized_network
{
public:
    struct layer {
        std::size_t inputs;
        std::size_t outputs;
        std::vector<std::int16_t> weights; //!< (outputs, inputs)
        std::vector<std::int32_t> biases;
        std::vector<std::uint8_t> shifts; //!< 0 to 30, of the last layer 0
    };

    //! \throws std::invalid_argument as check_formats(), and where a sum could overflow
    quantized_network(const network& net, const quantization& formats);

    /*! Takes the parameters of a network of the same shape, such as this one after adaptation;
     * allocates nothing. Rows that have outgrown their format are stored with as many binary
     * places fewer as they need, and limited if even that is not enough. */
    void assign(const network& net);

    const std::vector<layer>& layers() const { return d_layers; }
    //! The formats in use.
    const quantization& formats() const { return d_formats; }
    float sample_scale() const; //!< of the samples, a power of two
    float logit_scale() const;  //!< logit of one unit of the last sums
    std::size_t inputs() const { return d_layers.front().inputs; }
    std::size_t outputs() const { return d_layers.back().outputs; }

private:
    void round_row(const network& net, std::size_t k, std::size_t o);
    std::int64_t largest_sum_of(std::size_t k, std::size_t o) const;
    bool fits(const network& net, std::size_t k, std::size_t o) const;

    quantization d_formats;
    quantization d_chosen; // the formats given at construction
    std::vector<layer> d_layers;
};

} // namespace gr::adann::core
