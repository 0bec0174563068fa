/*
 * gnuradio.adann.core: the judge of decisions.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "arrays.h"
#include "core_python.h"

#include "core/adaptation/label_refiner.h"
#include "core/adaptation/waveform_judge.h"
#include "core/network/model.h"

#include <gnuradio/adann/equalizer_settings.h>

#include <algorithm>
#include <limits>

using namespace gr::adann::core;

namespace {

// A judge, and what numpy's arrays are checked against.
struct judge : waveform_judge {
    judge(const expected_waveform& trained, unsigned half_window, std::size_t symbols)
        : judge(
              trained,
              { static_cast<unsigned>(trained.sps()), half_window, trained.is_complex() },
              symbols)
    {
    }
    judge(const expected_waveform& trained,
          const window_geometry& window,
          std::size_t symbols)
        : waveform_judge(trained, window, symbols),
          dimension(window.dimension()),
          batch(symbols),
          classes(trained.classes())
    {
    }
    const std::uint8_t* checked(const labels_array& labels) const
    {
        return labels_for(labels, batch, classes);
    }
    std::size_t dimension, batch, classes;
};

// As the equalizer's guard does.
py::tuple refine_labels(const model& of,
                        const py::array_t<float>& features,
                        const labels_array& labels,
                        std::size_t batch)
{
    if (!of.waveform)
        refuse("model.waveform", "None", "one, as `adann train` finds it");
    const auto view = view_of(features, of.window.dimension());
    const std::uint8_t* given = labels_for(labels, view.count, of.symbols.size());
    labels_array refined(view.count, given);
    py::array_t<float> error_probabilities(view.count);
    float* const error_probability = error_probabilities.mutable_data();
    std::fill_n(error_probability, view.count, std::numeric_limits<float>::quiet_NaN());
    label_refiner refiner(of.symbols, *of.waveform, batch);
    const auto pass = [&] {
        std::copy_n(given, view.count, refined.mutable_data());
        waveform_judge judge(*of.waveform, of.window, batch);
        for (std::size_t first = 0; first + batch <= view.count; first += batch) {
            if (judge.look(view.from(first, batch), given + first))
                refiner.reset();
            if (!judge.settled())
                continue;
            refiner.refine(judge, refined.mutable_data() + first);
            judge.follow(refined.data() + first);
            std::copy(refiner.error_probabilities().begin(),
                      refiner.error_probabilities().end(),
                      error_probability + first);
        }
    };
    pass(); // to learn the noise
    pass();
    return py::make_tuple(refined, error_probabilities);
}

} // namespace

void bind_judge(py::module& m)
{
    py::class_<judge>(
        m,
        "waveform_judge",
        R"(Compares decisions of the same samples where they differ: which explain them better?

waveform: core.expected_waveform of the signal as it was learnt; half_window: of the windows
batch: symbols looked at together, at least 4 times the waveform's reach plus 28

Which have the smaller squared difference to the expected waveform, sent through a filter that
follows the present signal. Raises ValueError naming the parameter that is out of range.)")
        .def(py::init<const expected_waveform&, unsigned, std::size_t>(),
             py::arg("waveform"),
             py::arg("half_window"),
             py::arg("batch") = gr::adann::learner_settings{}.batch)
        .def(
            "look",
            [](judge& self,
               const py::array_t<float>& features,
               const labels_array& labels) {
                const auto view = view_of(features, self.dimension);
                if (view.count != self.batch)
                    refuse("features' count", view.count, std::to_string(self.batch));
                self.look(view, self.checked(labels));
            },
            py::arg("features"),
            py::arg("labels"),
            "Takes a batch of windows, float32 (batch, D), and brings the filter to it, as "
            "by labels uint8 (batch,).")
        .def(
            "compare",
            [](judge& self, const labels_array& first, const labels_array& second) {
                const label_noise equal_noise(self.classes);
                const auto votes =
                    self.compare(self.checked(first), self.checked(second), equal_noise);
                return py::make_tuple(votes.first, votes.second);
            },
            py::arg("first"),
            py::arg("second"),
            "How often each of two decisions of the batch, uint8 (batch,), has the smaller residual "
            "where they differ: (first, second).")
        .def_property_readonly("noise",
                               &waveform_judge::noise,
                               "The rms residual of a float, over the latest batches.");

    m.def(
        "refine_labels",
        refine_labels,
        py::arg("model"),
        py::arg("features"),
        py::arg("labels"),
        py::arg("batch") = gr::adann::learner_settings{}.batch,
        R"(Labels that explain the samples better, by the expected waveform of a core.model.

features: float32 (n, D), consecutive windows; labels: uint8 (n,), as a network decides them. Each
symbol tries the nearest points, batch by batch, as in the equalizer, with the noise that a first
pass has learnt; the first 2048 symbols, some at the batches' ends and an incomplete batch stay. Returns
the labels, uint8 (n,), and how probably each is wrong by the likelihoods of those tried, float32 (n,), nan
where it stays. Raises ValueError for a model without a waveform and for what does not fit it.)");
}
