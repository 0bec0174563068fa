/* -*- c++ -*- */
/*
 * Taps and carrier from few symbols by regularised least squares.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! Normal equations of taps w: R = Σ v conj(x) xᵀ, p = Σ v conj(x) z, e = Σ v |z|² over symbols
 * with windows x, targets z and weights v. */
struct burst_sums {
    using number = std::complex<double>;

    explicit burst_sums(std::size_t unknowns)
        : matrix(unknowns * unknowns), wanted(unknowns)
    {
    }
    void clear();
    void add(const number* window, number target, double weight);
    void add(const burst_sums& other);
    void fade(double by);

    std::vector<number> matrix, wanted; // the lower half of R, row by row; p
    double power = 0, symbols = 0;      // e, Σ v
};

/*! Minimises e - 2 Re pᴴw + wᴴRw + λ wᴴDw, with λ by generalised cross-validation: it minimises
 * n rss / (n - tr R(R + λD)⁻¹)², the error to be expected of symbols that were not fitted. D is the
 * mean of R's diagonal, and a hundredth of it for the middle tap: few symbols change the identity
 * little, and 10 are enough to start from.
 *
 * Source: Golub, Heath, Wahba, "Generalized cross-validation as a method for choosing a good ridge
 * parameter", Technometrics 21, 1979. */
class burst_fit
{
public:
    using number = burst_sums::number;
    static constexpr std::array ridges{ 0.001, 0.004, 0.016, 0.06, 0.25, 1.0, 4.0 };
    enum class ridge_search {
        all,
        near, //!< the one of the previous call, and its neighbours
        same, //!< the one of the previous call
    };

    //! \param middle the tap of the identity
    burst_fit(std::size_t unknowns, std::size_t middle);

    /*! \param sums R, e and n; p is not used
     * \param wanted (unknowns, count): a p for each hypothesis
     * \param search values of λ that are tried
     * \returns the error of the best hypothesis; infinite where R is singular: hypothesis() and
     * taps() are those of the previous call then */
    double best(const burst_sums& sums,
                const std::vector<number>& wanted,
                std::size_t count,
                ridge_search search);
    std::size_t hypothesis() const { return d_hypothesis; }    //!< the best one
    const std::vector<number>& taps() const { return d_taps; } //!< its taps

    //! Forgets the previous burst.
    void reset();

    //! Taps by the sums' own p with this λ; false if R is singular.
    bool solve(const burst_sums& sums, double ridge, std::vector<number>& taps);

private:
    void set_load(const burst_sums& sums, double ridge);
    double freedom();

    std::size_t d_unknowns, d_middle, d_hypothesis = 0, d_ridge = 0;
    std::vector<number> d_factor, d_inverse, d_columns, d_taps; // d_inverse: L⁻¹
    std::vector<double> d_load;                                 // diagonal of λD
};

} // namespace gr::adann::core
