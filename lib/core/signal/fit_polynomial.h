/* -*- c++ -*- */
/*
 * Learns the nonlinearity with memory of an expected waveform.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/expected_waveform.h"

namespace gr::adann::core {

/*! The polynomial of a waveform's affine part that lowers its residual most, by least
 * squares over at most 65,536 samples that are spread over those given.
 *
 * Memory is the shortest, of none and a half to two symbols, whose squared error on other
 * samples is within 1 % of the best one's; and a polynomial there is only if it lowers that
 * by three standard errors. Source: Mallows, "Some comments on Cp", Technometrics, 1973.
 *
 * \param affine a waveform without a polynomial or a table
 * \param samples,labels consecutive symbols
 * \param used those of them to learn from: usable, with neighbours for most_symbols more
 * than affine.reach()
 * \returns the polynomial, of memory 0 where none helps */
memory_polynomial fit_polynomial(const expected_waveform& affine,
                                 const float* samples,
                                 const std::uint8_t* labels,
                                 const std::vector<std::size_t>& used);

} // namespace gr::adann::core
