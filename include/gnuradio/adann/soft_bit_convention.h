/* -*- c++ -*- */
/*
 * How decoders of forward error correction take soft bits: sign, item, scale, limit. The
 * table is all there is to know about a convention; C++, Python and GRC read it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/words.h>

namespace gr::adann {

//! The item of a stream of soft bits.
enum class soft_bit_type { float32, int8 };
constexpr std::array<word<soft_bit_type>, 2> words(soft_bit_type)
{
    return { { { soft_bit_type::float32, "float" }, { soft_bit_type::int8, "int8" } } };
}

/*! What a decoder takes of a bit whose log-likelihood ratio is L = ln(P(1) / P(0)):
 *
 *     ± scale * min(max(L, -clip), clip)
 *
 * with + where positive values say 1, and - where they say 0. An int8 is rounded to
 * nearest and limited to ±127. */
struct soft_bit_convention {
    unsigned positive = 1; //!< the bit that positive values say, 0 or 1
    soft_bit_type type = soft_bit_type::float32;
    float scale = 1; //!< units of a soft bit per nat, 1e-3 to 1e3
    float clip = 20; //!< largest ratio in nats, 0.1 to 60

    //! Soft bits over log-likelihood ratios.
    constexpr float factor() const { return positive ? scale : -scale; }
};

struct named_soft_bit_convention {
    const char* name;
    const char* decoder; //!< who takes it
    soft_bit_convention convention;
};

/*! The conventions that have a name.
 *
 * gnuradio_cc: fec.extended_decoder makes 8 bits of 48 steps per unit for cc_decoder,
 * which keeps values up to 2.6. dvbs2rx: its decoder's offset min-sum takes one step off,
 * which is best if that is half a nat (FACTOR 2 in its source). satdump: its soft files
 * have no scale; this one uses all 8 bits, as gnuradio_cc does. */
inline constexpr std::array<named_soft_bit_convention, 8> soft_bit_conventions{ {
    { "gnuradio", "GNU Radio's LDPC and polar decoders", { 1 } },
    { "gnuradio_cc",
      "GNU Radio's FEC Extended Decoder with a convolutional code",
      { 1, soft_bit_type::float32, 0.25f, 10 } },
    { "sionna", "Sionna", { 1 } },
    { "aff3ct", "AFF3CT", { 0 } },
    { "opticommpy", "OptiCommPy", { 0 } },
    { "matlab", "MATLAB's decoders", { 0 } },
    { "dvbs2rx", "gr-dvbs2rx's LDPC decoder", { 0, soft_bit_type::int8, 2, 20 } },
    { "satdump", "SatDump's soft files", { 1, soft_bit_type::int8, 12.7f, 10 } },
} };

} // namespace gr::adann
