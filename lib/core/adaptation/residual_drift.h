/* -*- c++ -*- */
/*
 * A mean of the residual that moves.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <array>
#include <cstddef>

namespace gr::adann::core {

/*! The power of a mean that moves more slowly than whitening can tell: that of a supply's hum, or of a
 * receiver without direct current.
 *
 * The means of neighbouring stretches have it in common, while noise is another one in each: the mean
 * of their products is its power. It counts once it exceeds four standard deviations of such a mean of
 * independent ones. The memory is the caller's. Nothing is allocated after construction. */
class residual_drift
{
public:
    static constexpr std::size_t stretch = 16; //!< symbols

    //! \param planes of a sample, 1 or 2
    residual_drift(std::size_t sps, std::size_t planes);

    //! Forgets all but a part.
    void fade(double keep);
    //! Takes the residual of n symbols, (n, sps, planes), which follow one another and on nothing before.
    void add(const float* residual, std::size_t n);
    //! Mean square of a sample's mean; 0 if that is within chance.
    double power() const;

    void reset();
    void state(archive& members);

private:
    const std::size_t d_samples, d_planes; // of a stretch
    // Sums over pairs of neighbours: their products, the squares of both, and how many.
    double d_products = 0, d_squares = 0, d_pairs = 0;
};

} // namespace gr::adann::core
