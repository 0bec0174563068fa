/*
 * gnuradio.adann.core: the core's algorithms on numpy arrays.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "core/adaptive_equalizer.h"
#include "core/checks.h"
#include "core/constellation.h"
#include "core/loss.h"
#include "core/model.h"
#include "core/optimizer.h"
#include "core/trainer.h"

#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>

namespace py = pybind11;
using namespace gr::adann::core;

namespace {

using floats = py::array_t<float, py::array::c_style | py::array::forcecast>;
using labels_array = py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>;

// Rows of a (N, dimension) array, which may be a strided (sliding window) view: not
// copied.
feature_view view_of(const py::array_t<float>& features, std::size_t dimension)
{
    constexpr auto item = static_cast<py::ssize_t>(sizeof(float));
    if (features.ndim() != 2 || features.shape(1) != static_cast<py::ssize_t>(dimension))
        refuse("features' shape",
               py::str(features.attr("shape")).cast<std::string>(),
               "(N, " + std::to_string(dimension) + ")");
    if (features.strides(1) != item || features.strides(0) < item ||
        features.strides(0) % item != 0)
        refuse("features' strides",
               py::str(features.attr("strides")).cast<std::string>(),
               "rows of neighbouring float32 values");
    return { features.data(),
             static_cast<std::size_t>(features.strides(0) / item),
             dimension,
             static_cast<std::size_t>(features.shape(0)) };
}

const std::uint8_t* labels_for(const std::optional<labels_array>& labels,
                               std::size_t count)
{
    if (!labels)
        return nullptr;
    if (labels->ndim() != 1 || labels->shape(0) != static_cast<py::ssize_t>(count))
        refuse("labels' shape",
               py::str(labels->attr("shape")).cast<std::string>(),
               "(" + std::to_string(count) + ",)");
    return labels->data();
}

// An array that looks into `owner`'s memory and keeps it alive.
py::array_t<float>
look_into(py::object owner, float* data, std::vector<std::size_t> shape)
{
    return py::array_t<float>(shape, data, owner);
}

//! Noise given as an array (uses, N, dimension): what the tests feed to torch as well.
class given_noise : public noise_source
{
public:
    explicit given_noise(const floats& noise) : d_noise(noise)
    {
        if (noise.ndim() != 3)
            refuse("noise dimensions", noise.ndim(), "3: (uses, N, dimension)");
    }
    void fill(unsigned use, std::size_t first, std::size_t rows, float* out) override
    {
        const auto numbers = d_noise.unchecked<3>();
        if (use >= numbers.shape(0) || static_cast<py::ssize_t>(rows) != numbers.shape(2))
            refuse("noise",
                   py::str(d_noise.attr("shape")).cast<std::string>(),
                   "one (N, dimension) array per use");
        for (std::size_t k = 0; k < rows; ++k)
            for (std::size_t l = 0; l < lanes; ++l)
                out[k * lanes + l] = numbers(
                    use, std::min<py::ssize_t>(first + l, numbers.shape(1) - 1), k);
    }

private:
    floats d_noise;
};

loss_settings make_loss(const std::string& loss,
                        const std::string& pseudo_label,
                        float sigma,
                        float epsilon,
                        float xi)
{
    return { loss, pseudo_label, sigma, epsilon, xi };
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

void bind_network(py::module& m)
{
    py::class_<network>(
        m,
        "network",
        "A fully-connected network: ReLU between the layers, softmax at the end.\n\n"
        "sizes: neurons of each layer, input first, e.g. [44, 10, 10, 10, 10, 4].\n"
        "All parameters start at zero; see initialize().")
        .def(py::init<std::vector<std::size_t>>(), py::arg("sizes"))
        .def_property_readonly("sizes", &network::sizes)
        .def_property_readonly(
            "parameters",
            [](py::object self) {
                auto& p = self.cast<network&>().parameters();
                return look_into(self, p.data(), { p.size() });
            },
            "float32 (P,), writable: per layer the weights (outputs, inputs), then the "
            "biases")
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
             &network::initialize,
             py::arg("seed"),
             "He initialisation: normal weights of variance 2/inputs, zero biases.")
        .def(
            "decide",
            [](const network& net, const py::array_t<float>& features) {
                const auto view = view_of(features, net.inputs());
                return decide_all(
                    view, net.outputs(), [&](auto* labels, auto* posteriors) {
                        decider(net).decide(net, view, labels, posteriors);
                    });
            },
            py::arg("features"),
            "Labels (N,) and posteriors (N, M) of float32 features (N, D).");
}

void bind_model(py::module& m)
{
    py::register_exception<model_file_error>(m, "ModelFileError", PyExc_ValueError);
    py::class_<model>(m, "model", "A network and the signal that it was trained for.")
        .def(py::init<network,
                      unsigned,
                      unsigned,
                      bool,
                      const std::string&,
                      std::string>(),
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
        .def_readonly("constellation", &model::symbols);
    m.def("load_model",
          &load_model,
          py::arg("path"),
          "Reads a model file (safetensors, adann/1). Raises ModelFileError, a "
          "ValueError.");
    m.def("save_model",
          &save_model,
          py::arg("path"),
          py::arg("model"),
          "Writes a model file; never half of one. Raises ModelFileError.");
}

void bind_training(py::module& m)
{
    m.attr("losses") = loss_settings::losses();
    m.attr("pseudo_labels") = loss_settings::pseudo_labels();
    m.attr("optimizers") = optimizer::names();
    m.attr("modes") = adaptation_settings::modes();

    m.def(
        "loss_gradient",
        [](const network& net,
           const py::array_t<float>& features,
           const std::string& loss,
           const floats& noise,
           const std::optional<labels_array>& labels,
           const std::string& pseudo_label,
           float sigma,
           float epsilon,
           float xi) {
            const auto view = view_of(features, net.inputs());
            const auto settings = make_loss(loss, pseudo_label, sigma, epsilon, xi);
            settings.check();
            std::vector<float> gradient(net.parameters().size());
            given_noise given(noise);
            const auto value = loss_gradient(net).compute(
                net, view, labels_for(labels, view.count), settings, given, gradient);
            return py::make_tuple(value.loss, floats(gradient.size(), gradient.data()));
        },
        py::arg("network"),
        py::arg("features"),
        py::arg("loss"),
        py::arg("noise"),
        py::arg("labels") = py::none(),
        py::arg("pseudo_label") = "clean",
        py::arg("sigma") = 0.1f,
        py::arg("epsilon") = 0.1f,
        py::arg("xi") = 0.1f,
        "Loss and its gradient (P,) with the noise given: float32 (uses, N, D).");

    py::class_<trainer>(m, "trainer", "A network that learns, one batch a step.")
        .def(py::init([](const network& net,
                         const std::string& loss,
                         const std::string& pseudo_label,
                         const std::string& optimizer,
                         float learning_rate,
                         float sigma,
                         float epsilon,
                         float xi,
                         std::uint64_t seed) {
                 return trainer(net,
                                { make_loss(loss, pseudo_label, sigma, epsilon, xi),
                                  optimizer,
                                  learning_rate,
                                  seed });
             }),
             py::arg("network"),
             py::arg("loss") = "aug_vat",
             py::arg("pseudo_label") = "clean",
             py::arg("optimizer") = "adam",
             py::arg("learning_rate") = 0.002f,
             py::arg("sigma") = 0.1f,
             py::arg("epsilon") = 0.1f,
             py::arg("xi") = 0.1f,
             py::arg("seed") = 0)
        .def(
            "step",
            [](trainer& self,
               const py::array_t<float>& features,
               const std::optional<labels_array>& labels) {
                const auto view = view_of(features, self.net().inputs());
                const auto* known = labels_for(labels, view.count);
                const py::gil_scoped_release unlocked;
                const auto result = self.step(view, known);
                return std::make_tuple(result.loss, result.confidence, result.accepted);
            },
            py::arg("features"),
            py::arg("labels") = py::none(),
            "One step on float32 features (N, D): (loss, confidence, accepted).")
        .def_property_readonly("network",
                               &trainer::net,
                               py::return_value_policy::copy,
                               "A copy, as trained so far.");
}

} // namespace

PYBIND11_MODULE(core, m)
{
    m.doc() = "The mathematics of gr-adann on numpy arrays; no flowgraph needed.";

    py::class_<constellation>(
        m, "constellation", "A Gray-labelled PAM or square QAM alphabet.")
        .def(py::init<const std::string&>(), py::arg("name"))
        .def_static("names", &constellation::names, "The names of all alphabets.")
        .def_property_readonly("name", &constellation::name)
        .def_property_readonly("size", &constellation::size, "M")
        .def_property_readonly("bits_per_symbol", &constellation::bits_per_symbol)
        .def_property_readonly("is_complex", &constellation::is_complex)
        .def_property_readonly(
            "points",
            [](const constellation& c) {
                return py::array_t<std::complex<float>>(c.size(), c.points().data());
            },
            "complex64 (M,): point l belongs to label l; neighbouring levels are 2 apart")
        .def_property_readonly(
            "symmetries",
            &constellation::symmetries,
            "Label permutations of inversion (PAM) or rotation (QAM), identity first.");
    bind_network(m);
    bind_model(m);
    bind_training(m);
}
