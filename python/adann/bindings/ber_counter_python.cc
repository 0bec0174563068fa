/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"

#include <gnuradio/adann/ber_counter.h>

#include <pybind11/stl.h>

namespace py = pybind11;
using namespace gr::adann;

void bind_ber_counter(py::module& m)
{
    py::class_<ber_counter, gr::block, gr::basic_block, ber_counter::sptr>(
        m,
        "ber_counter",
        R"(Bit error rate of decided labels (input 0), given the sent ones (input 1); with posteriors (input 2,
optional, M floats) their generalized mutual information.

Finds delay and inversion or rotation itself and counts nothing until it has. Output,
optional: the rate of each batch; message port `ber`: a dictionary per batch and per
change of the lock. constellation: a name, points in label order, or a digital.constellation
object, see core.constellation; batch: symbols, 1 to 2**30; search: largest delay, 0 to 16384. Raises ValueError for anything else.)")
        .def(py::init(
                 [](const py::object& constellation, std::size_t batch, unsigned search) {
                     return ber_counter::make(
                         constellation_text(constellation), batch, search);
                 }),
             py::arg("constellation") = "gr:qpsk",
             py::arg("batch") = 8192,
             py::arg("search") = 1024)
        .def("locked", &ber_counter::locked)
        .def("delay",
             &ber_counter::delay,
             "Decided label i belongs to sent label i - delay; of the latest lock.")
        .def("symmetry",
             &ber_counter::symmetry,
             "Number of the inversion or rotation, 0 for none; of the latest lock.")
        .def("permuted",
             &ber_counter::permuted,
             "'1<->2' while there is no lock because the labels are permuted, else ''.")
        .def("relocks",
             &ber_counter::relocks,
             "How often the streams were aligned anew after the first lock.")
        .def("errors", &ber_counter::errors, "Bit errors so far.")
        .def("bits", &ber_counter::bits, "Bits compared so far.")
        .def("ber", &ber_counter::ber, "errors() / bits(); nan before the first bit.")
        .def("gmi",
             &ber_counter::gmi,
             "Generalized mutual information, bits a symbol; nan without posteriors.")
        .def("interval",
             &ber_counter::interval,
             "Exact 95 % interval (low, high) of ber().")
        .def("reset",
             &ber_counter::reset,
             "Forgets counts and lock and aligns the labels that come from now on.");
}
