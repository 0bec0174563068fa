/*
 * gnuradio.adann.core: the expected waveform.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "arrays.h"
#include "core_python.h"

#include "core/signal/fit_waveform.h"
#include "core/signal/label_probabilities.h"

#include <pybind11/operators.h>
#include <pybind11/stl.h>

using namespace gr::adann::core;

namespace {

// (symbols, sps) float or complex samples, copied only if they are not as the core takes them.
struct symbol_samples {
    explicit symbol_samples(const py::array& samples)
        : complex(samples.dtype().kind() == 'c')
    {
        if (samples.ndim() != 2)
            refuse("samples' shape",
                   py::str(samples.attr("shape")).cast<std::string>(),
                   "(symbols, sps)");
        if (complex)
            array = py::array_t<std::complex<float>,
                                py::array::c_style | py::array::forcecast>(samples);
        else
            array = floats(samples);
        symbols = samples.shape(0);
        sps = samples.shape(1);
    }
    const float* data() const { return static_cast<const float*>(array.data()); }

    py::array array;
    bool complex;
    std::size_t symbols, sps;
};

// Labels with at least one symbol whose neighbours are among them.
const std::uint8_t* checked(const expected_waveform& waveform, const labels_array& labels)
{
    if (labels.ndim() != 1 ||
        labels.size() <= static_cast<py::ssize_t>(2 * waveform.reach()))
        refuse("labels' shape",
               py::str(labels.attr("shape")).cast<std::string>(),
               "(n,), more than 2*reach = " + std::to_string(2 * waveform.reach()));
    for (py::ssize_t i = 0; i < labels.size(); ++i)
        check_range<std::size_t>("a label", labels.data()[i], 0, waveform.classes() - 1);
    return labels.data() + waveform.reach();
}

py::array expect(const expected_waveform& waveform, const labels_array& labels)
{
    const std::uint8_t* first = checked(waveform, labels);
    const std::size_t count = labels.size() - 2 * waveform.reach();
    floats samples({ count, waveform.stride() });
    float* out = samples.mutable_data();
    {
        const py::gil_scoped_release unlocked;
        waveform.expect(first, count, out);
    }
    if (!waveform.is_complex())
        return samples;
    return samples.attr("view")(py::dtype::of<std::complex<float>>());
}

double residual(const expected_waveform& waveform,
                const py::array& samples,
                const labels_array& labels)
{
    const std::uint8_t* first = checked(waveform, labels);
    const symbol_samples given(samples);
    if (given.complex != waveform.is_complex() || given.sps != waveform.sps() ||
        given.symbols != static_cast<std::size_t>(labels.size()))
        refuse("samples",
               py::str(samples.attr("shape")).cast<std::string>() + " " +
                   py::str(samples.dtype()).cast<std::string>(),
               "(" + std::to_string(labels.size()) + ", " +
                   std::to_string(waveform.sps()) + ") " +
                   (waveform.is_complex() ? "complex" : "float"));
    return waveform.residual(first,
                             given.data() + waveform.reach() * waveform.stride(),
                             labels.size() - 2 * waveform.reach());
}

} // namespace

void bind_waveform(py::module& m)
{
    py::class_<expected_waveform>(
        m,
        "expected_waveform",
        R"(What the samples of a symbol are expected to be, given the labels around it.

Affine in the points of the symbols up to `affine_reach` away, scaled to unit power, plus a
polynomial of that affine part, plus a table of the patterns of the `context` nearest labels.
Symbol i owns the samples from i*sps - sps//2 on.

constellation: core.constellation; sps: samples of a symbol, 1 to 64; complex: whether they are
affine_reach: 0 to 64 symbols on each side
context: labels of a pattern, 0 to 2*affine_reach + 1, and at most 65536 patterns
memory: taps on each side of the polynomial's filters, one every quarter of a symbol or every
sample, up to two symbols; 0: no polynomial

All zero until set(). Raises ValueError naming the parameter that is out of range.)")
        .def(py::init<const constellation&,
                      unsigned,
                      bool,
                      unsigned,
                      unsigned,
                      unsigned>(),
             py::arg("constellation"),
             py::arg("sps"),
             py::arg("complex"),
             py::arg("affine_reach"),
             py::arg("context"),
             py::arg("memory") = 0)
        .def_static(
            "fit",
            [](const constellation& symbols,
               const py::array& samples,
               const labels_array& labels,
               unsigned most_reach) {
                const symbol_samples given(samples);
                const std::uint8_t* known =
                    labels_for(labels, given.symbols, symbols.size());
                const py::gil_scoped_release unlocked;
                return fit_waveform(symbols,
                                    given.sps,
                                    given.complex,
                                    given.data(),
                                    known,
                                    given.symbols,
                                    most_reach);
            },
            py::arg("constellation"),
            py::arg("samples"),
            py::arg("labels"),
            py::arg("most_reach") = 12,
            R"(The expected waveform of consecutive labelled symbols.

samples: float32 or complex64 (n, sps), row i those of symbol i; labels: uint8 (n,)
most_reach: the longest affine_reach that is tried; the shortest within 1 % of the best error is
taken, and so it is of the polynomial's memory
Context and shrinkage of the table are those of the least leave-one-out error. Symbols with a
sample that is not usable are left out. Raises ValueError for too few symbols.)")
        .def(
            "expect",
            &expect,
            py::arg("labels"),
            "(n - 2*reach, sps): the waveform of all but the first and last `reach` of the "
            "labels uint8 (n,).")
        .def(
            "residual",
            &residual,
            py::arg("samples"),
            py::arg("labels"),
            "Mean squared difference of a float, real and imaginary part separately, to what is "
            "expected: samples (n, sps), labels (n,).")
        .def(
            "set",
            &expected_waveform::set,
            py::arg("affine"),
            py::arg("table"),
            py::arg("noise"),
            py::arg("noise_correlation") = std::vector<float>{},
            py::arg("polynomial") = std::vector<float>{},
            "Takes flat float32 arrays as `affine`, `table`, `noise_correlation` and "
            "`polynomial` are, row by row; without the latter two the noise is white and the "
            "polynomial zero.")
        .def(
            "learn_probabilities",
            [](expected_waveform& w, const labels_array& labels) {
                const auto n = static_cast<std::size_t>(labels.size());
                check_range<std::size_t>("labels", n, 1, std::size_t{ 1 } << 40);
                w.set_probabilities(label_probabilities(
                    labels_for(labels, n, w.classes()), n, w.classes()));
            },
            py::arg("labels"),
            "Takes the frequencies of labels uint8 (n,) for `probabilities`, unless labels that are "
            "equally probable may have them by chance. Raises ValueError for labels that are all the "
            "same.")
        .def_property_readonly(
            "probabilities",
            [](const expected_waveform& w) {
                return floats(static_cast<py::ssize_t>(w.classes()),
                              w.probabilities().data());
            },
            "float32 (M,): how often each label is sent; all equal but for probabilistic shaping.")
        .def_property_readonly("sps", &expected_waveform::sps)
        .def_property_readonly("complex", &expected_waveform::is_complex)
        .def_property_readonly("affine_reach", &expected_waveform::affine_reach)
        .def_property_readonly("reach",
                               &expected_waveform::reach,
                               "Symbols on each side that it depends on, all parts.")
        .def_property_readonly("context", &expected_waveform::context)
        .def_property_readonly(
            "noise",
            &expected_waveform::noise,
            "The rms residual of a float, of symbols that it was not learnt from.")
        .def_property_readonly(
            "noise_correlation",
            [](const expected_waveform& w) {
                const std::size_t planes = 1 + w.is_complex();
                const auto& all = w.noise_correlation();
                return floats({ all.size() / planes, planes }, all.data());
            },
            "float32 (2 r + 1, 2 for complex samples, else 1): of that noise v and the samples "
            "x that it is part of, E[conj(x[i + d]) v[i]], at lags d from -r to r = 8 sps "
            "samples.")
        .def_property_readonly(
            "affine",
            [](const expected_waveform& w) {
                return floats({ w.rows(), w.stride() }, w.affine().data());
            },
            "float32 (rows, floats of a symbol): the offset; then what the points of the "
            "symbols i - affine_reach to i + affine_reach, or their real and imaginary "
            "parts, are multiplied with.")
        .def_property_readonly(
            "memory", [](const expected_waveform& w) { return w.polynomial().memory(); })
        .def_property_readonly(
            "polynomial",
            [](const expected_waveform& w) {
                const auto& p = w.polynomial();
                return floats({ p.memory() ? p.planes() : 0, p.unknowns() },
                              p.coefficients().data());
            },
            "float32 (planes, 1 + monomials*(2*memory + 1)), of the affine part's samples x: "
            "what goes into the real, and then the imaginary part; the offset, then the taps, "
            "the earliest sample's first, of x, x^2, x^3, of complex x = I + jQ of I, Q, I^2, "
            "IQ, Q^2, I^3, I^2 Q, I Q^2, Q^3, |x|^4 I, |x|^4 Q.")
        .def_property_readonly(
            "table",
            [](const expected_waveform& w) {
                return floats({ w.patterns(), w.stride() }, w.table().data());
            },
            "float32 (M**context, floats of a symbol): what is added for each pattern; the "
            "earliest of the labels i - context//2 … counts most.")
        .def(py::self == py::self);
}
