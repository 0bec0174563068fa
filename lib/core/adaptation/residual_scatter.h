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

/*! The scatter of residual power between stretches of 1, 2, 4 … 128 symbols.
 *
 * Stationary noise of mean power P has residual powers P χ²(ν)/ν. P and ν of each length follow from
 * the median of the powers and from their lower quartile, which disturbances hardly move. Powers
 * beyond 3, 3.5, 4, 5 and 6 standard deviations of a normal variable are counted, on both sides. Real
 * noise is no χ²: it may pass z as often as a normal variable passes 0.85 z. What comes more often, by
 * four standard deviations of the count, noise does not explain: a burst, an edge, a part that is
 * saturated, repeated, inverted or without noise. Nor are stretches whose residual does not change:
 * the same is asked of the differences between neighbouring symbols, which are none where samples are
 * held at a value that a label nearly has.
 *
 * Such symbols are taken to be decided at random: labels are refined until they explain what there is,
 * so that a disturbed stretch's residual does not show how many are wrong. Histograms have 16 bins
 * an octave; their memory is the caller's. Nothing is allocated after construction.
 *
 * Source of the quantiles: Wilson, Hilferty, "The distribution of chi-square", PNAS, 1931. */
class residual_scatter
{
public:
    static constexpr std::size_t lengths = 8; //!< 1, 2, 4 … 128 symbols

    //! \param values of each symbol's residual, that its power is the sum of squares of
    explicit residual_scatter(std::size_t values);

    //! Forgets all but a part.
    void fade(double keep);
    //! Takes the residual of n symbols, (n, values), which follow one another.
    void add(const float* residual, std::size_t n);
    //! What comes next follows on nothing.
    void interrupt();
    /*! The part of symbols that is wrong where noise does not explain the residual.
     * \param classes M */
    double unexplained_errors(std::size_t classes) const;

    double symbols() const { return d_count; } //!< that are not forgotten

    void reset();
    void state(archive& members);

private:
    const std::size_t d_values;
    double d_count = 0;
    // Of each length, histograms in stretches, each half a length after the one before.
    std::array<std::vector<float>, lengths> d_stretches;
    std::vector<float>
        d_differences; // likewise, of 16 symbols, the sum of squared differences
    // Sums over halves of stretches: the one that grows, and the one before.
    struct halves {
        float now = 0, before = 0;

        void
        add(float power, std::size_t run, std::size_t length, std::vector<float>& counts);
    };
    std::array<halves, lengths> d_sums;
    halves d_changes;
    std::vector<float> d_last; // residual of the symbol before
    std::size_t d_run = 0;     // symbols that follow one another
};

} // namespace gr::adann::core
