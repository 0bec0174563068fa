/* -*- c++ -*- */
/*
 * The top of a peak between the bins of a spectrum.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <algorithm>

namespace gr::adann::core {

//! Distance, in bins, from the largest bin to the top of the parabola through
//! it and its neighbours.
inline double offset_of_peak(double before, double peak, double after)
{
    const double bend = 2 * peak - before - after;
    return bend > 0 ? std::clamp((after - before) / (2 * bend), -0.5, 0.5) : 0.0;
}

} // namespace gr::adann::core
