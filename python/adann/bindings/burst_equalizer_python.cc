/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"

#include <gnuradio/adann/burst_equalizer.h>

#include <pybind11/stl.h>

namespace py = pybind11;
using namespace gr::adann;

void bind_burst_equalizer(py::module& m)
{
    py::class_<burst_equalizer, gr::block, gr::basic_block, burst_equalizer::sptr>(
        m,
        "burst_equalizer",
        R"(Equalizes each burst as a whole, from known symbols anywhere in it.

Input: complex samples, or float ones, such as an FM discriminator's. Outputs, one item a symbol of
each burst: labels (byte); estimates (complex); posteriors (M floats). The first symbol has the tags
packet_len, sample, frequency and noise.

constellation: as core.constellation takes it. known_symbols: label of each symbol of a burst, 255
where it is not known, 16 to 100000 of them, 10 known within 1024 at least. sps: samples of a symbol, 1
to 16. complex: whether samples are; float ones take real points. start_tag: key of the tags at symbol tagged_symbol of each burst, as digital.corr_est_cc sets
them. end_tag: key of the tags after the last symbol; without one, all bursts have as many symbols.
length: symbols that the taps span, 1 to 32. carrier: largest offset, cycles a symbol, 0 to 0.25.
Raises ValueError for a parameter out of range.)")
        .def(
            py::init([](const py::object& constellation,
                        const std::vector<std::uint8_t>& known_symbols,
                        unsigned sps,
                        bool complex,
                        const std::string& start_tag,
                        std::size_t tagged_symbol,
                        const std::string& end_tag,
                        unsigned length,
                        float carrier) {
                return burst_equalizer::make(
                    constellation_text(constellation),
                    known_symbols,
                    { sps, complex, start_tag, tagged_symbol, end_tag, length, carrier });
            }),
            py::arg("constellation"),
            py::arg("known_symbols"),
            py::arg("sps") = 2,
            py::arg("complex") = true,
            py::arg("start_tag") = "corr_est",
            py::arg("tagged_symbol") = 0,
            py::arg("end_tag") = "",
            py::arg("length") = burst_equalizer_settings{}.length,
            py::arg("carrier") = burst_equalizer_settings{}.carrier)
        .def("bursts", &burst_equalizer::bursts, "How many were handed out.");
}
