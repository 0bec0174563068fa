/*
 * Soft bits and their conventions on numpy arrays.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "arrays.h"
#include "core/counting/code_rates.h"
#include "core/signal/soft_bits.h"
#include "core_python.h"

#include <pybind11/stl.h>

#include <cmath>
#include <optional>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

soft_bit_convention convention_from(const py::object& given)
{
    if (py::isinstance<soft_bit_convention>(given))
        return given.cast<soft_bit_convention>();
    if (!py::isinstance<py::str>(given))
        refuse("convention",
               py::repr(given).cast<std::string>(),
               "a name of core.soft_bit_conventions, or a core.soft_bit_convention");
    return soft_bit_convention_named(given.cast<std::string>());
}

std::size_t size_from(const py::object& constellation)
{
    return py::isinstance<py::int_>(constellation)
               ? constellation.cast<std::size_t>()
               : constellation_from(constellation).size();
}

// A soft_bits that knows what it was made of.
struct described_soft_bits : soft_bits {
    described_soft_bits(std::size_t points, const soft_bit_convention& how)
        : soft_bits(points, how), size(points), convention(how)
    {
    }

    py::array process_array(const floats& posteriors,
                            const std::optional<floats>& a_priori) const
    {
        if (posteriors.ndim() != 2 ||
            posteriors.shape(1) != static_cast<py::ssize_t>(size))
            refuse("posteriors' shape",
                   py::str(posteriors.attr("shape")).cast<std::string>(),
                   "(N, " + std::to_string(size) + ")");
        const py::ssize_t symbols = posteriors.shape(0);
        const std::vector<py::ssize_t> shape{ symbols * py::ssize_t(bits_per_symbol()) };
        if (a_priori)
            check_a_priori(*a_priori, shape[0]);
        py::array out(is_float() ? py::dtype::of<float>() : py::dtype::of<std::int8_t>(),
                      shape);
        process(posteriors.data(),
                out.mutable_data(),
                symbols,
                a_priori ? a_priori->data() : nullptr);
        return out;
    }

    static void check_a_priori(const floats& given, py::ssize_t bits)
    {
        if (given.ndim() != 1 || given.shape(0) != bits)
            refuse("a_priori's shape",
                   py::str(given.attr("shape")).cast<std::string>(),
                   "(" + std::to_string(bits) + ",), a ratio for each bit");
        for (py::ssize_t i = 0; i < bits; ++i)
            if (std::isnan(given.data()[i]))
                refuse("a_priori[" + std::to_string(i) + "]",
                       given.data()[i],
                       "log-likelihood ratios, 0 where nothing is known");
    }

    double gmi(const floats& given, const labels_array& sent) const
    {
        const std::size_t symbols = sent.size();
        if (sent.ndim() != 1 || given.ndim() != 1 ||
            static_cast<std::size_t>(given.size()) != symbols * bits_per_symbol())
            refuse("soft_bits' shape",
                   py::str(given.attr("shape")).cast<std::string>(),
                   "(" + std::to_string(symbols * bits_per_symbol()) +
                       ",), those of the labels sent");
        labels_for(sent, symbols, size); // checked
        std::vector<float> ratios(bits_per_symbol());
        double sum = 0;
        for (std::size_t i = 0; i < symbols; ++i) {
            for (std::size_t b = 0; b < ratios.size(); ++b)
                ratios[b] = ratio(given.data()[i * ratios.size() + b]);
            sum += information(ratios.data(), sent.data()[i]);
        }
        return sum / static_cast<double>(symbols);
    }

    const std::size_t size;
    const soft_bit_convention convention;
};

} // namespace

void bind_soft_bits(py::module& m)
{
    py::class_<soft_bit_convention>(m,
                                    "soft_bit_convention",
                                    R"(How a decoder takes soft bits.

Of a bit whose log-likelihood ratio is L = ln(P(1)/P(0)) the soft bit is
+-scale * min(max(L, -clip), clip).

positive: the bit that positive values say, 0 or 1. type: of an item, 'float' or 'int8', which is rounded and limited
to +-127. scale: units per nat, 1e-3 to 1e3. clip: the largest ratio in nats, 0.1 to 60.
Raises ValueError for values out of range. The ones with a name: core.soft_bit_conventions.)")
        .def(py::init(
                 [](unsigned positive, const std::string& type, float scale, float clip) {
                     const soft_bit_convention made{
                         positive, value_of<soft_bit_type>("type", type), scale, clip
                     };
                     check(made);
                     return made;
                 }),
             py::kw_only(),
             py::arg("positive") = 1,
             py::arg("type") = "float",
             py::arg("scale") = 1.0f,
             py::arg("clip") = 20.0f)
        .def_readonly("positive", &soft_bit_convention::positive)
        .def_property_readonly(
            "type", [](const soft_bit_convention& self) { return name(self.type); })
        .def_readonly("scale", &soft_bit_convention::scale)
        .def_readonly("clip", &soft_bit_convention::clip)
        .def("__repr__", [](const soft_bit_convention& self) {
            return py::str("core.soft_bit_convention(positive={}, type='{}', scale={:g}, "
                           "clip={:g})")
                .format(self.positive, name(self.type), self.scale, self.clip);
        });

    py::dict conventions, decoders;
    for (const auto& each : soft_bit_conventions) {
        conventions[each.name] = each.convention;
        decoders[each.name] = each.decoder;
    }
    m.attr("soft_bit_conventions") = conventions;
    m.attr("soft_bit_decoders") = decoders;

    py::class_<described_soft_bits>(
        m,
        "soft_bits",
        R"(Soft bits of posteriors, as adann.soft_bits gives them in a flowgraph.

constellation: its size (M), a power of two from 2 to 256, or what core.constellation takes.
convention: a name of core.soft_bit_conventions, or a core.soft_bit_convention.
Raises ValueError for another.)")
        .def(py::init([](const py::object& constellation, const py::object& convention) {
                 return described_soft_bits(size_from(constellation),
                                            convention_from(convention));
             }),
             py::arg("constellation") = 4,
             py::arg("convention") = "gnuradio")
        .def_readonly("size", &described_soft_bits::size)
        .def_readonly("convention", &described_soft_bits::convention)
        .def(
            "process",
            &described_soft_bits::process_array,
            py::arg("posteriors"),
            py::arg("a_priori") = py::none(),
            R"((N, M) -> (N log2(M),) float32 or int8, the bits of a label most significant first.

a_priori: None, or float32 (N log2(M),), the ratios ln(P(1)/P(0)) that the equalizer found these posteriors
with. Soft bits are then extrinsic: without the a priori ratios, which count as +-20 at most.)")
        .def("gmi",
             &described_soft_bits::gmi,
             py::arg("soft_bits"),
             py::arg("sent"),
             R"(Generalized mutual information of soft bits as they are, bits a symbol.

soft_bits: (N log2(M),), what process() gave, rounded and limited as its convention has it;
sent: labels (N,). What an ideal code carries that is decoded from them, where the labels
are equally likely. Source: Alvarado et al., JLT 33(20), 2015.)");

    m.def(
        "highest_code_rate",
        &highest_code_rate,
        py::arg("ngmi"),
        R"(The highest code rate of DVB-S2 whose pre-FEC limit an NGMI meets, as '3/4'; '' if it meets none.

ngmi: normalized generalized mutual information, GMI over the bits of a symbol. The limits
are those of frames of 64800 bits (ETSI EN 302 307-1, Table 13), as NGMI of QPSK in white Gaussian noise.)");
}
