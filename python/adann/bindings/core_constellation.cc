/*
 * gnuradio.adann.core: constellations, from all that Python has for them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "core_python.h"
#include "system_text.h"

#include "core/common/checks.h"
#include "core/common/printable.h"

#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace py = pybind11;
using namespace gr::adann::core;

namespace {

using points_array =
    py::array_t<std::complex<float>, py::array::c_style | py::array::forcecast>;

constexpr char in_tree[] = "gr:";
constexpr char file_ending[] = ".json";

bool ends_with(const std::string& text, const std::string& ending)
{
    return text.size() >= ending.size() &&
           text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

constellation from_points(const py::object& points)
{
    const auto array = points_array::ensure(points);
    if (!array || array.ndim() != 1) {
        PyErr_Clear();
        refuse("constellation",
               py::str(py::type::of(points).attr("__name__")).cast<std::string>(),
               "a name, points in label order, or a digital.constellation object");
    }
    return constellation(
        std::vector<std::complex<float>>(array.data(), array.data() + array.size()));
}

// A digital.constellation object: its points are in label order.
constellation from_object(const py::object& object)
{
    if (py::hasattr(object, "dimensionality") &&
        object.attr("dimensionality")().cast<unsigned>() != 1)
        refuse("constellation's dimensionality",
               object.attr("dimensionality")().cast<unsigned>(),
               "1: a point for each label");
    return from_points(object.attr("points")());
}

const std::vector<std::string>& in_tree_names()
{
    static const std::vector<std::string> all{ "gr:bpsk", "gr:qpsk",         "gr:dqpsk",
                                               "gr:8psk", "gr:8psk_natural", "gr:16qam" };
    return all;
}

// gr:qpsk is digital.constellation_qpsk().
constellation from_gnuradio(const std::string& name)
{
    choice("constellation", name, in_tree_names());
    const auto maker = "constellation_" + name.substr(sizeof(in_tree) - 1);
    return from_object(py::module_::import("gnuradio.digital").attr(maker.c_str())());
}

constellation from_file(const std::string& path)
{
    std::ifstream file(path);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf()))
        refuse("constellation", "'" + printable(path) + "'", "a file that can be read");
    return constellation(text.str());
}

constellation from_name(const std::string& name)
{
    std::vector<std::string> all = constellation::names();
    if (std::find(all.begin(), all.end(), name) != all.end())
        return constellation(name);
    all.insert(all.end(), in_tree_names().begin(), in_tree_names().end());
    std::string allowed;
    for (const auto& each : all)
        allowed += each + ", ";
    refuse("constellation", "'" + name + "'", allowed + "or points in a .json file");
}

constellation from_any(const py::object& given)
{
    if (py::isinstance<constellation>(given))
        return given.cast<constellation>();
    if (py::isinstance<py::str>(given)) {
        const auto text = gr::adann::system_text(given);
        if (text.rfind(in_tree, 0) == 0)
            return from_gnuradio(text);
        if (ends_with(text, file_ending))
            return from_file(text);
        return text.find('[') == text.npos ? from_name(text) : constellation(text);
    }
    return py::hasattr(given, "points") ? from_object(given) : from_points(given);
}

} // namespace

constellation constellation_from(const py::object& given) { return from_any(given); }

void bind_constellation(py::module& m)
{
    py::class_<constellation>(
        m,
        "constellation",
        R"(Points in label order; label l is the bits that point l carries.

Made from a name (names()); from the points, 2, 4, 8 ... 256 complex numbers; from a
digital.constellation object, or gr:bpsk, gr:qpsk, gr:dqpsk, gr:8psk, gr:8psk_natural, gr:16qam,
which are GNU Radio's own; from a file NAME.json with a list of [re, im]; or from another one.
Raises ValueError naming what is allowed.)")
        .def(py::init(&from_any), py::arg("constellation"))
        .def_static("names", &constellation::names, "The names of all alphabets.")
        .def_static("in_tree",
                    &in_tree_names,
                    "Names of GNU Radio's own, with the labels of their points().")
        .def_property_readonly("name", &constellation::name, "For people.")
        .def_property_readonly("text",
                               &constellation::text,
                               "Makes the same one again: a name, or the points as JSON.")
        .def_property_readonly("size", &constellation::size, "M")
        .def_property_readonly("bits_per_symbol", &constellation::bits_per_symbol)
        .def_property_readonly("is_complex", &constellation::is_complex)
        .def_property_readonly(
            "is_offset",
            &constellation::is_offset,
            "Whether Q is sent half a symbol after I, as in \"oqpsk\".")
        .def_property_readonly(
            "is_product",
            &constellation::is_product,
            "Whether every level of I occurs with every level of Q: PAM, rectangular QAM.")
        .def_property_readonly(
            "points",
            [](const constellation& c) {
                return py::array_t<std::complex<float>>(c.size(),
                                                        c.given_points().data());
            },
            "complex64 (M,): point l belongs to label l, as they were given; neighbouring "
            "levels of the named ones are 2 apart")
        .def_property_readonly(
            "centred",
            [](const constellation& c) {
                return py::array_t<std::complex<float>>(c.size(), c.points().data());
            },
            "complex64 (M,): the points without their mean, as samples are")
        .def_property_readonly(
            "unit_points",
            [](const constellation& c) {
                const auto points = c.unit_points();
                return py::array_t<std::complex<float>>(points.size(), points.data());
            },
            "complex64 (M,): these at unit power")
        .def_property_readonly(
            "symmetries",
            &constellation::symmetries,
            "Label permutations of the rotations that map the points onto themselves, by "
            "increasing angle: of PAM none and inversion, of QAM 0, 90, 180, 270 degrees.")
        .def_property_readonly("reflections",
                               &constellation::reflections,
                               "The same of the mirrored signal, without the rotations.")
        .def(
            "neighbours",
            [](const constellation& c, std::size_t label) {
                check_range<std::size_t>("label", label, 0, c.size() - 1);
                const auto& all = c.neighbours(label);
                return std::vector<unsigned>(all.begin(), all.end());
            },
            py::arg("label"),
            "Labels of the points that a label's may be taken for with no other point on the way; 6 at most.")
        .def_property_readonly(
            "bits_per_error",
            &constellation::bits_per_error,
            "Bits by which nearest neighbours differ on average; Gray: 1.")
        .def_property_readonly(
            "half_distance",
            &constellation::half_distance,
            "Half the smallest distance of two points, at zero mean and unit power.")
        .def("__repr__", [](const constellation& c) {
            return "core.constellation(" +
                   py::repr(py::str(c.text())).cast<std::string>() + ")";
        });
}
