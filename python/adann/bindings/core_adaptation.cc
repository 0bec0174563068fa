/*
 * gnuradio.adann.core: the learner.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "arrays.h"
#include "core_python.h"
#include "settings.h"

#include "core/adaptation/blind_start.h"
#include "core/adaptation/learner.h"
#include "core/adaptation/replay.h"
#include "core/network/decider.h"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

using namespace gr::adann;
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

// What the network in use decides, where no labels are given.
std::vector<std::uint8_t> decided(const learner& by, const feature_view& view)
{
    std::vector<std::uint8_t> labels(view.count);
    decider(by.in_use()).decide(prepared_network(by.in_use()), view, labels.data());
    return labels;
}

} // namespace

void bind_adaptation(py::module& m)
{
    m.attr("most_blind_samples") = blind_start::most_samples;

    py::class_<learner>(
        m,
        "learner",
        (std::string(
             R"(What the equalizer learns, and from when on it uses it, without a flowgraph: Algorithm 2.

Signal check, guard and average as in the equalizer. A model that is a checkpoint is gone on from.

Settings, by their names:)") +
         settings_doc<learner_settings>() + R"(

Raises ValueError naming the setting that is out of range.)")
            .c_str())
        .def(py::init([](const model& initial, const py::kwargs& settings) {
                 return learner(initial, settings_from<learner_settings>(settings));
             }),
             py::arg("model"))
        .def(
            "step",
            [](learner& self,
               const py::array_t<float>& features,
               const std::optional<labels_array>& labels,
               const std::optional<labels_array>& known) {
                const auto view = view_of(features, self.in_use().inputs());
                const auto* given =
                    labels_for(labels, view.count, self.in_use().outputs());
                const auto* truth =
                    labels_for(known, view.count, self.in_use().outputs(), false);
                if (row(self.settings().loss).supervised()) {
                    truth = truth ? truth : given;
                    if (!truth)
                        refuse(
                            "labels", "missing", "known ones for the loss 'supervised'");
                }
                std::vector<learner_event> events;
                {
                    const py::gil_scoped_release unlocked;
                    events = self.step(
                        view, given ? given : decided(self, view).data(), 1, truth);
                }
                py::list told;
                for (const auto& event : events)
                    told.append(dictionary(event));
                return told;
            },
            py::arg("features"),
            py::arg("labels") = py::none(),
            py::arg("known") = py::none(),
            R"(Learns from one batch: float32 (N, D), N from 1 to batch.

labels: uint8 (N,), for the loss 'supervised' the known ones, else as learner.network decides them,
which is done here if they are not given. known: uint8 (N,), what symbols are known to be, 255 where
not: the loss 'supervised' learns these only, the others learn them as the truth. Returns a dictionary for each event ("step", "paused",
"resumed", "rollback"): event, detail, step, loss, confidence (both of "step" only) and network,
whose weights decide. None while a pause goes on, or where 'supervised' has no known label.)")
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
        .def_property_readonly("guard_estimates",
                               &learner::guard_estimates,
                               "The symbol error rates that the guard estimates: of the "
                               "networks offline, adaptive, last good.");

    m.def(
        "replay",
        [](const std::filesystem::path& path) {
            std::vector<replayed_event> told;
            {
                const py::gil_scoped_release unlocked;
                told = replay(load_model(path));
            }
            py::list events;
            for (const auto& [event, guard_estimates] : told) {
                py::dict each = dictionary(event);
                each["guard_estimates"] = guard_estimates;
                events.append(each);
            }
            return events;
        },
        py::arg("path"),
        R"(Learns once more from the batches that a rollback wrote to a file.

Returns a dictionary for each event, as learner.step() does, with learner.guard_estimates after the step.
Raises ModelFileError.)");
}
