/* -*- c++ -*- */
/*
 * Learns an expected waveform from symbols whose labels are known.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/expected_waveform.h"

namespace gr::adann::core {

/*! The expected waveform of consecutive labelled symbols.
 *
 * Least squares give the affine part. What it leaves, averaged for each pattern and shrunk
 * towards zero by k symbols more, Σ/(N + k), gives the table. Context and k are those of
 * the least leave-one-out error, which is exact and costs no second pass: a table never
 * fits its own noise, and there is none (context 0) where it does not lower the error.
 * The noise is that error's root, too. Source: PRESS, Allen, Technometrics, 1974.
 *
 * Symbols with a sample that is not finite or beyond ±largest_sample are left out.
 *
 * \param sps,complex,reach as in expected_waveform
 * \param samples count · stride floats
 * \param labels count of them; those of the first and last `reach` symbols are only looked
 * at
 * \throws std::invalid_argument naming a parameter that is out of range, or if there are
 * fewer symbols than twice the affine part's rows */
expected_waveform fit_waveform(const constellation& symbols,
                               unsigned sps,
                               bool complex,
                               const float* samples,
                               const std::uint8_t* labels,
                               std::size_t count,
                               unsigned reach = 6);

} // namespace gr::adann::core
