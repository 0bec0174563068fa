/* -*- c++ -*- */
/*
 * Measures the part of the residual that depends on the labels.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! The part of the residual from an expected waveform that is correlated with
 * the labels around each symbol. It is zero for noise, and large for a model
 * mismatch, such as another nonlinearity with memory.
 *
 * For symbols with the same pattern of labels, the product of the residuals of two different
 * symbols has a mean that is the square of their common part. Products are averaged over rounds of
 * 8192 symbols that are added. A pattern has up to 5 labels, and there are up to 4096 patterns:
 * three labels of 16QAM. Nothing is allocated after construction.
 *
 * Source: the variance between groups of a one-way analysis of variance (Henderson, "Estimation of
 * variance and covariance components", 1953, method 1). */
class pattern_bias
{
public:
    //! \param classes M. \param dimensions of a symbol's residual, 1 or 2
    pattern_bias(std::size_t classes, std::size_t dimensions);
    /*! Adds a symbol.
     * \param label of the symbol, with two more before it and two after it
     * \param left its residual, in each dimension */
    void add(const std::uint8_t* label, const float* residual);
    bool known() const { return d_known; } //!< whether a round is over
    /*! The correlated part of the mean square, 0 to 1: of the latest round, or
     * of the present one if that is larger by four standard deviations. Takes
     * time in proportion to the number of patterns. */
    double part() const;

    void reset();
    void state(archive& members);

private:
    struct common_part {
        double part = 0, deviation = 0; // standard deviation for noise alone
    };

    void start_round();
    void end_round();
    common_part find_common() const;

    const std::size_t d_classes, d_dimensions, d_context; // labels of a pattern
    // Of each pattern: symbols; in each dimension the sum, and the sum of squares.
    std::vector<float> d_counts, d_sums, d_squares;
    std::uint64_t d_symbols = 0; // of the round
    bool d_known = false;
    double d_part = 0; // of the latest round
};

} // namespace gr::adann::core
