/*
 * gnuradio.adann.core: losses and the trainer.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "arrays.h"
#include "core_python.h"
#include "settings.h"

#include "core/network/decider.h"
#include "core/simd/kernels.h"
#include "core/training/trainer.h"

#include <pybind11/stl.h>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

//! Noise given as an array (uses, N, dimension): what the tests feed to torch as well.
class given_noise : public noise_source
{
public:
    explicit given_noise(const floats& noise) : d_noise(noise)
    {
        if (noise.ndim() != 3 || noise.shape(1) < 1)
            refuse("noise's shape",
                   py::str(noise.attr("shape")).cast<std::string>(),
                   "(uses, N, dimension), N above 0");
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

} // namespace

void bind_training(py::module& m)
{
    py::class_<setting>(m, "setting", "A setting of equalizer, learner, trainer or mlse.")
        .def_readonly("name", &setting::name)
        .def_readonly("default", &setting::value, "bool, int, float, str, or None")
        .def_readonly("low", &setting::low, "the least number allowed, or None")
        .def_readonly("high", &setting::high, "the greatest")
        .def_readonly("automatic", &setting::automatic, "whether None is allowed")
        .def_readonly("choices", &setting::choices, "the words allowed; [] if no word")
        .def_readonly("meaning", &setting::meaning, "a sentence")
        .def("__repr__", [](const setting& self) { return self.name; });
    m.def("equalizer_settings",
          &settings_by_name<equalizer_settings>,
          "The equalizer's settings: a setting for each name.");

    py::class_<loss_traits>(m, "loss_traits", "What a loss needs besides decisions.")
        .def_property_readonly("augments", &loss_traits::augments, "noise, sigma")
        .def_property_readonly(
            "adversarial", &loss_traits::adversarial, "a perturbation, epsilon and xi")
        .def_property_readonly("supervised", &loss_traits::supervised, "known labels")
        .def_property_readonly(
            "perturbs", &loss_traits::perturbs, "one of the first two");
    py::dict losses;
    for (const auto& row : words(loss_kind{}))
        losses[row.name] = row;
    m.attr("losses") = losses;
    m.attr("noises") = names_of<noise_kind>();

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
            "The next float32 (count,); unused ones of the last 128 are thrown away.");

    m.def(
        "loss_gradient",
        [](const network& net,
           const py::array_t<float>& features,
           const floats& noise,
           const std::optional<labels_array>& labels,
           const std::optional<
               py::array_t<float, py::array::c_style | py::array::forcecast>>&
               error_probabilities,
           const std::optional<labels_array>& known,
           const py::kwargs& given) {
            const auto view = view_of(features, net.inputs());
            if (error_probabilities &&
                static_cast<std::size_t>(error_probabilities->size()) != view.count)
                refuse("number of error_probabilities",
                       error_probabilities->size(),
                       std::to_string(view.count));
            const auto settings = settings_from<loss_settings>(given);
            loss_settings::visit(settings, setting_checks{});
            std::vector<float> gradient(net.parameters().size());
            given_noise drawn(noise);
            const auto value =
                loss_gradient(net, label_parts{}, noise_kind::full)
                    .compute(net,
                             view,
                             labels_for(labels,
                                        view.count,
                                        net.outputs(),
                                        !row(settings.loss).supervised()),
                             error_probabilities ? error_probabilities->data() : nullptr,
                             labels_for(known, view.count, net.outputs(), false),
                             settings,
                             drawn,
                             gradient);
            return py::make_tuple(value.loss, floats(gradient.size(), gradient.data()));
        },
        py::arg("network"),
        py::arg("features"),
        py::arg("noise"),
        py::arg("labels") = py::none(),
        py::arg("error_probabilities") = py::none(),
        py::arg("known") = py::none(),
        ("Loss and its gradient (P,) with the noise given: float32 (uses, N, D). "
         "error_probabilities, float32 (N,): of the labels, for the pseudo-label refined; NaN: as "
         "the posteriors say. known, uint8 (N,): labels that are certain, 255 elsewhere. With the "
         "loss supervised, labels may be 255 as well.\n\n"
         "Settings, by their names, none automatic that the loss needs:" +
         settings_doc<loss_settings>())
            .c_str());

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
                training_settings settings;
                settings.loss = value_of<loss_kind>("loss", loss);
                settings.pseudo_label = pseudo_label_kind::clean;
                settings.balance = 0;
                settings.learning_rate = settings.sigma = settings.epsilon = 0.1f;
                trainer(net,
                        label_parts{},
                        settings,
                        value_of<noise_kind>("noise", noise),
                        simd::counting)
                    .step(view);
            }
            return simd::multiplications - before;
        },
        py::arg("network"),
        py::arg("features"),
        py::arg("loss") = "",
        py::arg("noise") = "full",
        R"(How many multiplications deciding float32 features (N, D) one by one takes, or one step of a loss.

Counted while the plain kernels run, N in tiles of 128: matrix products, and scaling of vectors
of features. Softmax, the drawing of noise, and what a step does once per batch, the optimizer
above all, are not counted.)");

    py::class_<trainer>(
        m,
        "trainer",
        ("A network that learns, one batch a step, and nothing else: see learner.\n\n"
         "constellation: as core.constellation takes it; what `balance` balances.\n"
         "noise: 'projected', or 'full', which has the same distribution and is slower.\n"
         "Settings, by their names, none automatic that the loss needs:" +
         settings_doc<training_settings>())
            .c_str())
        .def(py::init([](const network& net,
                         const std::string& noise,
                         const std::optional<py::object>& symbols,
                         const py::kwargs& given) {
                 const auto settings = settings_from<training_settings>(given);
                 const bool balances =
                     settings.balance > 0 && !row(settings.loss).supervised();
                 if (!symbols && balances)
                     refuse("balance", settings.balance, "0 without a constellation");
                 return trainer(net,
                                symbols ? constellation_from(*symbols).parts()
                                        : label_parts{},
                                settings,
                                value_of<noise_kind>("noise", noise));
             }),
             py::arg("network"),
             py::arg("noise") = "projected",
             py::arg("constellation") = py::none())
        .def(
            "step",
            [](trainer& self,
               const py::array_t<float>& features,
               const std::optional<labels_array>& labels) {
                const auto view = view_of(features, self.net().inputs());
                const auto* known =
                    labels_for(labels, view.count, self.net().outputs(), false);
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
