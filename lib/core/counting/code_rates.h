/* -*- c++ -*- */
/*
 * What a decoder of forward error correction asks of soft bits before it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <array>

namespace gr::adann::core {

struct code_rate {
    const char* name;
    double ngmi; //!< the pre-FEC limit: least normalized generalized mutual information
};

/*! The codes of DVB-S2 (LDPC and BCH, frames of 64800 bits), lowest rate first.
 *
 * The limits are what QPSK has at the Es/N0 at which 1e-7 of the packets are wrong (ETSI
 * EN 302 307-1, Table 13: -2.35, -1.24, -0.3, 1, 2.23, 3.1, 4.03, 4.68, 5.18, 6.2 and
 * 6.42 dB): the mutual information of a bit in white Gaussian noise. They hold for other
 * constellations and channels as well, as GMI predicts what a code corrects where a bit error
 * rate does not: Alvarado et al., JLT 33(20), 2015. */
inline constexpr std::array<code_rate, 11> code_rates{ {
    { "1/4", 0.3278 },
    { "1/3", 0.3978 },
    { "2/5", 0.4638 },
    { "1/2", 0.5628 },
    { "3/5", 0.6604 },
    { "2/3", 0.7283 },
    { "3/4", 0.7964 },
    { "4/5", 0.8396 },
    { "5/6", 0.8697 },
    { "8/9", 0.9208 },
    { "9/10", 0.9299 },
} };

//! The highest of them whose pre-FEC limit an NGMI meets; "" if it meets none, or is NaN.
constexpr const char* highest_code_rate(double ngmi)
{
    const char* highest = "";
    for (const auto& each : code_rates)
        if (ngmi >= each.ngmi)
            highest = each.name;
    return highest;
}

} // namespace gr::adann::core
