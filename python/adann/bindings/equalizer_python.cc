/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"
#include "settings.h"

#include <gnuradio/adann/equalizer.h>

#include <pybind11/complex.h>
#include <pybind11/numpy.h>

#include <algorithm>
#include <cmath>

namespace py = pybind11;
using namespace gr::adann;

namespace {

// Of what is received, in addition to a model or in place of one.
struct given {
    const py::object& constellation;
    std::optional<unsigned> sps, half_window;
    std::optional<bool> complex;
    std::optional<unsigned> classes;

    bool is_empty() const
    {
        return constellation.is_none() && !sps && !half_window && !complex && !classes;
    }
};

// A rate over another is a float: 2.0 is taken as 2.
std::optional<unsigned> whole(const char* name, const std::optional<double>& value)
{
    if (!value)
        return {};
    if (!(*value >= 0 && *value <= 1e6) || *value != std::floor(*value))
        throw py::value_error(std::string(name) + " is " +
                              std::string(py::str(py::float_(*value))) +
                              ", allowed: a whole number, 0 to 1000000");
    return static_cast<unsigned>(*value);
}

// Refuses what is another than the model's.
void check(const py::object& model, const given& wanted)
{
    const py::module_ core = py::module_::import("gnuradio.adann.core");
    const bool loaded = py::isinstance(model, core.attr("model"));
    if (wanted.is_empty())
        return;
    const py::object it =
        loaded ? model
               : core.attr("load_model")(py::module_::import("os").attr("fspath")(model));
    const std::string named =
        loaded ? "the model" : "the model " + std::string(py::repr(py::str(model)));
    const auto compare = [&](const char* name, const std::optional<unsigned>& value) {
        const auto of_model = it.attr(name).cast<unsigned>();
        if (value && *value != of_model)
            throw py::value_error(std::string(name) + " is " + std::to_string(*value) +
                                  ", allowed: " + std::to_string(of_model) + ", as " +
                                  named + " has it, or None");
    };
    compare("sps", wanted.sps);
    compare("half_window", wanted.half_window);
    if (!wanted.constellation.is_none()) {
        const py::object received = core.attr("constellation")(wanted.constellation);
        const py::object of_model = it.attr("constellation");
        const auto points = [](const py::object& of) { // at any scale
            return of.attr("unit_points").cast<std::vector<std::complex<float>>>();
        };
        const auto own = points(received), others = points(of_model);
        if (!std::equal(
                own.begin(), own.end(), others.begin(), others.end(), [](auto a, auto b) {
                    return std::abs(a - b) < 1e-3f;
                }))
            throw py::value_error(
                "constellation is " + received.attr("name").cast<std::string>() +
                ", allowed: " + of_model.attr("name").cast<std::string>() + ", as " +
                named + " has it, or None");
    }
    const bool is_complex = it.attr("complex").cast<bool>();
    const unsigned size = it.attr("constellation").attr("size").cast<unsigned>();
    if (wanted.complex && *wanted.complex != is_complex)
        throw py::value_error(
            std::string("complex is ") + (is_complex ? "False" : "True") +
            ", allowed: " + (is_complex ? "True" : "False") + ", for " + named +
            " is of " + (is_complex ? "complex" : "float") + " samples");
    if (wanted.classes && *wanted.classes != size)
        throw py::value_error("classes is " + std::to_string(*wanted.classes) +
                              ", allowed: " + std::to_string(size) + ", for " + named +
                              " decides among as many points");
}

// model: a path, or a core.model. That belongs to the other extension module, which has a
// core of its own, so it comes over as the contents of a file.
equalizer::sptr
make(const py::object& model, const given& wanted, const equalizer_settings& settings)
{
    if (py::isinstance<py::str>(model) && py::len(model) == 0) {
        if (wanted.constellation.is_none())
            throw py::value_error(
                "constellation is None, allowed without a model: a name, points, or a "
                "digital.constellation object; or name a model file");
        return equalizer::make_blind(constellation_text(wanted.constellation),
                                     wanted.sps.value_or(2),
                                     wanted.half_window.value_or(5),
                                     wanted.complex.value_or(true),
                                     settings);
    }
    check(model, wanted);
    if (py::isinstance(model, py::module_::import("gnuradio.adann.core").attr("model")))
        return equalizer::make_from_memory(model.attr("to_bytes")().cast<std::string>(),
                                           settings);
    return equalizer::make(system_text(model), settings);
}

} // namespace

