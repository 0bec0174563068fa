/* -*- c++ -*- */
/*
 * The points of the constellations that have a name.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <complex>
#include <vector>

namespace gr::adann::core {

/*! A row is all that a new one needs.
 *
 * - pam2 or bpsk, pam4, pam8, qpsk, 16qam, 64qam, 256qam: Gray codes, the bits of I
 * before those of Q, levels in steps of 2.
 * - oqpsk: qpsk whose Q comes half a symbol later (constellation::is_offset()).
 * - 32qam, 128qam: crosses. A Gray-coded rectangle, twice as wide as high, whose outer
 * columns are moved above and below it. Neighbours differ in 1.1 to 1.2 bits on average. Source:
 * Smith, "Odd-bit quadrature amplitude-shift keying", IEEE Trans. Commun., 1975.
 * - 8psk, 16apsk, 32apsk: the labels of DVB-S2 and its radii for code rate 3/4, the
 * largest radius 1. Source: ETSI EN 302 307-1, Section 5.4. */
struct named_constellation {
    const char* name;
    std::vector<std::complex<float>> (*points)(); //!< in label order
};

const std::vector<named_constellation>& named_constellations();

} // namespace gr::adann::core
