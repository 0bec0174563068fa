/* -*- c++ -*- */
/*
 * Detects a drifting mean of the residual.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <array>
#include <cstddef>

namespace gr::adann::core {

/*! The power of a mean that changes too slowly for whitening to predict it: hum of a supply, or
 * baseline wander of an AC-coupled receiver.
 *
 * The means of neighbouring stretches have the drift in common, while their noise is
 * independent: the mean of their products is its power. It counts once it exceeds four standard
 * deviations of the same mean for independent stretches. The caller sets the time constant,
 * fade(). Nothing is allocated after construction. */
class residual_drift
{
public:
    static constexpr std::size_t stretch = 16; //!< symbols

    //! \param planes of a sample, 1 or 2
    residual_drift(std::size_t sps, std::size_t planes);

    //! Multiplies all sums by `keep`.
    void fade(double keep);
    //! Adds the residual of n consecutive symbols, (n, sps, planes), which do
    //! not follow earlier ones.
    void add(const float* residual, std::size_t n);
    //! Mean square of a sample's drifting mean; 0 if it is not significant.
    double power() const;

    void reset();
    void state(archive& members);

private:
    const std::size_t d_samples, d_planes; // of a stretch
    // Sums over pairs of neighbours: of their products, of the squares of both, and their number.
    double d_products = 0, d_squares = 0, d_pairs = 0;
};

} // namespace gr::adann::core
