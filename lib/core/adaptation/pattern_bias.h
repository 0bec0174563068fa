/* -*- c++ -*- */
/*
 * Whether the residual of symbols is noise.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! The part of the residual from an expected waveform that is correlated with the labels around each
 * symbol: none of noise; much of a model mismatch, such as another nonlinearity with memory.
 *
 * Of symbols of the same pattern of labels the products of two different ones have the square of
 * what is common to them as their mean. They are averaged over rounds of 8192 symbols that
 * are looked at. A pattern has up to 5 labels, and there are up to 4096: three of 16QAM. Nothing
 * is allocated after construction.
 *
 * Source: the variance between groups of a one-way analysis of variance (Henderson, "Estimation of
 * variance and covariance components", 1953, method 1). */
class pattern_bias
{
public:
    //! \param classes M. \param dimensions of what is left of a symbol, 1 or 2
    pattern_bias(std::size_t classes, std::size_t dimensions);

    /*! \param label of the symbol; two more lie before and behind
     * \param left of it, in each dimension */
    void add(const std::uint8_t* label, const float* left);

    bool known() const { return d_known; } //!< once a round is over
    /*! The part of the mean square, 0 to 1: of the latest round, or of the present one where that is
     * surely more, by four standard deviations. Takes as long as patterns. */
    double part() const;

    void reset();
    void state(archive& members);

private:
    struct common_part {
        double part = 0, deviation = 0; // the latter of noise alone
    };

    void start_round();
    void end_round();
    common_part find_common() const;

    const std::size_t d_classes, d_dimensions, d_context; // of a pattern, labels
    // Of each pattern: symbols; and by dimensions the sums, and those of the squares.
    std::vector<float> d_counts, d_sums, d_squares;
    std::uint64_t d_symbols = 0; // of the round
    bool d_known = false;
    double d_part = 0; // of the latest round
};

} // namespace gr::adann::core
