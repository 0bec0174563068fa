/*
 * The blocks, each bound in a file of its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <pybind11/pybind11.h>

void bind_ber_counter(pybind11::module& m);
void bind_equalizer(pybind11::module& m);
void bind_feature_windower(pybind11::module& m);
void bind_mlse(pybind11::module& m);
void bind_normalizer(pybind11::module& m);
void bind_soft_bits(pybind11::module& m);
