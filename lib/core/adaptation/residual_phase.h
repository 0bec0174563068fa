/* -*- c++ -*- */
/*
 * The residual phase of a carrier in decided symbols, after the loop's prediction.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/simd/kernels.h"

#include <array>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

//! Phase errors of consecutive blocks, radians: the carrier's phase less the
//! one the loop predicted.
class residual_phases
{
public:
    static constexpr std::size_t block = simd::lanes; //!< symbols of a measurement
    static constexpr std::size_t blocks = 3;
    using weights = std::array<float, blocks>; //!< of the latest block first
    /*! Measures the phase of the next block: that of Σ x z̄, z expected, x received.
     * \param expected,received n complex samples, interleaved
     * \param parts weights of the latest blocks' phases
     * \return their weighted sum */
    float take(const float* expected,
               const float* received,
               std::size_t n,
               const weights& parts);
    void start(); //!< the next block does not follow earlier ones
    std::size_t count() const { return d_count; } //!< known phases, up to `blocks`
    float operator[](std::size_t back) const { return d_phases[back]; }
    //! Σ |z|² of the latest block.
    double energy() const { return d_energy; }

private:
    std::array<float, blocks> d_phases{};
    std::size_t d_count = 0;
    double d_energy = 0;
};

//! Rotates n complex samples back by a phase.
void turn_back(float* samples, std::size_t n, float phase);

/*! Wiener filter for the latest of residual_phases, from their mean products and the variance of
 * their noise. Where there is only noise its weights are nearly zero. Nothing is allocated after
 * construction. */
class residual_phase_filter
{
public:
    /*! Adds the latest phase.
     * \param noise its variance */
    void add(const residual_phases& phases, double noise);
    void fade(double keep); //!< multiplies all sums
    residual_phases::weights solve();
    void reset();
    void state(archive& members);

private:
    std::array<double, residual_phases::blocks> d_products{}, d_counts{};
    double d_noise = 0;
    std::vector<double> d_matrix = std::vector<double>(d_counts.size() * d_counts.size());
    std::vector<double> d_solution = std::vector<double>(d_counts.size());
};

} // namespace gr::adann::core
