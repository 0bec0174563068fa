/* -*- c++ -*- */
/*
 * Whether the residual of symbols is the same noise throughout.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <array>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! The scatter of residual power between symbols, and between stretches of 16 of them.
 *
 * Stationary noise of mean power P has residual powers P χ²(ν)/ν. P and ν follow from the median of the
 * powers and from their lower quartile, which disturbances hardly move. Power above the quantile of
 * 3e-7 is not explained by noise: a burst, an impulse, samples that are held or lost. Nor is a stretch
 * whose power is below the same quantile at the lower end: samples without noise do not come from the
 * link. Nor is one whose residual does not change: the same is asked of the differences between
 * neighbouring symbols, which are none where samples are held at a value that a label nearly has.
 *
 * A symbol of error probability s in noise of power P has about s^(P/p) in noise of power p, for
 * ln Q(x) is near -x²/2; a symbol without noise is taken to be decided at random. Histograms have 16
 * bins an octave; their memory is the caller's. Nothing is allocated after construction.
 *
 * Source of the quantile: Wilson, Hilferty, "The distribution of chi-square", PNAS, 1931. */
class residual_scatter
{
public:
    static constexpr std::size_t stretch = 16; //!< symbols

    //! \param values of each symbol's residual, that its power is the sum of squares of
    explicit residual_scatter(std::size_t values);

    //! Forgets all but a part.
    void fade(double keep);
    //! Takes the residual of n symbols, (n, values), of which whole stretches count.
    void add(const float* residual, std::size_t n);
    /*! The part of symbols that is wrong where noise does not explain the residual.
     * \param rate the part of wrong symbols, by the noise, above 0
     * \param classes M */
    double unexplained_errors(double rate, std::size_t classes) const;

    double symbols() const; //!< that are not forgotten

    void reset();
    void state(archive& members);

private:
    const std::size_t d_values;
    std::vector<float> d_symbols, d_stretches, d_differences; // histograms, in symbols
};

} // namespace gr::adann::core
