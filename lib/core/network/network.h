/* -*- c++ -*- */
/*
 * The fully-connected network: its sizes and its parameters, nothing else.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! A fully-connected network with ReLU between the layers and softmax at the end.
 *
 * All parameters lie in one array: for each layer the weights (outputs × inputs, row by
 * row), then the biases. Optimizers, hand-over and files work on that array as a whole.
 * Source: the paper's eqs. (1) and (2).
 */
class network
{
public:
    struct layer {
        std::size_t inputs;
        std::size_t outputs;
        std::size_t weights; //!< where they start in the parameters
        std::size_t biases;
    };

    /*! All parameters zero.
     * \param sizes neurons of each layer, input first: e.g. 44, 10, 10, 10, 10, 4. Two
     * entries at least, each 1 to 65536, the last (classes) 2 to 256.
     * \throws std::invalid_argument if not */
    explicit network(std::vector<std::size_t> sizes);

    const std::vector<std::size_t>& sizes() const { return d_sizes; }
    std::size_t inputs() const { return d_sizes.front(); }
    std::size_t outputs() const { return d_sizes.back(); }
    const std::vector<layer>& layers() const { return d_layers; }
    std::size_t widest_layer() const; //!< of those after the input

    std::vector<float>& parameters() { return d_parameters; }
    const std::vector<float>& parameters() const { return d_parameters; }

private:
    std::vector<std::size_t> d_sizes;
    std::vector<layer> d_layers;
    std::vector<float> d_parameters;
};

} // namespace gr::adann::core
