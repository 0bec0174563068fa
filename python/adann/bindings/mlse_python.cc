/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"
#include "settings.h"

#include <gnuradio/adann/mlse.h>

#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace gr::adann;

namespace {

// Any array of sps x memory numbers, row after row.
using taps = py::array_t<gr_complex, py::array::c_style | py::array::forcecast>;

std::vector<gr_complex> flat(const taps& array)
{
    return { array.data(), array.data() + array.size() };
}

} // namespace

void bind_mlse(py::module& m)
{
    py::class_<mlse, gr::block, gr::basic_block, mlse::sptr>(
        m,
        "mlse",
        (std::string(
             R"(Maximum-likelihood sequence estimation (Viterbi) with a tracked channel response.

Input: float or complex samples, sample i*sps the middle of symbol i; optionally, at input 1,
known labels (byte, M or more where not known). Output: labels (byte), output i belongs to
symbol i. Without noise, sample i*sps - sps//2 + p is

    sum over k of response[p, k] * a(i + (memory - 1)//2 - k)

constellation: up to 64 points, as core.constellation takes it; sps: 1 to 64; memory: symbols that a sample depends on
complex: whether the samples are
response: (sps, memory); none: straight lines between the symbols' points
training: labels that are known from a tag with the key training_tag on, or, without one, from
the first symbol on

Settings, by their names:)") +
         settings_doc<mlse_settings>() + R"(

Raises ValueError naming the parameter that is out of range, or if the memory takes more than
256 MiB.)")
            .c_str())
        .def(py::init([](const py::object& constellation,
                         unsigned sps,
                         unsigned memory,
                         bool complex,
                         const taps& response,
                         const std::vector<std::uint8_t>& training,
                         const std::string& training_tag,
                         const py::kwargs& settings) {
                 mlse_options options;
                 static_cast<mlse_settings&>(options) =
                     settings_from<mlse_settings>(settings);
                 options.response = flat(response);
                 options.training = training;
                 options.training_tag = training_tag;
                 return mlse::make(
                     constellation_text(constellation), sps, memory, complex, options);
             }),
             py::arg("constellation"),
             py::arg("sps"),
             py::arg("memory"),
             py::arg("complex") = false,
             py::arg("response") = py::tuple(),
             py::arg("training") = py::tuple(),
             py::arg("training_tag") = "")
        .def(
            "set_response",
            [](mlse& block, const taps& response) { block.set_response(flat(response)); },
            py::arg("response"))
        .def(
            "set_adaptation",
            [](mlse& block, const std::string& adaptation) {
                block.set_adaptation(word_to<mlse_adaptation>("adaptation", adaptation));
            },
            py::arg("adaptation"))
        .def("set_step", &mlse::set_step, py::arg("step"))
        .def("response",
             &mlse::response,
             "The taps as tracked by now: sps rows of memory taps, row after row.")
        .def("updates", &mlse::updates, "How often new taps were taken into use.");
}
