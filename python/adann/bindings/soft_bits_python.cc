/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"

#include <gnuradio/adann/soft_bits.h>

namespace py = pybind11;
using namespace gr::adann;

void bind_soft_bits(py::module& m)
{
    py::class_<soft_bits,
               gr::sync_interpolator,
               gr::sync_block,
               gr::block,
               gr::basic_block,
               soft_bits::sptr>(
        m,
        "soft_bits",
        R"(Soft bits for a FEC decoder: M posteriors in, log2(M) log-likelihood ratios out.

ln(P(1)/P(0)) of each bit of the label, most significant first, limited to +-20; positive
is a 1. fec.ldpc_decoder takes them as they are (before GNU Radio 3.10.8 with
sigma = sqrt(2)); before
fec.extended_decoder with a convolutional code multiply by 0.25. constellation: its
size (M), a power of two from 2 to 256, or what core.constellation takes. Raises ValueError
for another.)")
        .def(py::init([](const py::object& constellation) {
                 if (py::isinstance<py::int_>(constellation))
                     return soft_bits::make(constellation.cast<std::size_t>());
                 const auto core = py::module_::import("gnuradio.adann.core");
                 return soft_bits::make(core.attr("constellation")(constellation)
                                            .attr("size")
                                            .cast<std::size_t>());
             }),
             py::arg("constellation") = 4);
}
