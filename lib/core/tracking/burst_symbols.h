/* -*- c++ -*- */
/*
 * The known and decided symbols of a burst, and the targets of its taps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"
#include "core/signal/known_symbols.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann::core {

//! A range of a burst's symbols.
struct stretch {
    std::size_t first, end;
    std::size_t size() const { return end - first; }
    double middle() const { return 0.5 * static_cast<double>(first + end); }
};

/*! The symbols of a burst: which are known, estimates, posteriors, and targets of the taps.
 *
 * A known symbol's target is its point, with weight 1. That of another symbol is (m - g y)/(1 - g),
 * with weight (1 - g)²: m is the posterior mean at estimate y, and g the mean slope of m, so that
 * errors of the taps do not confirm themselves (soft_decisions::aim()). Before a symbol is decided
 * its weight is 0. */
class burst_symbols
{
public:
    using number = std::complex<double>;

    //! \param most symbols of a burst; \param complex whether their noise is
    burst_symbols(const constellation& points, bool complex, std::size_t most);

    static constexpr std::size_t least_known = 10, most_apart = 1024; // of a seed

    /*! The longest run of known symbols among these n labels. If that has fewer than
     * least_known, the shortest stretch that has as many, up to most_apart symbols; empty if
     * there is none. */
    static stretch seed(const std::uint8_t* known, std::size_t n, std::size_t classes);
    /*! \throws std::invalid_argument with this name if seed() is empty */
    static void check_seed(const std::string& name,
                           const std::uint8_t* known,
                           std::size_t n,
                           std::size_t classes);

    //! The next burst. \param usable of each symbol, whether it is learnt from
    void load(const std::uint8_t* known, const std::vector<char>& usable, std::size_t n);
    //! Forgets all decisions, and sets the noise.
    void start(double noise);
    //! Finds posteriors, noise and targets from estimates. \param least_noise of unit power
    void take(stretch over, double least_noise);

    std::size_t size() const { return d_count; }
    std::size_t classes() const { return d_points.size(); } //!< M
    number& estimate(std::size_t symbol) { return d_estimates[symbol]; }
    number target(std::size_t symbol) const { return d_targets[symbol]; }
    double weight(std::size_t symbol) const { return d_weights[symbol]; }
    //! The known label, or that of the largest posterior.
    std::uint8_t label(std::size_t symbol) const;
    const float* posteriors() const { return d_posteriors.data(); } //!< (n, M)
    //! Mean square error of the estimates of the latest stretch.
    double noise() const { return d_noise; }
    void set_noise(double noise) { d_noise = noise; }

    bool is_label_known(std::size_t symbol) const
    {
        return is_known(d_known[symbol], classes());
    }

    bool is_label_known(stretch over) const //!< all of them
    {
        for (std::size_t i = over.first; i < over.end; ++i)
            if (!is_label_known(i))
                return false;
        return true;
    }

private:
    number known_point(std::size_t symbol) const { return d_points[d_known[symbol]]; }
    number find_posteriors(std::size_t symbol, double& around);

    bool d_complex;
    std::size_t d_count = 0;
    std::vector<number> d_points; // of unit power
    std::vector<std::uint8_t> d_known;
    std::vector<char> d_usable;
    std::vector<number> d_estimates, d_targets;
    std::vector<double> d_weights;
    std::vector<float> d_posteriors;
    double d_noise = 0;
};

} // namespace gr::adann::core
