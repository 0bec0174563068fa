/* -*- c++ -*- */
/*
 * The labels of a stream's latest symbols.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/known_symbols.h"
#include "core/tracking/soft_decisions.h"

#include <complex>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Labels of symbols, decided or known from a training sequence, and posterior means where they are
 * uncertain. Symbols are numbered as in a sample_history. Nothing is allocated after construction. */
class symbol_labels
{
public:
    //! \param symbols that there is room for
    //! \param classes number of labels, M
    symbol_labels(std::size_t symbols, std::size_t classes);

    //! Symbols that there is room for.
    std::size_t size() const { return d_labels.size(); }
    std::size_t classes() const { return d_classes; }

    //! Sets the decided labels of n symbols.
    //! \param known null, or their known labels, not_known where there is none
    void set(std::size_t symbol,
             const std::uint8_t* labels,
             std::size_t n,
             const std::uint8_t* known);
    //! Replaces the labels of n symbols by labels that are certain.
    void relabel(std::size_t symbol, const std::uint8_t* labels, std::size_t n);
    //! Replaces the decided labels of the symbols up to `end`; known ones stay.
    void replace(std::size_t symbol, std::size_t end, const std::uint8_t* labels);
    //! Moves the contents back by so many symbols.
    void move_back(std::size_t symbols);

    //! Known labels where there are, else decided ones.
    const std::uint8_t* labels(std::size_t symbol) const { return &d_labels[symbol]; }
    //! Decided labels of all symbols.
    const std::uint8_t* decided(std::size_t symbol) const { return &d_decided[symbol]; }
    std::uint8_t known_label(std::size_t symbol) const { return d_known[symbol]; }
    bool is_label_known(std::size_t symbol) const
    {
        return is_known(d_known[symbol], d_classes);
    }
    //! Symbols without a known label, of n.
    std::size_t count_unknown(std::size_t symbol, std::size_t n) const;
    //! Symbols of n that are neither known nor count as sure: they have an estimate.
    std::size_t count_uncertain(std::size_t symbol, std::size_t n) const;
    //! Linear estimates of the points, of unit power; NaN where decisions count as sure.
    const std::complex<float>* estimates(std::size_t symbol) const
    {
        return &d_estimates[symbol];
    }
    std::complex<float>* estimates(std::size_t symbol) { return &d_estimates[symbol]; }
    //! Posterior means and variances relative to the labels; zero where labels count as sure.
    const soft_decision* decisions(std::size_t symbol) const
    {
        return &d_decisions[symbol];
    }
    soft_decision* decisions(std::size_t symbol) { return &d_decisions[symbol]; }

    //! \param first,n symbols that are still needed
    void state(archive& members, std::size_t first, std::size_t n);

private:
    std::size_t d_classes;
    std::vector<std::uint8_t> d_labels, d_known, d_decided;
    std::vector<std::complex<float>> d_estimates;
    std::vector<soft_decision> d_decisions;
};

} // namespace gr::adann::core
