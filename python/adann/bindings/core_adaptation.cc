/*
 * gnuradio.adann.core: the learner.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "arrays.h"
#include "core_python.h"

#include "core/adaptation/learner.h"
#include "core/adaptation/replay.h"
#include "core/network/decider.h"

#include <pybind11/stl.h>

using namespace gr::adann::core;

namespace {

py::dict dictionary(const learner_event& event)
{
    return py::dict(py::arg("event") = name(event.what),
                    py::arg("detail") = event.detail,
                    py::arg("step") = event.steps,
                    py::arg("loss") = event.step.loss,
                    py::arg("confidence") = event.step.confidence,
                    py::arg("network") = guard::name(event.in_use));
}

// What the network in use decides, where nobody tells the labels.
std::vector<std::uint8_t> decided(const learner& by, const feature_view& view)
{
    std::vector<std::uint8_t> labels(view.count);
    decider(by.in_use()).decide(prepared_network(by.in_use()), view, labels.data());
    return labels;
}

} // namespace

void bind_adaptation(py::module& m)
{
    m.attr("modes") = adaptation_settings::modes();

    py::class_<learner>(
        m,
        "learner",
        R"(What the equalizer learns, and from when on it uses it, without a flowgraph: Algorithm 2.

Signal check, guard and average as in the equalizer; the settings are the equalizer's. A model
that is a checkpoint is gone on from. Raises ValueError naming the setting that is out of range.)")
        .def(py::init([](const model& initial,
                         std::size_t batch,
                         std::size_t average,
                         const std::string& loss,
                         const std::string& pseudo_label,
                         const std::string& optimizer,
                         float learning_rate,
                         float sigma,
                         float epsilon,
                         float xi,
                         float balance,
                         bool guard,
                         std::uint64_t seed) {
                 learner_settings settings;
                 settings.batch = batch;
                 settings.average = average;
                 settings.guard = guard;
                 settings.training.optimizer = optimizer;
                 settings.training.learning_rate = learning_rate;
                 settings.training.seed = seed;
                 settings.training.loss.loss = loss;
                 settings.training.loss.pseudo_label = pseudo_label;
                 settings.training.loss.sigma = sigma;
                 settings.training.loss.epsilon = epsilon;
                 settings.training.loss.xi = xi;
                 settings.training.loss.balance = balance;
                 return learner(initial, settings);
             }),
             py::arg("model"),
             py::kw_only(),
             py::arg("batch") = 512,
             py::arg("average") = 10000,
             py::arg("loss") = "aug_vat",
             py::arg("pseudo_label") = "doubted",
             py::arg("optimizer") = "adam",
             py::arg("learning_rate") = -1,
             py::arg("sigma") = -1,
             py::arg("epsilon") = -1,
             py::arg("xi") = 0.1f,
             py::arg("balance") = 1,
             py::arg("guard") = true,
             py::arg("seed") = 0)
        .def(
            "step",
            [](learner& self,
               const py::array_t<float>& features,
               const std::optional<labels_array>& labels) {
                const auto view = view_of(features, self.in_use().inputs());
                const auto* given = labels_for(labels, view.count);
                if (!given && self.settings().training.loss.loss == "supervised")
                    refuse("labels", "missing", "known ones for the loss 'supervised'");
                std::vector<learner_event> events;
                {
                    const py::gil_scoped_release unlocked;
                    events = self.step(view, given ? given : decided(self, view).data());
                }
                py::list told;
                for (const auto& event : events)
                    told.append(dictionary(event));
                return told;
            },
            py::arg("features"),
            py::arg("labels") = py::none(),
            R"(Learns from one batch: float32 (N, D), N from 1 to batch.

labels: uint8 (N,), for the loss 'supervised' the known ones, else as learner.network decides them,
which is done here if they are not given. Returns a dictionary for each event ("step", "paused",
"resumed", "rollback"): event, detail, step, loss, confidence (both of "step" only) and network,
whose weights decide. None while a pause goes on.)")
        .def(
            "reset",
            [](learner& self) { self.reset(); },
            "Goes back to the model's own weights and an empty optimizer.")
        .def_property_readonly("network",
                               &learner::in_use,
                               py::return_value_policy::copy,
                               "A copy of the network in use.")
        .def_property_readonly("steps",
                               [](const learner& self) { return self.status().steps; })
        .def_property_readonly("updates",
                               [](const learner& self) { return self.status().updates; })
        .def_property_readonly(
            "rollbacks", [](const learner& self) { return self.status().rollbacks; })
        .def_property_readonly("badness",
                               &learner::badness,
                               "The error rates, estimated and weighted, that the guard "
                               "compares: of the networks offline, adaptive, last good.");

    m.def(
        "replay",
        [](const std::string& path) {
            std::vector<replayed_event> told;
            {
                const py::gil_scoped_release unlocked;
                told = replay(path);
            }
            py::list events;
            for (const auto& [event, badness] : told) {
                py::dict each = dictionary(event);
                each["badness"] = badness;
                events.append(each);
            }
            return events;
        },
        py::arg("path"),
        R"(Learns once more from the batches that a rollback left in a file.

Returns a dictionary for each event, as learner.step() does, with learner.badness after the step.
Raises ModelFileError.)");
}
