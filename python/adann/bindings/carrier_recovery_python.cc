/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"

#include <gnuradio/adann/carrier_recovery.h>

namespace py = pybind11;
using namespace gr::adann;

void bind_carrier_recovery(py::module& m)
{
    py::class_<carrier_recovery,
               gr::sync_block,
               gr::block,
               gr::basic_block,
               carrier_recovery::sptr>(
        m,
        "carrier_recovery",
        R"(Removes a carrier's frequency offset and phase without a decision, whatever the channel.

Input and output: complex samples of about unit power, sps (1 to 64) a symbol, symbol k's middle near
sample k*sps, as after clock recovery. constellation: as core.constellation takes it, of M = 2, 4 or
8 rotations. bandwidth: of the phase, relative to the symbol rate, above 0, below 0.5.

The offset is the line of the symbols' M-th power, the peak of the periodogram of the latest 4096 (at
first of 1024), looked for every 1024. It counts from 40 times the median on, reaches 1/(2M) cycles a
symbol either way, and is followed as it drifts. The phase is that of the power's average over
1/(2*bandwidth) symbols, for points near each other longer, or over four times as many, whichever has
predicted better; it is right up to a multiple of 2*pi/M. coarse_carrier has a wider reach. Raises ValueError for a parameter out of range.)")
        .def(py::init([](const py::object& constellation, unsigned sps, float bandwidth) {
                 return carrier_recovery::make(
                     constellation_text(constellation), sps, bandwidth);
             }),
             py::arg("constellation") = "qpsk",
             py::arg("sps") = 2,
             py::arg("bandwidth") = 0.005f)
        .def("set_bandwidth",
             &carrier_recovery::set_bandwidth,
             py::arg("bandwidth"),
             "Of the phase. Raises ValueError if it is out of range.")
        .def(
            "frequency",
            &carrier_recovery::frequency,
            "The offset that is removed, in cycles a symbol; 0 before a line was found.");
}
