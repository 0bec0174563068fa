/* -*- c++ -*- */
/*
 * The network's arithmetic on a tile: `lanes` symbols side by side, one row per neuron.
 *
 * This is the plain form: the reference for anything faster. A row holds the same neuron
 * (or feature) of neighbouring symbols, so every inner loop runs over symbols.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/features.h"
#include "core/network.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

constexpr std::size_t lanes = 16; //!< symbols in a tile

//! Rows of `lanes` floats.
using tile = std::vector<float>;

//! What a forward pass leaves behind: each layer's outputs; the last one's are the
//! logits.
struct activations {
    explicit activations(const network& net);
    const float* logits() const { return outputs.back().data(); }

    std::vector<tile> outputs;
};

/*! Gathers up to `lanes` feature vectors as columns of `out` (dimension rows); the lanes
 * beyond view.count repeat the last one. view.count is at least 1. */
void gather(const feature_view& view, tile& out);

//! Eqs. (1) and (2): `features` through all layers, ReLU behind all but the last.
void forward(const network& net, const tile& features, activations& result);

/*! Algorithm 3 (back-propagation): from dLoss/dlogits to the gradient of each layer's
 * output.
 *
 * \param error rows of dLoss/dlogits; used up
 * \param scratch at least as large as the widest layer
 * \param parameter_gradient if not null, the parameters' gradient is added to it
 * \param input_gradient if not null, rows of dLoss/dfeatures
 */
void backward(const network& net,
              const tile& features,
              const activations& passed,
              tile& error,
              tile& scratch,
              std::vector<double>* parameter_gradient,
              tile* input_gradient);

//! Softmax over the rows of `logits` in every lane; `posteriors` has `classes` rows.
void softmax(const float* logits, std::size_t classes, float* posteriors);

//! The row with the largest value in every lane, the first one of equals.
void argmax(const float* rows, std::size_t classes, std::uint8_t* labels);

} // namespace gr::adann::core
