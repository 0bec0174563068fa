/*
 * gnuradio.adann.core: networks and model files.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "arrays.h"
#include "core_python.h"

#include "core/network/decider.h"
#include "core/network/model.h"
#include "core/network/quantized_decider.h"
#include "core/training/initialize.h"

#include <limits>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

using namespace gr::adann::core;

namespace {

// An array that looks into `owner`'s memory and keeps it alive.
py::array_t<float>
look_into(py::object owner, float* data, std::vector<std::size_t> shape)
{
    return py::array_t<float>(shape, data, owner);
}

// Decides all rows; posteriors (N, M).
template <typename Decide>
py::tuple decide_all(const feature_view& view, std::size_t classes, Decide decide)
{
    labels_array labels(view.count);
    floats posteriors({ view.count, classes });
    std::uint8_t* labels_out = labels.mutable_data();
    float* posteriors_out = posteriors.mutable_data();
    {
        const py::gil_scoped_release unlocked;
        decide(labels_out, posteriors_out);
    }
    return py::make_tuple(labels, posteriors);
}

} // namespace

void bind_network(py::module& m)
{
    py::class_<network>(
        m,
        "network",
        R"(A fully-connected network: ReLU between the layers, softmax at the end.

sizes: neurons of each layer, input first, e.g. [44, 10, 10, 10, 10, 4].
All parameters start at zero; see initialize().)")
        .def(py::init<std::vector<std::size_t>>(), py::arg("sizes"))
        .def_property_readonly("sizes", &network::sizes)
        .def_property_readonly(
            "parameters",
            [](py::object self) {
                auto& p = self.cast<network&>().parameters();
                return look_into(self, p.data(), { p.size() });
            },
            "float32 (P,), writable: per layer the weights (outputs, inputs), then the biases")
        .def(
            "weight",
            [](py::object self, std::size_t k) {
                auto& net = self.cast<network&>();
                const auto& layer = net.layers().at(k);
                return look_into(self,
                                 net.parameters().data() + layer.weights,
                                 { layer.outputs, layer.inputs });
            },
            py::arg("layer"),
            "float32 (outputs, inputs), writable")
        .def(
            "bias",
            [](py::object self, std::size_t k) {
                auto& net = self.cast<network&>();
                const auto& layer = net.layers().at(k);
                return look_into(
                    self, net.parameters().data() + layer.biases, { layer.outputs });
            },
            py::arg("layer"),
            "float32 (outputs,), writable")
        .def("initialize",
             &gr::adann::core::initialize,
             py::arg("seed"),
             "He initialisation: normal weights of variance 2/inputs, zero biases.")
        .def(
            "initialize_linear",
            [](network& net,
               std::uint64_t seed,
               const constellation& symbols,
               const py::array_t<float>& features,
               const labels_array& labels) {
                check_range("constellation's points",
                            symbols.size(),
                            net.outputs(),
                            net.outputs());
                const auto& layers = net.layers();
                for (std::size_t k = 0; k + 1 < layers.size(); ++k)
                    check_range("sizes[" + std::to_string(k + 1) + "]",
                                layers[k].outputs,
                                2 * symbols.dimensions(),
                                std::numeric_limits<std::size_t>::max());
                const auto view = view_of(features, net.inputs());
                const auto* known = labels_for(labels, view.count, symbols.size());
                const py::gil_scoped_release unlocked;
                initialize_linear(
                    net, seed, symbols, trained_equalizer(view, symbols, known));
            },
            py::arg("seed"),
            py::arg("constellation"),
            py::arg("features"),
            py::arg("labels"),
            R"(Decisions and posteriors of the least squares equalizer for these labels.

Some neurons carry its output, the others start at random, by the seed.
features: float32 (n, D) around symbols, of which 16384 are used; labels: uint8 (n,), theirs, all
known. Raises ValueError for hidden layers below two neurons, of complex points four.)")
        .def(
            "decide",
            [](const network& net, const py::array_t<float>& features) {
                const auto view = view_of(features, net.inputs());
                return decide_all(
                    view, net.outputs(), [&](auto* labels, auto* posteriors) {
                        decider(net).decide(
                            prepared_network(net), view, labels, posteriors);
                    });
            },
            py::arg("features"),
            "Labels (N,) and posteriors (N, M) of float32 features (N, D).");
}

void bind_quantization(py::module& m)
{
    py::class_<quantization>(m, "quantization", R"(How a network is run in whole numbers.

A number x is stored as the whole number nearest to x * 2**exponent, halves away from zero, of at
most `largest`, or `largest_hidden` between two layers.

bits: of weights, samples and hidden outputs, 4 to 16.
values: exponent of each layer's inputs, the samples' first; weights: of each layer's rows, which are
alike in the last one. All -30 to 30.)")
        .def(py::init([](unsigned bits,
                         std::vector<int> values,
                         std::vector<std::vector<int>> weights) {
                 return quantization{ bits, std::move(values), std::move(weights) };
             }),
             py::arg("bits"),
             py::arg("values"),
             py::arg("weights"))
        .def_readonly("bits", &quantization::bits)
        .def_readonly("values", &quantization::values)
        .def_readonly("weights", &quantization::weights)
        .def_property_readonly("largest", &quantization::largest, "2**(bits - 1) - 1")
        .def_property_readonly("largest_hidden",
                               &quantization::largest_hidden,
                               "2**min(bits, 15) - 1: of what a ReLU gives")
        .def("__eq__", &quantization::operator==);
    py::class_<quantized_network>(
        m,
        "quantized_network",
        R"(A network in whole numbers, of at most 16 bits, sums of 32.

network: core.network; formats: core.quantization. Raises ValueError for formats of another network, and
where a sum could overflow.)")
        .def(py::init<const network&, const quantization&>(),
             py::arg("network"),
             py::arg("formats"))
        .def(
            "weight",
            [](const quantized_network& self, std::size_t k) {
                const auto& layer = self.layers().at(k);
                return py::array_t<std::int16_t>({ layer.outputs, layer.inputs },
                                                 layer.weights.data());
            },
            py::arg("layer"),
            "int16 (outputs, inputs), a copy")
        .def(
            "bias",
            [](const quantized_network& self, std::size_t k) {
                const auto& layer = self.layers().at(k);
                return py::array_t<std::int32_t>(layer.outputs, layer.biases.data());
            },
            py::arg("layer"),
            "int32 (outputs,), a copy, in units of the row's sums")
        .def(
            "shift",
            [](const quantized_network& self, std::size_t k) {
                const auto& layer = self.layers().at(k);
                return py::array_t<std::uint8_t>(layer.outputs, layer.shifts.data());
            },
            py::arg("layer"),
            "uint8 (outputs,), a copy: bits that each row's sums lose, rounded")
        .def_property_readonly("sample_scale",
                               &quantized_network::sample_scale,
                               "What samples are multiplied with, a power of two.")
        .def_property_readonly("logit_scale",
                               &quantized_network::logit_scale,
                               "The logit of one unit of the last layer's sums.")
        .def(
            "decide",
            [](const quantized_network& net, const py::array_t<float>& features) {
                const auto view = view_of(features, net.inputs());
                labels_array labels(view.count);
                py::array_t<std::int32_t> logits({ view.count, net.outputs() });
                std::uint8_t* labels_out = labels.mutable_data();
                std::int32_t* logits_out = logits.mutable_data();
                {
                    const py::gil_scoped_release unlocked;
                    quantized_decider().decide(
                        prepared_quantized(net), view, labels_out, logits_out);
                }
                return py::make_tuple(labels, logits);
            },
            py::arg("features"),
            R"(Labels (N,) and logits int32 (N, M), times logit_scale, of float32 features (N, D).

The same on every machine.)");
}

void bind_model(py::module& m)
{
    py::register_exception<model_file_error>(m, "ModelFileError", PyExc_ValueError);
    py::class_<model>(m, "model", "A network and the signal that it was trained for.")
        .def(py::init([](network net,
                         unsigned sps,
                         unsigned half_window,
                         bool complex,
                         const py::object& symbols,
                         std::string training) {
                 return model(std::move(net),
                              sps,
                              half_window,
                              complex,
                              constellation_from(symbols).text(),
                              std::move(training));
             }),
             py::arg("network"),
             py::arg("sps"),
             py::arg("half_window"),
             py::arg("complex"),
             py::arg("constellation"),
             py::arg("training") = "")
        .def_readonly("network", &model::net)
        .def_readonly("sps", &model::sps)
        .def_readonly("half_window", &model::half_window)
        .def_readonly("complex", &model::complex)
        .def_readonly(
            "training", &model::training, "How it was trained: text for people.")
        .def_readwrite("symbol_error_rate",
                       &model::symbol_error_rate,
                       "On the signal it was trained on: 0 to 1, nan if unknown.")
        .def_readwrite("refined_symbol_error_rate",
                       &model::refined_symbol_error_rate,
                       "The same of its labels, refined by the expected waveform: nan if "
                       "unknown. Decisions are refined where it is not above the other.")
        .def_readwrite(
            "refined_errors_per_doubt",
            &model::refined_errors_per_doubt,
            "How many refined labels were wrong for each error that refine_labels() "
            "expected; 0.01 to 100, nan if unknown. Unless it is within "
            "1/3 to 3 the error rate of refined decisions is not called trustworthy.")
        .def_readwrite("temperature",
                       &model::temperature,
                       "Calibrates the posteriors; 0.05 to 20, 1 if unknown.")
        .def_readwrite("adapted_temperature",
                       &model::adapted_temperature,
                       "The same for a network that has adapted from this one.")
        .def_readwrite("calibrated",
                       &model::calibrated,
                       "Whether the temperature was found from 30 errors at least. "
                       "Otherwise no estimated error rate is called trustworthy.")
        .def_readonly("constellation", &model::symbols)
        .def_property(
            "waveform",
            [](const model& self) { return self.waveform; },
            [](model& self, const std::optional<expected_waveform>& learnt) {
                if (learnt)
                    self.set_waveform(*learnt);
                else
                    self.waveform.reset();
            },
            "core.expected_waveform of its signal, a copy, or None.")
        .def_property(
            "formats",
            [](const model& self) { return self.formats; },
            [](model& self, const std::optional<quantization>& chosen) {
                if (chosen)
                    self.set_formats(*chosen);
                else
                    self.formats.reset();
            },
            "core.quantization of its network, a copy, or None.")
        .def(
            "to_bytes",
            [](const model& self) { return py::bytes(model_contents(self)); },
            "The contents of a model file.")
        .def_static(
            "from_bytes",
            [](const py::bytes& contents) { return parse_model(contents); },
            py::arg("contents"),
            "The reverse. Raises ModelFileError, a ValueError.")
        .def(py::pickle([](const model& self) { return py::bytes(model_contents(self)); },
                        [](const py::bytes& contents) { return parse_model(contents); }));
    m.def(
        "load_model",
        [](const std::filesystem::path& path) { return load_model(path); },
        py::arg("path"),
        "Reads a model file (safetensors, adann/1 to /4). Raises ModelFileError, a ValueError.");
    m.def(
        "save_model",
        [](const std::filesystem::path& path, const model& saved) {
            const py::gil_scoped_release unlocked; // a FIFO's reader may need it
            save_model(path, saved);
        },
        py::arg("path"),
        py::arg("model"),
        R"(Writes a model file; never half of one. Raises ModelFileError.

A symbolic link is followed. A device or a FIFO is written into, and who reads a FIFO is not waited for.)");
}
