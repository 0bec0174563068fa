/* -*- c++ -*- */
/*
 * A network that computes a linear equalizer.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/model.h"
#include "core/signal/linear_equalizer.h"

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann::core {

/*! A linear equalizer, and a model whose network computes it. The network has its final layers already:
 * four neurons of each layer carry ±I and ±Q through it. */
class linear_network
{
public:
    //! Largest window, whose covariance is solved.
    static constexpr std::size_t most_samples = 512;

    /*! Decides the nearest point to a window's middle sample.
     * \param seed of the random numbers in the rest of the network
     * \throws std::invalid_argument for a window of more than 512 samples, or one that no
     * constellation fits */
    linear_network(const std::string& constellation,
                   unsigned sps,
                   unsigned half_window,
                   bool complex,
                   std::uint64_t seed);

    void set(const linear_equalizer& fitted);
    const linear_equalizer& fitted() const { return d_fitted; }
    model& made() { return d_model; }
    const model& made() const { return d_model; }
    std::uint64_t seed() const { return d_seed; }

    //! Whether its outputs show the carrier's phase: samples are complex, I and Q come together.
    bool has_carrier() const { return d_model.complex && !d_model.symbols.is_offset(); }
    //! Taps of each row: complex ones count once, as a symbol is one complex equation.
    std::size_t taps_of_a_row() const;
    std::vector<std::uint8_t> decide(const feature_view& windows) const;
    //! Outputs of the linear equalizer; complex numbers for real points as well.
    std::vector<std::complex<double>> outputs(const feature_view& windows) const;
    //! Squared error of the output of a window with this label.
    double squared_error(const float* window, std::uint8_t label) const;

private:
    model d_model;
    std::vector<std::complex<float>> d_points; // of unit power
    std::uint64_t d_seed;
    linear_equalizer d_fitted;
};

} // namespace gr::adann::core
