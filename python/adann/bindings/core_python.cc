/*
 * gnuradio.adann.core: the core's algorithms on numpy arrays.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "core_python.h"

namespace py = pybind11;

PYBIND11_MODULE(core, m)
{
    m.doc() = "The mathematics of gr-adann on numpy arrays; no flowgraph needed.";
    m.attr("__version__") = ADANN_VERSION;

    bind_constellation(m);
    bind_soft_bits(m);
    bind_waveform(m);
    bind_network(m);
    bind_quantization(m);
    bind_model(m);
    bind_training(m);
    bind_tracking(m);
    bind_mimo(m);
    bind_adaptation(m);
    bind_judge(m);
    bind_error_counter(m);
    bind_mlse(m);
}
