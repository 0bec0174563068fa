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
 * Least squares give the affine part, of the shortest reach whose error is within 1 % of
 * the best one's. Its residual, averaged for each pattern and shrunk towards zero by k
 * symbols more, Σ/(N + k), gives the table. Context and k are those of the least
 * leave-one-out error, which is exact and costs no second pass: a table never fits its own
 * noise, and there is a larger one, or one at all (context above 0), only if it lowers
 * that error by three of its standard errors. The noise is that error's root; its
 * autocorrelation is that of the residual. Source: Allen, "The relationship
 * between variable selection and data augmentation and a method for prediction",
 * Technometrics, 1974 (PRESS).
 *
 * Symbols with a sample that is not finite, beyond ±largest_sample, or an impulse (impulse_detector.h) are
 * left out. So are, from a second fit, stretches of 16 symbols whose residual in the first one is four times the median.
 *
 * \param sps,complex as in expected_waveform
 * \param samples count · stride floats
 * \param labels count of them; at both ends `most_reach` are neighbours only
 * \param most_reach the longest one that is tried
 * \throws std::invalid_argument naming a parameter that is out of range, or if there are
 * fewer symbols than twice the rows of the longest affine part */
expected_waveform fit_waveform(const constellation& symbols,
                               unsigned sps,
                               bool complex,
                               const float* samples,
                               const std::uint8_t* labels,
                               std::size_t count,
                               unsigned most_reach = 12);

} // namespace gr::adann::core
