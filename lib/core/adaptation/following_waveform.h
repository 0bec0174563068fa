/* -*- c++ -*- */
/*
 * An expected waveform that tracks a transmitter whose nonlinearity changes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/following_polynomial.h"
#include "core/files/archive.h"
#include "core/signal/expected_waveform.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Adds the mean residual of each pattern of labels to the table of a waveform. If the waveform
 * has a polynomial, every other round changes that instead (following_polynomial). The affine part
 * stays, as a filter follows linear changes.
 *
 * A round has 8192 symbols, or four for each pattern if that is more. The mean of
 * a pattern seen n times is multiplied by n / (n + noise / change), where `noise`
 * is the variance within patterns, and `change` that of the patterns' true means,
 * estimated without bias from products of different symbols of a pattern. If the
 * table is right, nearly nothing is added; rare patterns hardly change.
 *
 * Source: the empirical Bayes estimate of many means (Efron and Morris, "Stein's estimation
 * rule and its competitors", 1973). Nothing is allocated after construction. */
class following_waveform
{
public:
    explicit following_waveform(const expected_waveform& trained);

    const expected_waveform& now() const { return d_now; }
    //! Changes whenever now() does.
    std::uint64_t number() const { return d_number; }
    /*! Adds the residual of consecutive symbols.
     * \param labels of the first of them, with those of its pattern before and after
     * \param rest (count, stride()) */
    void add(const std::uint8_t* labels, const float* rest, std::size_t count);
    //! Forgets the round: its symbols are of another signal.
    void start_round();
    //! Back to the trained waveform.
    void reset();
    void state(archive& members);

private:
    void add_to_sums(const std::uint8_t* labels, const float* rest, std::size_t count);
    void end_round();
    bool follow_table(); //!< returns whether a change was found
    void set();

    const expected_waveform d_trained;
    expected_waveform d_now;
    std::uint64_t d_number = 0;
    const std::uint64_t d_round; // symbols
    std::uint64_t d_symbols = 0; // of the round
    following_polynomial d_polynomial;
    bool d_is_polynomial_round; // whether the round is the polynomial's
    // Of each pattern: number of symbols, sum of their residuals, sum of squares.
    std::vector<float> d_counts, d_sums, d_squares;
    std::vector<float> d_table, d_coefficients; // scratch of end_round()
};

} // namespace gr::adann::core
