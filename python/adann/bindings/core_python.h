/*
 * The parts of gnuradio.adann.core, each bound in a file of its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"

#include <pybind11/pybind11.h>

//! What core.constellation(given) is.
gr::adann::core::constellation constellation_from(const pybind11::object& given);

void bind_constellation(pybind11::module& m);
void bind_network(pybind11::module& m);
void bind_quantization(pybind11::module& m);
void bind_model(pybind11::module& m);
void bind_training(pybind11::module& m);
void bind_tracking(pybind11::module& m);
void bind_mimo(pybind11::module& m);
void bind_adaptation(pybind11::module& m);
void bind_judge(pybind11::module& m);
void bind_error_counter(pybind11::module& m);
void bind_mlse(pybind11::module& m);
void bind_soft_bits(pybind11::module& m);
void bind_waveform(pybind11::module& m);
