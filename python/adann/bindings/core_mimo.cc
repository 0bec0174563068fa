/*
 * gnuradio.adann.core: several channels, equalized together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "arrays.h"
#include "core_python.h"

#include "core/tracking/mimo_filter.h"

#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <complex>
#include <string>
#include <vector>

using namespace gr::adann::core;

namespace {

using samples_array =
    py::array_t<std::complex<float>, py::array::c_style | py::array::forcecast>;

std::string shape_of(const py::array& array)
{
    return py::str(array.attr("shape")).cast<std::string>();
}

std::vector<const float*> channels_of(const samples_array& samples,
                                      const mimo_filter& filter)
{
    if (samples.ndim() != 2 ||
        samples.shape(0) != static_cast<py::ssize_t>(filter.channels()))
        refuse("samples' shape",
               shape_of(samples),
               "(" + std::to_string(filter.channels()) + ", N)");
    std::vector<const float*> rows;
    for (std::size_t c = 0; c < filter.channels(); ++c)
        rows.push_back(reinterpret_cast<const float*>(samples.data(c, 0)));
    return rows;
}

samples_array run(mimo_filter& self, const samples_array& samples)
{
    const auto rows = channels_of(samples, self);
    const auto n = static_cast<std::size_t>(samples.shape(1));
    const std::size_t of_step = mimo_filter::step * self.sps();
    if (n % of_step)
        refuse("samples", n, "multiples of " + std::to_string(of_step));
    samples_array filtered({ self.outputs(), n });
    std::vector<float*> to;
    for (std::size_t o = 0; o < self.outputs(); ++o)
        to.push_back(reinterpret_cast<float*>(filtered.mutable_data(o, 0)));
    self.run(rows.data(), n / of_step, to.data());
    return filtered;
}

void start(mimo_filter& self,
           const samples_array& samples,
           const std::optional<labels_array>& labels)
{
    const auto rows = channels_of(samples, self);
    const auto symbols = static_cast<std::size_t>(samples.shape(1)) / self.sps();
    if (!labels)
        return self.start(rows.data(), symbols, nullptr);
    if (labels->ndim() != 2 ||
        labels->shape(0) != static_cast<py::ssize_t>(self.outputs()) ||
        labels->shape(1) != static_cast<py::ssize_t>(symbols))
        refuse("labels' shape",
               shape_of(*labels),
               "(" + std::to_string(self.outputs()) + ", " + std::to_string(symbols) +
                   ")");
    std::vector<const std::uint8_t*> lists;
    for (std::size_t o = 0; o < self.outputs(); ++o)
        lists.push_back(labels->data(o, 0));
    self.start(rows.data(), symbols, lists.data());
}

samples_array taps(const mimo_filter& self)
{
    samples_array all({ self.outputs(), self.channels(), self.taps() });
    for (std::size_t o = 0; o < self.outputs(); ++o)
        for (std::size_t c = 0; c < self.channels(); ++c) {
            const auto used = self.in_use(o, c);
            for (std::size_t k = 0; k < self.taps(); ++k)
                all.mutable_at(o, c, k) = { used.re[k], used.im[k] };
        }
    return all;
}

py::tuple known_carrier(const samples_array& windows,
                        const samples_array& sent,
                        std::size_t half_window)
{
    const std::size_t count = static_cast<std::size_t>(sent.size());
    if (windows.ndim() != 2 || sent.ndim() != 1 || windows.shape(1) == 0 ||
        windows.shape(0) != static_cast<py::ssize_t>(count + 2 * half_window))
        refuse("samples' shape", shape_of(windows), "(symbols + 2 * half_window, any)");
    const std::size_t stride = 2 * static_cast<std::size_t>(windows.shape(1));
    const carrier_track found =
        track_known({ reinterpret_cast<const float*>(windows.data()),
                      stride,
                      (2 * half_window + 1) * stride,
                      count },
                    { sent.data(), sent.data() + count });
    return py::make_tuple(
        found.stands() ? 0.0 : found.frequency,
        floats(static_cast<py::ssize_t>(found.phase.size()), found.phase.data()));
}

} // namespace

void bind_mimo(py::module& m)
{
    py::class_<mimo_output_status>(
        m, "mimo_output_status", "What one output of a mimo_filter is doing.")
        .def_readonly(
            "found", &mimo_output_status::found, "Whether it has a transmitter.")
        .def_readonly("memory",
                      &mimo_output_status::memory,
                      "Of the taps in use, in symbols; 0: those of the start.")
        .def_readonly("residual",
                      &mimo_output_status::residual,
                      "Mean square residual of a filtered sample from the expected "
                      "waveform, predicted.")
        .def_readonly("phase", &mimo_output_status::phase, "Removed, in radians.")
        .def_readonly(
            "frequency", &mimo_output_status::frequency, "Removed, cycles per symbol.")
        .def_readonly("starts",
                      &mimo_output_status::starts,
                      "Times that a transmitter was found for it.");

    m.def(
        "known_carrier",
        &known_carrier,
        py::arg("samples"),
        py::arg("sent"),
        py::arg("half_window"),
        R"((cycles per symbol, float32 phase of each of n symbols in radians) of a carrier, by known symbols.

It is found after any linear channel, up to 1/8 cycle per symbol, and followed over 64 symbols; phases are none where
they are no better than a constant phase. samples: complex64 (n + 2*half_window, samples of a symbol of all
channels), those that each symbol owns, half_window more at each end. sent: complex64 (n,), the points; 0: not known.
Raises ValueError if the shapes do not fit.)");

    py::class_<mimo_filter>(m,
                            "mimo_filter",
                            R"(Several channels in, a stream for each transmitter out.

A matrix of filters, by exponentially windowed least squares on the waveform that a model expects of what its
network decides, brings the channels in which the transmitters are mixed to streams such as the model, of one
transmitter, was trained on. model: for complex samples, with an expected waveform. channels: received streams, 1 to 8;
outputs: transmitters, 1 to channels; length: symbols that the taps span, 1 to 64. Raises ValueError for anything else.)")
        .def(py::init([](const model& behind,
                         std::size_t channels,
                         std::size_t outputs,
                         unsigned length) {
                 return mimo_filter(behind, { channels, outputs, length });
             }),
             py::arg("model"),
             py::arg("channels") = mimo_filter_settings{}.channels,
             py::arg("outputs") = mimo_filter_settings{}.outputs,
             py::arg("length") = mimo_filter_settings{}.length)
        .def(
            "run",
            &run,
            py::arg("samples"),
            R"(complex64 (outputs, N) of the next samples (channels, N), N a multiple of 16 symbols.

It is `delay` symbols late; the first ones are zero. Without start(), it starts blindly after 4096 symbols.)")
        .def(
            "start",
            &start,
            py::arg("samples"),
            py::arg("labels") = py::none(),
            R"(Start from a stretch of the signal, samples (channels, N), which is not filtered.

labels: uint8 (outputs, N / sps), those of the stretch; None: blindly. Raises ValueError for too few of them, or
if a transmitter is not found.)")
        .def_property_readonly("delay", &mimo_filter::delay, "In symbols.")
        .def_property_readonly("taps", &taps, "complex64 (outputs, channels, taps)")
        .def_property_readonly("status", [](const mimo_filter& self) {
            std::vector<mimo_output_status> all;
            for (std::size_t o = 0; o < self.outputs(); ++o)
                all.push_back(self.status(o));
            return all;
        });
}
