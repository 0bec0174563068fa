/* -*- c++ -*- */
/*
 * How far a distribution is from the uniform one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cmath>
#include <cstddef>

namespace gr::adann::core {

/*! Kullback-Leibler divergence of a distribution from the uniform one, in nats.
 * \param classes their number
 * \param probability of a class, a function
 * \param by_chance what is expected of as many observations of the uniform one, and subtracted */
template <typename function>
double
divergence_from_uniform(std::size_t classes, function probability, double by_chance = 0)
{
    double sum = -by_chance;
    for (std::size_t k = 0; k < classes; ++k)
        if (const double p = probability(k); p > 0)
            sum += p * std::log(p * static_cast<double>(classes));
    return sum;
}

} // namespace gr::adann::core
