/*
 * gnuradio.adann.adann_python: the C++ blocks. Import gnuradio.gr first.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include <gnuradio/adann/equalizer.h>
#include <gnuradio/adann/feature_windower.h>
#include <gnuradio/adann/normalizer.h>

#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace gr::adann;

namespace {

void bind_equalizer(py::module& m)
{
    const equalizer_settings defaults;
    py::class_<equalizer, gr::block, gr::basic_block, equalizer::sptr>(
        m,
        "equalizer",
        "Neural-network equalizer that re-trains itself on the signal it receives.\n\n"
        "Input: samples as the model says (sample i*sps the middle of symbol i, zero "
        "mean, unit\n"
        "power), or feature vectors; for the loss 'supervised' known labels at input 1.\n"
        "Outputs: labels (byte), optionally posteriors (M floats) and the soft symbol.\n"
        "Message ports: status (a dictionary per step), control (freeze, resume, reset,\n"
        "(save . path)).\n\n"
        "model: path of a model file\n"
        "input: 'samples' or 'vectors'\n"
        "mode: 'lockstep' (reproducible), 'live' (never waits) or 'off' (frozen)\n"
        "loss: 'self_training', 'pi_model', 'vat', 'aug_vat' or 'supervised'\n"
        "pseudo_label: 'clean', or 'perturbed' (the paper's Algorithm 2 as printed)\n"
        "batch: symbols of one step, 16 to 2**20\n"
        "optimizer: 'sgd', 'momentum', 'nesterov', 'adagrad', 'rmsprop' or 'adam'\n"
        "learning_rate: 0 to 10; sigma, epsilon: 0 to 10; xi: 1e-6 to 10; seed: of the "
        "noise\n\n"
        "Raises ValueError naming the parameter that is out of range, RuntimeError if "
        "the model\n"
        "file cannot be read.")
        .def(py::init([](const std::string& model,
                         const std::string& input,
                         const std::string& mode,
                         const std::string& loss,
                         const std::string& pseudo_label,
                         std::size_t batch,
                         const std::string& optimizer,
                         float learning_rate,
                         float sigma,
                         float epsilon,
                         float xi,
                         std::uint64_t seed) {
                 return equalizer::make(model,
                                        { input,
                                          mode,
                                          loss,
                                          pseudo_label,
                                          batch,
                                          optimizer,
                                          learning_rate,
                                          sigma,
                                          epsilon,
                                          xi,
                                          seed });
             }),
             py::arg("model"),
             py::arg("input") = defaults.input,
             py::arg("mode") = defaults.mode,
             py::arg("loss") = defaults.loss,
             py::arg("pseudo_label") = defaults.pseudo_label,
             py::arg("batch") = defaults.batch,
             py::arg("optimizer") = defaults.optimizer,
             py::arg("learning_rate") = defaults.learning_rate,
             py::arg("sigma") = defaults.sigma,
             py::arg("epsilon") = defaults.epsilon,
             py::arg("xi") = defaults.xi,
             py::arg("seed") = defaults.seed)
        .def("set_learning_rate", &equalizer::set_learning_rate, py::arg("learning_rate"))
        .def("set_sigma", &equalizer::set_sigma, py::arg("sigma"))
        .def("set_epsilon", &equalizer::set_epsilon, py::arg("epsilon"))
        .def("set_frozen",
             &equalizer::set_frozen,
             py::arg("frozen"),
             "Stops (True) or resumes learning; what was learnt stays in use.")
        .def("steps", &equalizer::steps, "Batches trained on.")
        .def("updates", &equalizer::updates, "Batches that changed the weights.")
        .def("rejected", &equalizer::rejected, "Batches that did not.")
        .def("dropped", &equalizer::dropped, "Batches that found the adapter busy.");
}

} // namespace

PYBIND11_MODULE(adann_python, m)
{
    py::module::import("gnuradio.gr");
    bind_equalizer(m);

    py::class_<feature_windower, gr::block, gr::basic_block, feature_windower::sptr>(
        m,
        "feature_windower",
        "Samples in, one vector of the sps*(2*half_window+1) samples around each symbol "
        "out.\n\n"
        "Sample i*sps is the middle of symbol i; complex samples become interleaved "
        "floats.\n"
        "sps: 1 to 64; half_window: 0 to 255. Raises ValueError for anything else.")
        .def(py::init(&feature_windower::make),
             py::arg("sps") = 4,
             py::arg("half_window") = 5,
             py::arg("complex") = false)
        .def("dimension", &feature_windower::dimension, "Floats of one output vector.");

    py::class_<normalizer, gr::sync_block, gr::block, gr::basic_block, normalizer::sptr>(
        m,
        "normalizer",
        "Zero mean and unit power by running statistics: of all samples so far until "
        "`window`\n"
        "(1024 to 2^30) of them have come, then fading exponentially with that time "
        "constant.\n\n"
        "A sample that is not finite comes out as 0 and never enters the statistics. "
        "What has\n"
        "no power comes out as 0, what follows silence is limited to +-1000. Raises "
        "ValueError\n"
        "for a window out of range.")
        .def(py::init(&normalizer::make),
             py::arg("complex") = false,
             py::arg("window") = 65536)
        .def_static(
            "fixed",
            &normalizer::make_fixed,
            py::arg("mean"),
            py::arg("rms"),
            py::arg("complex") = false,
            "(x - mean) / rms for statistics measured beforehand, see\n"
            "record_statistics(). Raises ValueError unless mean is finite (and real\n"
            "for float samples) and rms is finite and above 0.");
}
