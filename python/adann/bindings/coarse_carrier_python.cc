/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"

#include <gnuradio/adann/coarse_carrier.h>

namespace py = pybind11;
using namespace gr::adann;

void bind_coarse_carrier(py::module& m)
{
    py::class_<coarse_carrier,
               gr::sync_block,
               gr::block,
               gr::basic_block,
               coarse_carrier::sptr>(
        m,
        "coarse_carrier",
        R"(Brings a signal to the middle of its matched filter: its carrier's offset, by the spectrum.

Input and output: complex samples, sps (2 to 64) a symbol, before the matched filter and the clock
recovery. roll_off: of root-raised-cosine pulses, 0.05 to 1.

The spectrum of some 4096 latest symbols, at first of 512 to 1024, is fitted by a flat one and that of the
pulses. The offset reaches 0.25 cycles a symbol either way, whatever the constellation, and is right to
some 0.02; carrier_recovery removes the remainder. Below 0.03 nothing is removed. The first one found is removed
at once; then the one in use follows by 2e-9 cycles a symbol in each symbol, and at once where the signal is
farther than 0.08 from it. Raises ValueError for a parameter out of range.)")
        .def(py::init(&coarse_carrier::make), py::arg("sps"), py::arg("roll_off") = 0.35f)
        .def("frequency",
             &coarse_carrier::frequency,
             "The offset that is removed, in cycles a symbol; 0 before one was found.");
}
