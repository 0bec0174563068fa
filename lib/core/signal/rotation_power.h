/* -*- c++ -*- */
/*
 * The power of a symbol that shows how its constellation is rotated, whatever was sent.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"

#include <complex>
#include <vector>

namespace gr::adann::core {

/*! Of a sample x = ρ e^(iφ) of a constellation of M rotations: e^(iMφ) times the conjugate of
 * g(ρ) = E[e^(iMφ) | ρ], of points at a symbol error rate of 1/20. Its mean is rotated by M times as
 * much as the constellation, and has the largest ratio to its deviation of all functions of ρ: rings that
 * say little weigh little, and large noise no more than its amplitude says.
 *
 * Source: Wang, Serpedin, Ciblat, "Optimal blind nonlinear least-squares carrier phase and frequency offset
 * estimation for general QAM modulations", IEEE Trans. Wireless Commun. 2, 2003. */
class rotation_power
{
public:
    //! For samples of symbols of unit power, without their neighbours.
    explicit rotation_power(const constellation& alphabet);
    //! For samples such as these, some thousand, with neighbours and noise; M is the order.
    rotation_power(std::size_t order, const std::vector<std::complex<double>>& samples);

    std::complex<double> operator()(std::complex<double> sample) const;
    //! E p, of the points without noise, or of the samples.
    std::complex<double> mean() const { return d_mean; }
    //! E|p|² / |E p|² of the same.
    double scatter() const { return d_scatter; }

private:
    std::complex<double> conditional(double amplitude,
                                     const std::vector<std::complex<float>>& points,
                                     double noise) const;
    void find_moments(const std::vector<std::complex<double>>& samples);

    std::size_t d_order;
    double d_step = 0;                            // of the table, in amplitude
    std::vector<std::complex<double>> d_expected; // g at multiples of it
    std::complex<double> d_mean = 0;
    double d_scatter = 1;
};

} // namespace gr::adann::core
