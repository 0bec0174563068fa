/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks_python.h"

#include <gnuradio/adann/soft_bits.h>

namespace py = pybind11;
using namespace gr::adann;

void bind_soft_bits(py::module& m)
{
    py::class_<soft_bits,
               gr::sync_interpolator,
               gr::sync_block,
               gr::block,
               gr::basic_block,
               soft_bits::sptr>(
        m,
        "soft_bits",
        R"(Soft bits for a FEC decoder: M posteriors in, log2(M) soft bits out, floats or int8.

They are log-likelihood ratios ln(P(1)/P(0)) with the sign, item, scale and limit that the
decoder takes: the convention, a name of core.soft_bit_conventions (core.soft_bit_decoders says
whose) or a core.soft_bit_convention. Before GNU Radio 3.10.8 fec.ldpc_decoder
takes 'gnuradio' with sigma = 1.

With a priori ratios at input 1, the vectors of log2(M) floats that the equalizer had at its input 2,
they are extrinsic: what a decoder does not know yet.

Order: the bits of a label, most significant first, and the symbols as they come; what the
sender interleaves is deinterleaved after this block.

constellation: its size (M), a power of two from 2 to 256, or what core.constellation takes.
Raises ValueError for another.)")
        .def(py::init([](const py::object& constellation, const py::object& convention) {
                 const py::object made =
                     py::module_::import("gnuradio.adann.core")
                         .attr("soft_bits")(constellation, convention);
                 return soft_bits::make(
                     made.attr("size").cast<unsigned>(),
                     made.attr("convention").cast<soft_bit_convention>());
             }),
             py::arg("constellation") = 4,
             py::arg("convention") = "gnuradio");
}