void bind_equalizer(py::module& m)
{
    py::class_<ber_estimate>(
        m, "ber_estimate", "A bit error rate that is estimated without labels.")
        .def_readonly("ber", &ber_estimate::ber, "nan: not known")
        .def_readonly("low", &ber_estimate::low, "95 % interval")
        .def_readonly("high", &ber_estimate::high)
        .def_readonly("trustworthy", &ber_estimate::trustworthy)
        .def_readonly("untrusted",
                      &ber_estimate::untrusted,
                      "Why it is not trustworthy, in a few words; empty if it is.")
        .def("__repr__", [](const ber_estimate& one) {
            return py::str("ber_estimate(ber={:.3g}, low={:.3g}, high={:.3g}, "
                           "trustworthy={}, untrusted={!r})")
                .format(one.ber, one.low, one.high, one.trustworthy, one.untrusted);
        });

    py::class_<front_filter_state>(
        m, "front_filter_state", "What the front filter of an equalizer is doing.")
        .def("__repr__",
             [](const front_filter_state& one) {
                 return py::str(
                            "front_filter_state(state={!r}, memory={}, residual={:.3g} "
                            "dB, frequency={:.3g}, {} taps)")
                     .format(one.state,
                             one.memory,
                             one.residual,
                             one.frequency,
                             one.taps.size());
             })
        .def_property_readonly(
            "taps",
            [](const front_filter_state& state) {
                return py::array_t<std::complex<float>>(state.taps.size(),
                                                        state.taps.data());
            },
            "complex64 (taps,), the earliest sample's first; empty without a filter")
        .def_readonly(
            "state",
            &front_filter_state::state,
            "following, doubtful (after a loss), lost, or trained (in a burst).")
        .def_readonly("memory",
                      &front_filter_state::memory,
                      "Forgetting time constant in symbols; 0: the identity.")
        .def_readonly(
            "residual",
            &front_filter_state::residual,
            "dB: residual of the filtered samples relative to the expected waveform; nan "
            "without a filter.")
        .def_readonly("resets",
                      &front_filter_state::resets,
                      "Times that the taps started over, or from a hypothesis.")
        .def_readonly("slips",
                      &front_filter_state::slips,
                      "Cycle slips of the carrier that were detected and undone.")
        .def_readonly("frequency",
                      &front_filter_state::frequency,
                      "Of the carrier that is removed, cycles per symbol.")
        .def_readonly(
            "offset", &front_filter_state::offset, "That is added to float samples.")
        .def_readonly(
            "image",
            &front_filter_state::image,
            "The image that an I/Q imbalance adds to complex samples, and that is "
            "removed, relative to them.")
        .def_readonly("leakage",
                      &front_filter_state::leakage,
                      "A constant in complex samples that is removed.")
        .def_readonly("echo_delay",
                      &front_filter_state::echo_delay,
                      "Of the strongest echo beyond the taps, symbols; 0: none.")
        .def_readonly("echo", &front_filter_state::echo, "Its amplitude.")
        .def_readonly("tone_frequency",
                      &front_filter_state::tone_frequency,
                      "Of the strongest tone that is removed, cycles per symbol.")
        .def_readonly("tone", &front_filter_state::tone, "Its amplitude; 0: none.")
        .def_readonly(
            "level",
            &front_filter_state::level,
            "Amplitude of the samples over the model's, where it is corrected; else 1.");

    py::class_<equalizer, gr::block, gr::basic_block, equalizer::sptr>(
        m,
        "equalizer",
        (std::string(
             R"(Neural-network equalizer that re-trains itself on the signal it receives.

Input: samples as the model says (sample i*sps the middle of symbol i, zero mean, unit
power), or feature vectors; optionally known labels at input 1, 255 where not known; optionally, at input 2,
a priori ratios ln(P(1)/P(0)) of each symbol's bits (log2(M) floats), see below.
Outputs: labels (byte); optionally their posteriors (M floats), the soft symbol (as received, with its
noise; without an expected waveform the posterior mean), and the bit error rate estimated without labels
(float), one value per batch. Message ports: status (a dictionary per step, live at most 20 a second, and
per change of state), control (freeze, resume, reset, (freeze . bool), (front_filter . bool),
(learning_rate . x), (sigma . x), (epsilon . x), (loss . name), (save . path), (load . path), or a
dictionary of these; a file that does not fit is refused with a warning, and changes nothing).

model: a core.model, or the path of a model file or of a checkpoint, from which the equalizer
  continues; "": it starts without a model, see below
constellation, sps, half_window, complex: of the samples, without a model; a model has them
  itself, and others than the model's are refused. Constellations as core.constellation takes
  them; windows of at most 512 samples; default without a model: 2, 5, complex
classes: how many posteriors are expected of a model; another number is refused
Settings, by their names:)") +
         settings_doc<equalizer_settings>() + R"(

Known symbols, at input 1 or in the patterns known_symbols, replace decisions where front filter and
network learn, with every loss. They undo a rotation, or a delay of up to four symbols. With the loss
'supervised' the network learns from these only. Labels come out as decided, known or not.

A priori ratios at input 2 are what a decoder knows of the bits, its extrinsic output, after an earlier pass
over the same samples; 0 where nothing is known. Labels and posteriors go by them, network and front filter
do not: these adapt as in the earlier pass. Ratios count as +-20 at most, NaN as 0. Input 1 has 255 then, but
for known symbols, and output 1 has to be connected. `soft_bits` makes extrinsic ratios of these posteriors.

A training sequence, which each burst begins with, needs a model with an expected waveform. From the
sequence the front filter's taps, the carrier's phase and its frequency, up to 1/32 cycle per symbol, are
found at once; 64 symbols are enough. If it is not where the tag is, nothing changes. Until the first
burst, and between bursts unless after_burst is 'keep', nothing is learnt.

Without a model a slicer decides 4096 symbols, then a linear equalizer that was fitted to them blindly,
after a front filter that follows carrier and channel. From 32768 symbols on a network decides that was
trained on those decisions, or the linear equalizer where its residual is smaller. Symbols have to be
random, and their carrier within 0.0125 cycles per symbol; without a front filter recovered. Labels are
right up to a symmetry of the constellation and a delay by whole symbols. Each stage is a status event, 'start'. If the file `checkpoint` exists, the equalizer continues from it.

Raises ValueError naming the parameter that is out of range, core.ModelFileError (a
ValueError) if the model file cannot be read.)")
            .c_str())
        .def(py::init([](const py::object& model,
                         const py::object& symbols,
                         const std::optional<double>& sps,
                         const std::optional<double>& half_window,
                         const std::optional<bool>& complex,
                         const std::optional<unsigned>& classes,
                         const py::kwargs& settings) {
                 return make(model,
                             { symbols,
                               whole("sps", sps),
                               whole("half_window", half_window),
                               complex,
                               classes },
                             settings_from<equalizer_settings>(settings));
             }),
             py::arg("model") = "",
             py::arg("constellation") = py::none(),
             py::arg("sps") = py::none(),
             py::arg("half_window") = py::none(),
             py::arg("complex") = py::none(),
             py::arg("classes") = py::none())
        .def("set_learning_rate", &equalizer::set_learning_rate, py::arg("learning_rate"))
        .def("set_sigma", &equalizer::set_sigma, py::arg("sigma"))
        .def("set_epsilon", &equalizer::set_epsilon, py::arg("epsilon"))
        .def("set_loss",
             &equalizer::set_loss,
             py::arg("loss"),
             "Learns by another loss. To or from 'supervised' is refused.")
        .def("set_frozen",
             &equalizer::set_frozen,
             py::arg("frozen"),
             "Stops (True) or resumes learning; what was learnt stays in use.")
        .def(
            "set_front_filter",
            &equalizer::set_front_filter,
            py::arg("follows"),
            "Has the front filter follow (True, as at first), or pass samples unchanged.")
        .def("steps", &equalizer::steps, "Batches that the adapter has taken.")
        .def("updates", &equalizer::updates, "Batches that changed the weights.")
        .def("rejected",
             &equalizer::rejected,
             "Batches that did not: not usable, or in a pause.")
        .def("dropped", &equalizer::dropped, "Batches that found the adapter busy.")
        .def("queued", &equalizer::queued, "Batches that wait for the adapter now.")
        .def("rollbacks",
             &equalizer::rollbacks,
             "Times that training started over from better weights.")
        .def("estimated_ber",
             &equalizer::estimated_ber,
             "Of the labels that come out, a ber_estimate; nan without guard.")
        .def("estimated_bit_error_rate",
             &equalizer::estimated_bit_error_rate,
             "The same, its rate alone; nan: not known.")
        .def(
            "network",
            &equalizer::network,
            "Which one decides: offline, adaptive, last good; linear until a start without a model has found one.")
        .def(
            "modulation_error_ratio",
            &equalizer::modulation_error_ratio,
            "dB: power of the expected waveform to that of the residual of the filtered samples; nan "
            "without a front filter.")
        .def("bursts",
             &equalizer::bursts,
             "Bursts whose training sequence the front filter took its taps from.")
        .def(
            "known_position",
            &equalizer::known_position,
            "Symbol, below the longest period of known_symbols and counted from the stream's "
            "first, at which their frames start; -1: not found.")
        .def(
            "packet_ber",
            &equalizer::packet_ber,
            "Bit error rate of packets that came at the message port known, before their decoder; "
            "nan before the first one.")
        .def("frequency",
             &equalizer::frequency,
             "Of the carrier that the front filter removes, cycles per symbol.")
        .def(
            "front_filter",
            &equalizer::front_filter,
            "What the front filter is doing, a front_filter_state, after the latest batch.");
}
