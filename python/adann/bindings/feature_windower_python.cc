/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"

#include <gnuradio/adann/feature_windower.h>

namespace py = pybind11;
using namespace gr::adann;

void bind_feature_windower(py::module& m)
{
    py::class_<feature_windower, gr::block, gr::basic_block, feature_windower::sptr>(
        m,
        "feature_windower",
        R"(Samples in, one vector of the sps*(2*half_window+1) samples around each symbol out.

Sample i*sps is the middle of symbol i; complex samples become interleaved floats.
sps: 1 to 64; half_window: 0 to 255. Raises ValueError for anything else.)")
        .def(py::init(&feature_windower::make),
             py::arg("sps") = 4,
             py::arg("half_window") = 5,
             py::arg("complex") = false)
        .def("dimension", &feature_windower::dimension, "Floats of one output vector.");
}
