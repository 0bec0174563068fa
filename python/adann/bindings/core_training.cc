/*
 * gnuradio.adann.core: losses and the trainer.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "arrays.h"
#include "core_python.h"

#include "core/network/decider.h"
#include "core/simd/kernels.h"
#include "core/training/trainer.h"

#include <pybind11/stl.h>

using namespace gr::adann::core;

namespace {

//! Noise given as an array (uses, N, dimension): what the tests feed to torch as well.
class given_noise : public noise_source
{
public:
    explicit given_noise(const floats& noise) : d_noise(noise)
    {
        if (noise.ndim() != 3)
            refuse("noise dimensions", noise.ndim(), "3: (uses, N, dimension)");
    }
    void add(unsigned use,
             std::size_t first_symbol,
             const float* x,
             const std::uint32_t* row,
             std::size_t rows,
             float scale,
             float* y) override
    {
        const auto numbers = d_noise.unchecked<3>();
        if (use >= numbers.shape(0) || static_cast<py::ssize_t>(rows) > numbers.shape(2))
            refuse("noise",
                   py::str(d_noise.attr("shape")).cast<std::string>(),
                   "one (N, dimension) array per use");
        for (std::size_t k = 0; k < rows; ++k)
            for (std::size_t t = 0; t < simd::tile; ++t)
                y[k * simd::tile + t] =
                    (x ? x[row[k] + t] : 0.0f) +
                    scale * numbers(use,
                                    std::min<py::ssize_t>(first_symbol + t,
                                                          numbers.shape(1) - 1),
                                    k);
    }

private:
    floats d_noise;
};

loss_settings make_loss(const std::string& loss,
                        const std::string& pseudo_label,
                        float sigma,
                        float epsilon,
                        float xi,
                        const std::string& noise,
                        float balance)
{
    return { loss, pseudo_label, sigma, epsilon, xi, noise, balance };
}

} // namespace

void bind_training(py::module& m)
{
    m.attr("losses") = loss_settings::losses();
    m.attr("pseudo_labels") = loss_settings::pseudo_labels();
    m.attr("optimizers") = optimizer::names();
    m.attr("noises") = loss_settings::noises();

    py::class_<gaussian_noise>(
        m,
        "gaussian_noise",
        "Standard normal numbers: 16 interleaved streams of one seed.")
        .def(py::init<std::uint64_t>(), py::arg("seed"))
        .def(
            "fill",
            [](gaussian_noise& self, std::size_t count) {
                floats numbers(count);
                self.fill(numbers.mutable_data(), count);
                return numbers;
            },
            py::arg("count"),
            "The next float32 (count,); those left of the last 128 are thrown away.");

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
            const auto settings =
                make_loss(loss, pseudo_label, sigma, epsilon, xi, "literal", 0);
            settings.check();
            std::vector<float> gradient(net.parameters().size());
            given_noise given(noise);
            const auto value = loss_gradient(net, label_parts{})
                                   .compute(net,
                                            view,
                                            labels_for(labels, view.count),
                                            settings,
                                            given,
                                            gradient);
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

    m.def(
        "multiplications",
        [](const network& net,
           const py::array_t<float>& features,
           const std::string& loss,
           const std::string& noise) {
            const auto view = view_of(features, net.inputs());
            const auto before = simd::multiplications;
            if (loss.empty()) {
                std::vector<std::uint8_t> labels(view.count);
                decider(net, simd::counting)
                    .decide(prepared_network(net), view, labels.data());
            } else {
                trainer(net,
                        label_parts{},
                        { make_loss(loss, "clean", 0.1f, 0.1f, 0.1f, noise, 0) },
                        simd::counting)
                    .step(view);
            }
            return simd::multiplications - before;
        },
        py::arg("network"),
        py::arg("features"),
        py::arg("loss") = "",
        py::arg("noise") = "literal",
        R"(How many multiplications deciding float32 features (N, D) one by one takes, or one step of a loss.

Counted while the plain kernels run, N in tiles of 128: matrix products, and scaling of vectors
of features. Softmax, the drawing of noise, and what a step does once per batch, the optimizer
above all, are not counted.)");

    py::class_<trainer>(
        m,
        "trainer",
        "A network that learns, one batch a step.\n\n"
        "constellation: as core.constellation takes it; what `balance` balances.")
        .def(py::init([](const network& net,
                         const std::string& loss,
                         const std::string& pseudo_label,
                         const std::string& optimizer,
                         float learning_rate,
                         float sigma,
                         float epsilon,
                         float xi,
                         const std::string& noise,
                         float balance,
                         std::uint64_t seed,
                         const std::optional<py::object>& symbols) {
                 if (!symbols && balance > 0 && loss != "supervised")
                     refuse("balance", balance, "0 without a constellation");
                 return trainer(
                     net,
                     symbols ? constellation_from(*symbols).parts() : label_parts{},
                     { make_loss(loss, pseudo_label, sigma, epsilon, xi, noise, balance),
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
             py::arg("noise") = "reduced",
             py::arg("balance") = 1.0f,
             py::arg("seed") = 0,
             py::arg("constellation") = py::none())
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
