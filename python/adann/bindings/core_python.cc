/*
 * gnuradio.adann.core: the core's algorithms on numpy arrays.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "core_python.h"

#include "core/signal/constellation.h"

#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace gr::adann::core;

PYBIND11_MODULE(core, m)
{
    m.doc() = "The mathematics of gr-adann on numpy arrays; no flowgraph needed.";
    m.attr("__version__") = ADANN_VERSION;

    py::class_<constellation>(
        m, "constellation", "A Gray-labelled PAM or square QAM alphabet.")
        .def(py::init<const std::string&>(), py::arg("name"))
        .def_static("names", &constellation::names, "The names of all alphabets.")
        .def_property_readonly("name", &constellation::name)
        .def_property_readonly("size", &constellation::size, "M")
        .def_property_readonly("bits_per_symbol", &constellation::bits_per_symbol)
        .def_property_readonly("is_complex", &constellation::is_complex)
        .def_property_readonly(
            "points",
            [](const constellation& c) {
                return py::array_t<std::complex<float>>(c.size(), c.points().data());
            },
            "complex64 (M,): point l belongs to label l; neighbouring levels are 2 apart")
        .def_property_readonly(
            "symmetries",
            &constellation::symmetries,
            "Label permutations of inversion (PAM) or rotation (QAM), identity first.");
    bind_waveform(m);
    bind_network(m);
    bind_model(m);
    bind_training(m);
    bind_adaptation(m);
    bind_judge(m);
    bind_error_counter(m);
    bind_mlse(m);
}
