/* -*- c++ -*- */
/*
 * What an equalizer puts out for each of the levels that were sent.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! Outputs y of the levels s = ±1, ±3, ±5, ±7 are Gaussian around m(s), a cubic that a transmitter's
 * amplifier bends, with one variance. Both are learnt by expectation and maximization, from
 * posteriors and from known symbols, over some `memory` symbols.
 *
 * Source: Dempster, Laird, Rubin, "Maximum likelihood from incomplete data via the EM algorithm",
 * J. Royal Stat. Soc. B 39, 1977. */
class level_model
{
public:
    static constexpr std::size_t levels = 8;
    static constexpr float memory = 26624; //!< symbols

    struct estimate {
        float mean, variance; //!< of the level, by its posterior
    };

    //! Starts from outputs of least mean squares, whose mean square error is that.
    void start(float error);

    estimate find(float y);
    //! The same, and learns from it; `known` is the level, or 0.
    estimate learn(float y, float known);
    //! Takes into use what was learnt from so many symbols.
    void update(std::size_t symbols);

    //! The level whose m(s) is y, by straight lines between the levels.
    float level_of(float y) const;

private:
    static constexpr std::size_t unknowns = 4; // of a cubic

    void find_weights(float y);

    std::array<float, levels> d_means{};   // m(s)
    float d_variance = 1;                  // of y around it
    std::array<float, levels> d_weights{}; // posterior of the latest y
    std::array<float, levels> d_counts{}, d_sums{}, d_new_counts{}, d_new_sums{};
    float d_squares = 0; // Σ (y - m(s))² since the latest update
    // Normal equations of the cubic; nothing outlives a call in them.
    std::vector<double> d_squared = std::vector<double>(unknowns * unknowns);
    std::vector<double> d_cubic = std::vector<double>(unknowns);
};

} // namespace gr::adann::core
