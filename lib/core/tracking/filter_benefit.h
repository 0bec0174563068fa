/* -*- c++ -*- */
/*
 * Whether a stream is decided better with its filter or without it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <cstddef>

namespace gr::adann::core {

/*! From how well the labels with the filter and those without it explain the same samples (judge.h), whether the filter
 * makes decisions worse.
 *
 * Taps are learnt from the decisions that they lead to, and may have a small residual with wrong ones: those of an
 * amplitude, say, that changes faster than they learn. Then they lose many comparisons, if not each.
 *
 * The difference of both residual energies, relative to their sum, is averaged over some 16384 symbols. The filter is harmful
 * once the mean exceeds three standard deviations and 0.02, until it is below one of them, or 0.02. */
class filter_benefit
{
public:
    //! So many symbols come that no labels are known of.
    void pass(std::size_t symbols);
    //! So many known ones: the taps learn from right labels. It is not harmful after 1024 in a row.
    void pass_known(std::size_t symbols);
    /*! Adds a comparison, which counts by the symbols since the previous one.
     * \param with,without residual energy of the labels with the filter and without it
     * \param is_clear whether the first is clearly less: after three in a row it is not harmful */
    void add(float with, float without, bool is_clear);
    //! The residuals cannot be compared.
    void skip(bool is_clear);
    //! Whether decisions without the filter are significantly better.
    bool is_harmful() const { return d_is_harmful; }
    //! It is used again.
    void reset() { *this = {}; }
    void state(archive& members);

private:
    void note_clear(bool is_clear);

    // Sums with exponential weights: of weights and of their squares, of differences and of their squares.
    float d_weights = 0, d_weights_squared = 0, d_differences = 0, d_squares = 0;
    bool d_is_harmful = false;
    std::size_t d_symbols = 0; // since the latest comparison
    std::size_t d_known = 0;   // known symbols in a row
    std::size_t d_clear = 0;   // clear comparisons in a row
};

} // namespace gr::adann::core
