/*
 * gnuradio.adann.core: the filter before the network.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "arrays.h"
#include "core_python.h"

#include "core/network/decider.h"
#include "core/tracking/burst_equalizer.h"
#include "core/tracking/front_filter.h"

#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <complex>

using namespace gr::adann::core;

namespace {

// A front filter and the network behind it, as an adaptive_equalizer has them.
class tracked_network
{
public:
    tracked_network(const model& behind, const front_filter_settings& settings)
        : d_net(behind.net),
          d_window(behind.window),
          d_filter(behind, settings),
          d_prepared(d_net, d_window.stride()),
          d_decider(d_net)
    {
    }

    py::tuple decide(const py::array_t<float>& windows,
                     const std::optional<labels_array>& known)
    {
        feature_view view = view_of(windows, d_filter.dimension());
        if (view.stride != d_window.stride())
            refuse("windows' stride", view.stride, std::to_string(d_window.stride()));
        const auto* truth = labels_for(known, view.count, d_net.outputs(), false);
        labels_array labels(view.count);
        floats filtered({ view.count, d_window.stride() });
        for (std::size_t done = 0; done < view.count;) {
            const std::size_t n = std::min(view.count - done, d_filter.left());
            const feature_view seen = d_filter.filter(view.from(done, n));
            auto* const decided = labels.mutable_data() + done;
            d_decider.decide(d_prepared, seen, decided, nullptr, d_position);
            const std::size_t own = (d_window.samples_before() - d_window.sps() / 2) *
                                    d_window.floats_per_sample();
            std::copy_n(seen.data + own,
                        n * view.stride,
                        filtered.mutable_data() + done * view.stride);
            d_filter.decided(
                decided, truth ? truth + done : nullptr, n, d_decider, d_prepared);
            done += n;
            d_position += n;
        }
        return py::make_tuple(labels, filtered);
    }

    void train(const labels_array& labels)
    {
        d_filter.train(labels_for(labels, labels.size(), d_net.outputs()), labels.size());
    }

    py::array_t<std::complex<float>> taps() const
    {
        py::array_t<std::complex<float>> all(d_filter.taps());
        const auto used = d_filter.in_use();
        for (std::size_t k = 0; k < d_filter.taps(); ++k)
            all.mutable_at(k) = { used.re[k], used.im ? used.im[k] : 0 };
        return all;
    }

    front_filter& filter() { return d_filter; }

private:
    const network d_net;
    const window_geometry d_window;
    front_filter d_filter;
    const prepared_network d_prepared;
    decider d_decider;
    std::size_t d_position = 0;
};

using complex_floats =
    py::array_t<std::complex<float>, py::array::c_style | py::array::forcecast>;

py::tuple equalize_burst(burst_equalizer& self,
                         const complex_floats& samples,
                         const labels_array& known)
{
    const auto n = static_cast<std::size_t>(known.size());
    if (known.ndim() != 1 || n == 0)
        refuse("known's size", n, "(N,), one label of each symbol, 255 where not known");
    const auto* told = labels_for(known, n, self.classes(), false);
    if (samples.ndim() != 1 ||
        static_cast<std::size_t>(samples.size()) != self.samples(n))
        refuse("samples' size", samples.size(), std::to_string(self.samples(n)));
    {
        py::gil_scoped_release release;
        self.equalize(samples.data(), told, n);
    }
    labels_array labels(n);
    std::copy_n(self.labels(), n, labels.mutable_data());
    py::array_t<std::complex<float>> soft(n);
    std::copy_n(self.soft(), n, soft.mutable_data());
    floats posteriors({ n, self.classes() });
    std::copy_n(self.posteriors(), n * self.classes(), posteriors.mutable_data());
    return py::make_tuple(labels, soft, posteriors);
}

} // namespace

void bind_tracking(py::module& m)
{
    py::class_<tracked_network>(
        m, "tracked_network", "A network and the filter that follows the signal for it.")
        .def(py::init([](const model& behind,
                         unsigned length,
                         std::vector<std::size_t> memories) {
                 front_filter_settings settings;
                 settings.length = length;
                 if (!memories.empty())
                     settings.memories = memories;
                 return std::make_unique<tracked_network>(behind, settings);
             }),
             py::arg("model"),
             py::arg("length") = front_filter_settings{}.length,
             py::arg("memories") = std::vector<std::size_t>{})
        .def_property_readonly(
            "dimension",
            [](tracked_network& self) { return self.filter().dimension(); },
            "Floats of a window: the network's, and the filter's reach on both sides.")
        .def(
            "decide",
            &tracked_network::decide,
            py::arg("windows"),
            py::arg("known") = py::none(),
            "Labels (N,) and the symbols' filtered samples (N, stride) of float32 windows "
            "(N, dimension) of a stream; it learns from the known "
            "labels, if given, 255 where one is not.")
        .def("train",
             &tracked_network::train,
             py::arg("labels"),
             "The next symbols are these: they set taps and carrier at once.")
        .def_property_readonly("taps", &tracked_network::taps, "complex64 (taps,)")
        .def_property_readonly(
            "memory", [](tracked_network& self) { return self.filter().status().memory; })
        .def_property_readonly(
            "residual",
            [](tracked_network& self) { return self.filter().status().residual; })
        .def_property_readonly(
            "resets", [](tracked_network& self) { return self.filter().status().resets; })
        .def_property_readonly(
            "slips", [](tracked_network& self) { return self.filter().status().slips; })
        .def_property_readonly(
            "frequency",
            [](tracked_network& self) { return self.filter().status().frequency; })
        .def_property_readonly(
            "bursts", [](tracked_network& self) { return self.filter().status().bursts; })
        .def("reset", [](tracked_network& self) { self.filter().reset(); });

    py::class_<burst_equalizer>(
        m,
        "burst_equalizer",
        R"(Equalizes bursts as a whole, outwards from symbols that are known.

constellation: a name or points. sps: samples of a symbol, 1 to 16. complex: whether samples
are; real ones are given as complex ones, too. length: symbols that its taps
span, 1 to 32. carrier: largest offset in cycles a symbol, 0 to 0.25. most: symbols of a burst.
Raises ValueError for another.)")
        .def(py::init([](const py::object& constellation,
                         std::size_t sps,
                         bool complex,
                         unsigned length,
                         float carrier,
                         std::size_t most) {
                 return std::make_unique<burst_equalizer>(
                     constellation_from(constellation),
                     sps,
                     complex,
                     burst_settings{ length, carrier, most });
             }),
             py::arg("constellation"),
             py::arg("sps") = 2,
             py::arg("complex") = true,
             py::arg("length") = burst_settings{}.length,
             py::arg("carrier") = burst_settings{}.carrier,
             py::arg("most") = burst_settings{}.most)
        .def_property_readonly(
            "reach",
            &burst_equalizer::reach,
            "Samples that it takes before the first symbol's and after the last one's.")
        .def(
            "equalize",
            &equalize_burst,
            py::arg("samples"),
            py::arg("known"),
            "Labels uint8 (N,), estimates complex64 (N,) of unit power and posteriors float32 "
            "(N, M) of a burst: samples complex64 ((N - 1) sps + 1 + 2 reach,), known uint8 "
            "(N,), 255 where not known. Raises ValueError for sizes that do not fit, and "
            "where fewer than 10 known symbols lie within 1024.")
        .def_property_readonly("noise", &burst_equalizer::noise, "Of the estimates.")
        .def_property_readonly(
            "frequency", &burst_equalizer::frequency, "Of the carrier, cycles a symbol.")
        .def_property_readonly("memory",
                               &burst_equalizer::memory,
                               "Symbols over which taps are averaged; inf for all.");
}
