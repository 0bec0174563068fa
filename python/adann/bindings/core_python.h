/*
 * The parts of gnuradio.adann.core, each bound in a file of its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <pybind11/pybind11.h>

void bind_network(pybind11::module& m);
void bind_model(pybind11::module& m);
void bind_training(pybind11::module& m);
void bind_adaptation(pybind11::module& m);
void bind_judge(pybind11::module& m);
void bind_error_counter(pybind11::module& m);
void bind_mlse(pybind11::module& m);
void bind_waveform(pybind11::module& m);
