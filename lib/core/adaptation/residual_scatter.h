/* -*- c++ -*- */
/*
 * Tests whether the residual of symbols is the same noise throughout.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <array>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! The distribution of residual power over stretches of 1, 2, 4 … 128 symbols.
 *
 * Stationary noise of mean power P has residual powers P χ²(ν)/ν. For each length P and ν are
 * estimated from the median of the powers and their lower quartile, which disturbances hardly
 * change. Powers beyond 3, 3.5, 4, 5 and 6 standard deviations of a Gaussian variable are counted
 * on both sides. Real noise is not exactly χ²: it may exceed z as often as a Gaussian variable
 * exceeds 0.85 z. Where counts are higher by four standard deviations, noise does not explain them:
 * there is a burst, an edge, or a part that is saturated, repeated, inverted or without noise. The
 * same test is made with the differences between neighbouring symbols' residuals: they vanish where
 * samples are held at a value near a label's.
 *
 * Symbols that noise does not explain count as decided at random. Their residual does not show how
 * many are wrong, as labels are refined until they explain even disturbed samples. Histograms have
 * 16 bins per octave; the caller sets their time constant, fade(). Nothing is allocated after
 * construction.
 *
 * Source of the quantiles: Wilson, Hilferty, "The distribution of chi-square", PNAS, 1931. */
class residual_scatter
{
public:
    static constexpr std::size_t lengths = 8; //!< 1, 2, 4 … 128 symbols

    //! \param values floats of a symbol's residual, whose sum of squares is its power
    explicit residual_scatter(std::size_t values);
    //! Multiplies all counts by `keep`.
    void fade(double keep);
    //! Adds the residual of n consecutive symbols, (n, values).
    void add(const float* residual, std::size_t n);
    //! The next symbols do not follow earlier ones.
    void interrupt();
    /*! The part of symbols that is wrong where noise does not explain the residual.
     * \param classes M */
    double unexplained_errors(std::size_t classes) const;
    double symbols() const { return d_count; } //!< effective number

    void reset();
    void state(archive& members);

private:
    void add_change(float change);

    const std::size_t d_values;
    double d_count = 0;
    // For each length, histogram of the powers of stretches that overlap by half.
    std::array<std::vector<float>, lengths> d_stretches;
    std::vector<float> d_differences; // likewise of squared differences, over 16 symbols
    std::array<float, lengths> d_halves{}; // for each, the power of the latest half
    // Sums of squared differences over half a stretch: the one that grows, and the previous one.
    struct {
        float now = 0, before = 0;
    } d_changes;
    std::vector<float> d_last; // residual of the previous symbol
    std::size_t d_run = 0;     // consecutive symbols
};

} // namespace gr::adann::core
