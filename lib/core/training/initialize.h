/* -*- c++ -*- */
/*
 * The random weights that training starts from.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/network.h"

#include <cstdint>

namespace gr::adann::core {

/*! He initialisation: normal weights of variance 2 / inputs, zero biases.
 *
 * Source: He, Zhang, Ren and Sun, "Delving deep into rectifiers", ICCV 2015. */
void initialize(network& net, std::uint64_t seed);

} // namespace gr::adann::core
