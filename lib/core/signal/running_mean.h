/* -*- c++ -*- */
/*
 * A mean of the latest values.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <algorithm>

namespace gr::adann::core {

//! The mean of all values at first, and an exponential one once there are `most`: the n-th has the
//! weight 1 / n, later ones 1 / most.
template <typename T, typename number = T>
struct running_mean {
    T mean = 0;
    number count = 0;

    void add(T value, number most)
    {
        count = std::min(count + 1, most);
        mean += (value - mean) / static_cast<T>(count);
    }
};

} // namespace gr::adann::core
