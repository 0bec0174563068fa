/* -*- c++ -*- */
/*
 * Whether estimates of symbols come from the points of a constellation.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/constellation.h"

#include <array>
#include <complex>
#include <vector>

namespace gr::adann::core {

/*! A likelihood ratio test: complex points in white noise against the same points at an unknown phase, and against a
 * Gaussian variable. Of the noise's power the likeliest one of several is taken.
 *
 * All have the power that the estimates have, so that no gain has to be known. A signal after unknown interference,
 * another one or none are nearly Gaussian: there the mean logarithm of the ratio is log(1 + signal-to-noise ratio) less
 * the constellation's mutual information. One with an unknown carrier has an unknown phase. No decision is made: points
 * are seen where a fifth of the decisions are wrong. */
class point_likelihood
{
public:
    static constexpr std::size_t most_likelihoods =
        2048; //!< of a set's estimates and the points: bounds its cost

    /*! \param alphabet of complex points
     * \param probabilities of the labels
     * \param most sets of estimates that are averaged */
    point_likelihood(const constellation& alphabet,
                     const std::vector<float>& probabilities,
                     std::size_t most);

    /*! \param estimates n, of which as many as are allowed are used, evenly spread
     * \return whether they are finite, and not all zero */
    bool add(const std::complex<float>* estimates, std::size_t n);
    std::size_t sets() const { return d_sets; } //!< that are averaged
    //! Whether the points are e^10 times as likely as both others.
    bool shows_points() const;
    void reset();
    void state(archive& members);

private:
    // Deviations of the noise in a dimension, over half the distance of two points.
    static constexpr std::array<float, 8> deviations{ 0.1f,  0.2f, 0.4f, 0.5f,
                                                      0.63f, 0.8f, 1,    1.25f };
    using means = std::array<float, deviations.size()>;

    float mean_likelihood(std::complex<float> z,
                          const std::vector<std::complex<float>>& points,
                          float gain) const;

    std::vector<std::complex<float>> d_points, d_rotated; // also at several phases
    std::vector<float> d_probabilities;
    float d_power; // mean square of the points
    float d_half_distance;
    std::size_t d_most, d_sets = 0;
    // Logarithms of likelihoods over the Gaussian's: sums over an estimate, means of the sets.
    means d_of_points{}, d_of_rotated{};
};

} // namespace gr::adann::core
