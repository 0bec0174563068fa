/* -*- c++ -*- */
/*
 * An expected waveform that follows a sender whose nonlinearity changes.
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

/*! Adds to the table of a waveform what is left, on average, of the samples of each pattern
 * of labels, and in turn with that to its polynomial, if it has one, what explains the rest
 * (following_polynomial). The affine part stays: what changes linearly is for a filter to follow.
 *
 * That happens once in a round of 8192 symbols, or of four for each pattern where those are
 * more. The mean of a pattern seen n times is multiplied with n / (n + noise / change): the
 * variance within patterns, and that of the patterns' true means, estimated without bias from
 * products of different symbols of a pattern. Where the table is right nothing is found but
 * chance, and next to nothing is added; patterns that come seldom keep what they have.
 *
 * Source: the empirical Bayes estimate of many means (Efron and Morris, "Stein's estimation
 * rule and its competitors", 1973). Nothing is allocated after construction. */
class following_waveform
{
public:
    explicit following_waveform(const expected_waveform& trained);

    const expected_waveform& now() const { return d_now; }
    //! Changes whenever that does.
    std::uint64_t number() const { return d_number; }

    /*! Takes the waveform's residual of consecutive symbols.
     * \param labels of the first of them; those of its pattern lie before and after
     * \param rest (count, stride()) */
    void add(const std::uint8_t* labels, const float* rest, std::size_t count);

    //! What was taken so far is of another signal.
    void start_round();
    //! Back to the trained one.
    void reset();
    void state(archive& members);

private:
    void add_to_sums(const std::uint8_t* labels, const float* rest, std::size_t count);
    void end_round();
    bool follow_table(); //!< whether anything but chance was found
    void set();

    const expected_waveform d_trained;
    expected_waveform d_now;
    std::uint64_t d_number = 0;
    const std::uint64_t d_round; // symbols
    std::uint64_t d_symbols = 0; // of the round
    following_polynomial d_polynomial;
    bool d_is_polynomial_round; // whether the round is the polynomial's
    // Of each pattern: symbols; the sum of their rests, and of its squares.
    std::vector<float> d_counts, d_sums, d_squares;
    std::vector<float> d_table, d_coefficients; // what the next ones are made in
};

} // namespace gr::adann::core
