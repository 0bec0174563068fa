/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"

#include <gnuradio/adann/atsc_equalizer.h>

#include <pybind11/numpy.h>

namespace py = pybind11;
using namespace gr::adann;

void bind_atsc_equalizer(py::module& m)
{
    py::class_<atsc_equalizer, gr::block, gr::basic_block, atsc_equalizer::sptr>(
        m,
        "atsc_equalizer",
        R"(Adaptive equalizer for GNU Radio's ATSC (8VSB) receiver, in the place of dtv.atsc_equalizer.

Inputs and outputs: segments of 832 floats, and each one's plinfo (4 bytes). Field segments end here;
levels +-1 ... +-7 come out, a segment later. The taps start from the known symbols of a field's first
segment and follow the signal.
Message port status: a dictionary per field.

past, future: samples before and after its own that a symbol is estimated from, 8 to 128; a late
  echo of n symbols needs past > n

Raises ValueError naming the one that is out of range.)")
        .def(
            py::init(&atsc_equalizer::make), py::arg("past") = 64, py::arg("future") = 32)
        .def("modulation_error_ratio",
             &atsc_equalizer::modulation_error_ratio,
             "dB, of the latest field's known symbols; nan before the second field.")
        .def(
            "known_errors",
            &atsc_equalizer::known_errors,
            "Part of the latest field's known symbols that was decided wrongly; nan before "
            "the second field.")
        .def(
            "memory",
            &atsc_equalizer::memory,
            "Forgetting time constant of the taps in use, symbols; 0 before the first field.")
        .def("resets",
             &atsc_equalizer::resets,
             "Times that it started over, from the known symbols of a field.")
        .def(
            "taps",
            [](const atsc_equalizer& block) {
                const auto taps = block.taps();
                return py::array_t<float>(taps.size(), taps.data());
            },
            "float32 (past + future + 1,), the earliest sample's first.");
}
