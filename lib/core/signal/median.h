/* -*- c++ -*- */
/*
 * The median.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <algorithm>

namespace gr::adann::core {

//! Of an even number of values the upper one of the two in the middle. They are reordered.
template <typename iterator>
auto median(iterator first, iterator last)
{
    const iterator middle = first + (last - first) / 2;
    std::nth_element(first, middle, last);
    return *middle;
}

} // namespace gr::adann::core
