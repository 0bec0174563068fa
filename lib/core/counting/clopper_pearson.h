/* -*- c++ -*- */
/*
 * The exact confidence interval of an error rate.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstdint>

namespace gr::adann::core {

struct interval {
    double low;
    double high;
};

/*! Exact two-sided interval of a probability of which `errors` in `trials` were seen.
 *
 * It never covers less than it says, also with few or no errors (the upper end then is
 * the "rule of three", about 3.7/trials at 95 %). Without a trial it is 0 … 1. Source:
 * Clopper and Pearson, Biometrika 26 (1934) 404.
 *
 * \param errors 0 to trials
 * \param trials number of independent trials
 * \param confidence above 0 and below 1
 * \throws std::invalid_argument if a parameter is out of range
 */
interval
clopper_pearson(std::uint64_t errors, std::uint64_t trials, double confidence = 0.95);

} // namespace gr::adann::core
