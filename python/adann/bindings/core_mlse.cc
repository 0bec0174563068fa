/*
 * gnuradio.adann.core: maximum-likelihood sequence estimation.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "arrays.h"
#include "core_python.h"
#include "settings.h"

#include "core/mlse/mlse.h"

#include <pybind11/complex.h>
#include <pybind11/stl.h>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

using taps_array =
    py::array_t<std::complex<float>, py::array::c_style | py::array::forcecast>;

// (symbols, sps), float or complex as the channel says.
struct symbol_rows {
    symbol_rows(const channel_model& channel, const py::array& samples)
    {
        if (samples.ndim() != 2 ||
            samples.shape(1) != static_cast<py::ssize_t>(channel.sps))
            refuse("samples' shape",
                   py::str(samples.attr("shape")).cast<std::string>(),
                   "(symbols, " + std::to_string(channel.sps) + ")");
        if ((samples.dtype().kind() == 'c') != channel.complex)
            refuse("samples' type",
                   py::str(samples.dtype()).cast<std::string>(),
                   channel.complex ? "complex" : "float");
        if (channel.complex)
            array = taps_array(samples);
        else
            array = floats(samples);
        symbols = samples.shape(0);
    }
    const float* data() const { return static_cast<const float*>(array.data()); }

    py::array array;
    std::size_t symbols;
};

response_taps taps_from(const std::optional<taps_array>& array)
{
    return array ? response_taps(array->data(), array->data() + array->size())
                 : response_taps{};
}

py::array taps_to(const channel_model& channel, const response_taps& taps)
{
    py::array result = taps_array({ channel.sps, channel.memory }, taps.data());
    return channel.complex ? result : py::array(result.attr("real").attr("copy")());
}

// With the channel that the arrays' shapes are checked against.
struct bound_mlse {
    bound_mlse(const channel_model& channel_, const mlse_settings& settings)
        : channel(channel_), core(channel, settings)
    {
    }

    py::array process(const py::array& samples, const std::optional<labels_array>& known)
    {
        const symbol_rows rows(channel, samples);
        const std::uint8_t* labels = labels_for(known, rows.symbols, any_label);
        std::vector<std::uint8_t> decided(rows.symbols + core.latency());
        mlse::progress done;
        {
            py::gil_scoped_release release;
            done = core.process(
                rows.data(), labels, rows.symbols, decided.data(), decided.size());
        }
        return labels_array(done.labels, decided.data());
    }

    const channel_model channel;
    mlse core;
};

} // namespace

void bind_mlse(py::module& m)
{
    m.def(
        "least_squares_response",
        [](const py::array& samples,
           const labels_array& labels,
           const py::object& symbols,
           unsigned memory) {
            const bool complex = samples.dtype().kind() == 'c';
            const channel_model channel(constellation_from(symbols),
                                        samples.ndim() == 2 ? samples.shape(1) : 0,
                                        memory,
                                        complex);
            const symbol_rows rows(channel, samples);
            return taps_to(channel,
                           channel.least_squares(
                               rows.data(),
                               labels_for(labels, rows.symbols, channel.alphabet.size()),
                               rows.symbols));
        },
        py::arg("samples"),
        py::arg("labels"),
        py::arg("constellation"),
        py::arg("memory"),
        R"(The linear response (sps, memory) that fits known symbols best.

samples: float or complex (symbols, sps), as for mlse; labels: uint8 (symbols,). Symbols with
a sample that is not finite are left out. Raises ValueError if the labels do not determine the
response.)");

    m.def("mlse_settings",
          &settings_by_name<mlse_settings>,
          "The MLSE's settings but for its response: a setting for each name.");

    py::class_<bound_mlse>(
        m,
        "mlse",
        (std::string(
             R"(Maximum-likelihood sequence estimation (Viterbi) with a response tracked by LMS.

Samples are passed as rows (symbols, sps): row i holds the samples of symbol i, those from
i*sps - sps//2 on of a capture whose sample i*sps is the middle of symbol i. Label i belongs
to symbol i. Without noise

    samples[i, p] = sum over k of response[p, k] * a(i + (memory - 1)//2 - k)

constellation: as core.constellation takes it; sps: 1 to 64; memory: symbols that a sample depends on
complex: whether samples and response are
response: (sps, memory); None: straight lines between the symbols' points

Settings, by their names:)") +
         settings_doc<mlse_settings>() + R"(

Raises ValueError naming the parameter that is out of range, or if the memory takes more than
256 MiB.)")
            .c_str())
        .def(py::init([](const py::object& symbols,
                         unsigned sps,
                         unsigned memory,
                         bool complex,
                         const std::optional<taps_array>& response,
                         const py::kwargs& given) {
                 auto settings = settings_from<mlse_settings>(given);
                 settings.response = taps_from(response);
                 return std::make_unique<bound_mlse>(
                     channel_model(constellation_from(symbols), sps, memory, complex),
                     settings);
             }),
             py::arg("constellation"),
             py::arg("sps"),
             py::arg("memory"),
             py::arg("complex") = false,
             py::arg("response") = py::none())
        .def(
            "process",
            &bound_mlse::process,
            py::arg("samples"),
            py::arg("known") = py::none(),
            R"(Takes symbols (n, sps) and, if there are any, their known labels (n,), M or more where
not known. Returns the labels decided by now, uint8. A symbol with a sample that is not finite,
or beyond 1e8, is decided by its neighbours; `latency` such symbols push out the last labels.)")
        .def_property_readonly(
            "latency",
            [](const bound_mlse& b) { return b.core.latency(); },
            "Largest decision delay in symbols.")
        .def(
            "set_training",
            [](bound_mlse& b, const std::vector<std::uint8_t>& labels) {
                b.core.set_training(labels);
            },
            py::arg("labels"),
            "A sequence of known labels, for start_training().")
        .def(
            "start_training",
            [](bound_mlse& b) { b.core.start_training(); },
            "The training sequence begins with the next symbol.")
        .def_property(
            "response",
            [](const bound_mlse& b) { return taps_to(b.channel, b.core.response()); },
            [](bound_mlse& b, const taps_array& taps) {
                b.core.set_response(taps_from(taps));
            },
            "(sps, memory), as tracked by now")
        .def_property_readonly("updates",
                               [](const bound_mlse& b) { return b.core.updates(); });
}
