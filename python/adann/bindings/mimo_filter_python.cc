/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"

#include <gnuradio/adann/mimo_filter.h>

#include <pybind11/stl.h>

namespace py = pybind11;
using namespace gr::adann;

namespace {

mimo_filter::sptr
make(const py::object& model, unsigned channels, unsigned outputs, unsigned length)
{
    if (py::isinstance(model, py::module_::import("gnuradio.adann.core").attr("model")))
        return mimo_filter::make_from_memory(
            model.attr("to_bytes")().cast<std::string>(), channels, outputs, length);
    return mimo_filter::make(
        py::str(model).cast<std::string>(), channels, outputs, length);
}

} // namespace

void bind_mimo_filter(py::module& m)
{
    py::class_<mimo_filter,
               gr::sync_block,
               gr::block,
               gr::basic_block,
               mimo_filter::sptr>(
        m,
        "mimo_filter",
        R"(Several channels in, a stream for each transmitter out: polarisations of light, antennas.

A matrix of adaptive filters combines the channels, in which the transmitters are mixed, to streams such as the
model was trained on: put an equalizer after each output. Inputs: complex samples, sample i*sps the middle of
symbol i, zero mean, about unit power. Outputs: the same, delay() symbols later. It starts blindly after 4096 symbols.

model: a core.model, or the path of a model file, of one transmitter, for complex samples and with an expected waveform
channels: inputs, 1 to 8; outputs: transmitters, 1 to channels; length: symbols that the taps span, 1 to 64.
Raises ValueError naming what is out of range, core.ModelFileError (a ValueError) if the model file cannot be read.)")
        .def(py::init(&make),
             py::arg("model"),
             py::arg("channels") = 2,
             py::arg("outputs") = 2,
             py::arg("length") = 12)
        .def("delay", &mimo_filter::delay, "Symbols.")
        .def("found", &mimo_filter::found, "How many outputs have a transmitter.")
        .def("starts",
             &mimo_filter::starts,
             "Times that a transmitter was found, over all outputs.")
        .def(
            "residual",
            &mimo_filter::residual,
            "dB: residual of the filtered samples relative to the expected waveform, of the worst "
            "output; nan before the first update.")
        .def("frequencies",
             &mimo_filter::frequencies,
             "Of the carrier that is removed from each output, cycles per symbol.");
}
