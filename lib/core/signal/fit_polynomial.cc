/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/fit_polynomial.h"

#include "core/signal/polynomial_regression.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

constexpr std::size_t most_samples = 65536;
constexpr double least_gain = 3; // standard errors
// Part of the squared error by which more taps have to lower it, as they cost latency.
constexpr double least_gain_of_memory = 1e-2;

// The least squares of the longest memory, its unknowns as memory_polynomial has them.
class observations
{
public:
    explicit observations(const expected_waveform& affine)
        : d_affine(affine),
          d_sps(static_cast<unsigned>(affine.sps())),
          d_memory(memory_polynomial::most_memory(d_sps)),
          d_planes(affine.is_complex() ? 2 : 1),
          d_monomials(memory_polynomial::monomials(affine.is_complex())),
          d_regression(d_sps, affine.is_complex(), d_memory),
          d_expected((2 * d_regression.reach() + 1) * affine.stride()),
          d_rest(affine.stride())
    {
    }

    void add(const float* samples, const std::uint8_t* labels)
    {
        const std::size_t around = d_regression.reach();
        d_affine.expect(labels - around, 2 * around + 1, d_expected.data());
        const float* const own = &d_expected[around * d_rest.size()];
        for (std::size_t j = 0; j < d_rest.size(); ++j)
            d_rest[j] = samples[j] - own[j];
        d_regression.add(own, d_rest.data());
    }

    struct fitted {
        memory_polynomial polynomial;
        // Sums of squares: that of other samples, as many, would be this much less than
        // without; and three standard errors of that.
        double residual, chance;
    };
    fitted solve_for(unsigned memory) const
    {
        const std::size_t taps = 2 * memory + 1, all = 2 * d_memory + 1;
        std::vector<std::size_t> some{ 0 };
        for (std::size_t which = 0; which < d_monomials; ++which)
            for (std::size_t tap = 0; tap < taps; ++tap)
                some.push_back(1 + which * all + d_memory - memory + tap);
        const auto found = sums().solve_for(some);
        const auto unknowns = static_cast<double>(some.size() * d_planes);
        const double variance =
            found.residual / std::max(1.0, values() - unknowns); // of the residual
        memory_polynomial polynomial(d_sps, d_planes == 2, memory);
        std::vector<float> coefficients(polynomial.coefficients().size());
        for (std::size_t k = 0; k < found.values.size(); ++k)
            coefficients[k % d_planes * some.size() + k / d_planes] =
                static_cast<float>(found.values[k]);
        polynomial.set(coefficients);
        const double explained = std::max(0.0, sums().squares() - found.residual);
        return { polynomial,
                 found.residual + 2 * unknowns * variance,
                 2 * least_gain * std::sqrt(variance * explained) };
    }
    double squares() const { return sums().squares(); }
    double values() const
    {
        return static_cast<double>(sums().observations() * d_planes);
    }
    unsigned memory() const { return d_memory; }

private:
    const linear_regression& sums() const { return d_regression.sums(); }

    const expected_waveform& d_affine;
    const unsigned d_sps, d_memory;
    const std::size_t d_planes, d_monomials;
    polynomial_regression d_regression;
    std::vector<float> d_expected, d_rest;
};

} // namespace

memory_polynomial fit_polynomial(const expected_waveform& affine,
                                 const float* samples,
                                 const std::uint8_t* labels,
                                 const std::vector<std::size_t>& used)
{
    const auto sps = static_cast<unsigned>(affine.sps());
    observations sums(affine);
    const std::size_t apart = used.size() * sps / most_samples + 1; // symbols
    for (std::size_t k = 0; k < used.size(); k += apart)
        sums.add(samples + used[k] * affine.stride(), labels + used[k]);

    std::vector<observations::fitted> tried;
    double least = sums.squares();
    for (unsigned parts : { 4, 2, 1 }) {
        const unsigned memory = sums.memory() / parts;
        if (memory == 0 || (!tried.empty() && tried.back().polynomial.memory() == memory))
            continue;
        const auto found = sums.solve_for(memory);
        if (sums.squares() - found.residual < found.chance)
            continue;
        tried.push_back(found);
        least = std::min(least, found.residual);
    }
    if ((1 - least_gain_of_memory) * sums.squares() <= least)
        return { sps, affine.is_complex(), 0 };
    return std::find_if(tried.begin(),
                        tried.end(),
                        [&](const auto& each) {
                            return (1 - least_gain_of_memory) * each.residual <= least;
                        })
        ->polynomial;
}

} // namespace gr::adann::core
