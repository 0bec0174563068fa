/*
 * gnuradio.adann.adann_python: the C++ blocks. Import gnuradio.gr first.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "blocks_python.h"

PYBIND11_MODULE(adann_python, m)
{
    pybind11::module::import("gnuradio.gr");
    bind_atsc_equalizer(m);
    bind_ber_counter(m);
    bind_burst_equalizer(m);
    bind_carrier_recovery(m);
    bind_coarse_carrier(m);
    bind_equalizer(m);
    bind_feature_windower(m);
    bind_mimo_filter(m);
    bind_mlse(m);
    bind_normalizer(m);
    bind_soft_bits(m);
}
