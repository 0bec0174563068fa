/*
 * The blocks, each bound in a file of its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <pybind11/pybind11.h>

#include <string>

//! What the blocks take, of all that Python has for a constellation.
inline std::string constellation_text(const pybind11::object& given)
{
    return pybind11::module_::import("gnuradio.adann.core")
        .attr("constellation")(given)
        .attr("text")
        .cast<std::string>();
}

void bind_atsc_equalizer(pybind11::module& m);
void bind_ber_counter(pybind11::module& m);
void bind_burst_equalizer(pybind11::module& m);
void bind_carrier_recovery(pybind11::module& m);
void bind_coarse_carrier(pybind11::module& m);
void bind_equalizer(pybind11::module& m);
void bind_feature_windower(pybind11::module& m);
void bind_mimo_filter(pybind11::module& m);
void bind_mlse(pybind11::module& m);
void bind_normalizer(pybind11::module& m);
void bind_soft_bits(pybind11::module& m);
