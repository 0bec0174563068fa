/* -*- c++ -*- */
/*
 * The weights that training starts from.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/network.h"
#include "core/signal/constellation.h"
#include "core/signal/linear_equalizer.h"

#include <cstdint>

namespace gr::adann::core {

/*! He initialisation: normal weights of variance 2 / inputs, zero biases.
 *
 * Source: He, Zhang, Ren and Sun, "Delving deep into rectifiers", ICCV 2015. */
void initialize(network& net, std::uint64_t seed);

/*! Decisions and posteriors of a linear equalizer.
 *
 * Four neurons of each hidden layer, two for a real constellation, carry I, -I, Q and -Q of
 * its output y, of which ReLU passes what is positive; the last layer has (2 Re(y p*) - |p|²) /
 * error, the logarithms of Gaussian posteriors. The other neurons, which carry nothing yet,
 * start at 0.3 of the usual weights.
 * \param net of hidden layers that wide, and of the constellation's outputs
 * \param fitted for windows of net's inputs */
void initialize_linear(network& net,
                       std::uint64_t seed,
                       const constellation& symbols,
                       const linear_equalizer& fitted);

} // namespace gr::adann::core
