/*
 * gnuradio.adann.adann_python: the C++ blocks. Import gnuradio.gr first.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include <gnuradio/adann/feature_windower.h>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace gr::adann;

PYBIND11_MODULE(adann_python, m)
{
    py::module::import("gnuradio.gr");

    py::class_<feature_windower, gr::block, gr::basic_block, feature_windower::sptr>(
        m,
        "feature_windower",
        "Samples in, one vector of the sps*(2*half_window+1) samples around each symbol "
        "out.\n\n"
        "Sample i*sps is the middle of symbol i; complex samples become interleaved "
        "floats.\n"
        "sps: 1 to 64; half_window: 0 to 255. Raises ValueError for anything else.")
        .def(py::init(&feature_windower::make),
             py::arg("sps") = 4,
             py::arg("half_window") = 5,
             py::arg("complex") = false)
        .def("dimension", &feature_windower::dimension, "Floats of one output vector.");
}
