/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"

#include <gnuradio/adann/normalizer.h>

#include <pybind11/complex.h>

namespace py = pybind11;
using namespace gr::adann;

void bind_normalizer(py::module& m)
{
    py::class_<normalizer, gr::sync_block, gr::block, gr::basic_block, normalizer::sptr>(
        m,
        "normalizer",
        R"(Zero mean and unit power by running statistics: of all samples so far until `window`
(1024 to 2^30) of them have come, then fading exponentially with that time constant.

A sample that is not finite comes out as 0 and never enters the statistics. After a rise
in level by 12 dB or more they start over, within 32 samples. What has no power comes out
as 0, and what comes out is limited to +-16. Raises ValueError for a window out of range.)")
        .def(py::init(&normalizer::make),
             py::arg("complex") = false,
             py::arg("window") = 65536)
        .def_static("fixed",
                    &normalizer::make_fixed,
                    py::arg("mean"),
                    py::arg("rms"),
                    py::arg("complex") = false,
                    R"((x - mean) / rms for statistics measured beforehand, see
record_statistics(). Raises ValueError unless mean is finite (and real
for float samples) and rms is finite and above 0.)");
}
