/* -*- c++ -*- */
/*
 * What the samples of a symbol are expected to be, given the labels around it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"
#include "core/signal/memory_polynomial.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! E[samples of symbol i | labels around it], sender and channel with their nonlinearity.
 *
 * Symbol i owns the `sps` samples that window_geometry gives it, complex ones interleaved
 * I, Q. They are expected to be affine in the points of the symbols i - affine_reach() … i +
 * affine_reach(), scaled to unit power; plus a polynomial with memory of that affine part;
 * plus what a table holds for the pattern of the context() nearest labels: those of symbols
 * i - ⌊context/2⌋ … i - ⌊context/2⌋ + context - 1. For complex samples the affine part is
 * widely linear: it takes the points' real and imaginary parts separately, so that it has a
 * sender's I/Q imbalance too.
 *
 * Source: a Wiener-Hammerstein model of the third degree, whose remaining error near the symbol is a
 * look-up table, as in pattern-dependent predistortion; fit_waveform() learns it.
 */
class expected_waveform
{
public:
    /*! All zero, to be set().
     * \param sps samples of a symbol, 1 to 64
     * \param complex whether the samples are
     * \param affine_reach symbols on each side that the affine part depends on, 0 to
     * most_reach
     * \param context labels of a pattern; at most 2·affine_reach + 1, and at most
     * most_patterns patterns
     * \param memory taps on each side of the polynomial's filters; 0: no polynomial
     * \throws std::invalid_argument naming the parameter that is out of range, or for
     * float samples of a complex alphabet */
    expected_waveform(const constellation& symbols,
                      unsigned sps,
                      bool complex,
                      unsigned affine_reach,
                      unsigned context,
                      unsigned memory = 0);

    static constexpr unsigned most_reach = 64;
    static constexpr std::size_t most_patterns = 65536;
    static constexpr unsigned noise_reach = 8; //!< symbols over which noise is correlated

    struct shape {
        std::size_t rows, patterns, stride;
    };
    //! Sizes of affine() and table(); throws as the constructor does.
    static shape shape_of(const constellation& symbols,
                          unsigned sps,
                          bool complex,
                          unsigned affine_reach,
                          unsigned context);

    std::size_t sps() const { return stride() / (d_complex ? 2 : 1); }
    bool is_complex() const { return d_complex; }     //!< of the samples
    std::size_t classes() const { return d_classes; } //!< M
    std::size_t affine_reach() const { return d_reach; }
    //! Symbols on each side that it depends on, all parts.
    std::size_t reach() const { return d_reach + d_polynomial.reach(); }
    std::size_t context() const { return d_context; }
    std::size_t patterns() const { return d_shape.patterns; } //!< M^context
    //! Floats of a symbol: sps, or twice that for complex samples.
    std::size_t stride() const { return d_shape.stride; }
    //! Rows of affine(): 1 + (2·affine_reach + 1)·(2 for a complex alphabet).
    std::size_t rows() const { return d_shape.rows; }
    //! The rms residual of each float, of symbols that it was not learnt from.
    float noise() const { return d_noise; }
    //! The same of a sample: its mean square.
    float noise_power() const { return (is_complex() ? 2 : 1) * d_noise * d_noise; }
    /*! How often each label is sent, (M,), of sum 1. All equal unless they were set: of a signal with
     * probabilistic shaping (Böcherer, Steiner and Schulte, IEEE Trans. Commun. 63, 2015) they are not. */
    const std::vector<float>& probabilities() const { return d_probabilities; }
    bool has_equal_probabilities() const;
    /*! \throws std::invalid_argument unless they are M numbers from 0 on, whose sum is 1 but for rounding,
     * and two are above 0 */
    void set_probabilities(std::vector<float> probabilities);
    static constexpr std::size_t drawn_symbols = 4096;
    //! The waveform of labels drawn with these probabilities, always the same ones: (drawn_symbols, stride()).
    std::vector<float> drawn() const;
    //! Mean square of a sample, of drawn().
    float power() const;
    //! Largest square of a sample, of drawn().
    float peak() const;
    //! Values of noise_correlation().
    std::size_t lags() const { return std::size_t{ 2 } * noise_reach * sps() + 1; }
    /*! (lags(), 2 for complex samples, else 1): what that noise v has in common with the
     * samples x it is part of, E[x̄(i + d) v(i)], at lags d of -noise_reach·sps to
     * noise_reach·sps samples. */
    const std::vector<float>& noise_correlation() const { return d_correlation; }

    /*! (rows(), stride()): the offset; then for symbols i - affine_reach() to i + affine_reach() what
     * their points, or their real and then their imaginary parts, are multiplied with. */
    const std::vector<float>& affine() const { return d_affine; }
    //! (patterns(), stride()): what is added for each; the earliest label counts most.
    const std::vector<float>& table() const { return d_table; }
    const memory_polynomial& polynomial() const { return d_polynomial; }

    /*! \param affine,table as affine() and table() give them
     * \param noise above 0
     * \param correlation as noise_correlation() gives it; none: white noise
     * \param polynomial its coefficients(); none: zero
     * \throws std::invalid_argument for another size, or a value beyond largest_sample */
    void set(std::vector<float> affine,
             std::vector<float> table,
             float noise,
             std::vector<float> correlation = {},
             std::vector<float> polynomial = {});

    /*! Another table() and other coefficients of the polynomial(), of the same sizes; the affine
     * part stays. Allocates nothing. \throws std::invalid_argument for another size */
    void set_nonlinear(const std::vector<float>& table,
                       const std::vector<float>& polynomial);
    //! Which row of table() a symbol has, by the labels around it.
    std::size_t pattern(const std::uint8_t* label) const;

    /*! The waveform of consecutive symbols. Allocates nothing.
     * \param labels of the first of them; reach() more lie before it and after the last
     * \param samples count · stride() floats */
    void expect(const std::uint8_t* labels, std::size_t count, float* samples) const;

    //! The same less what affine() multiplies the points with: its offset, the polynomial and the table remain.
    void
    expect_nonlinear(const std::uint8_t* labels, std::size_t count, float* samples) const;

    /*! The same of the affine part alone, of a waveform with a polynomial.
     * \param labels of the first of them; affine_reach() more lie before and after */
    void
    expect_affine(const std::uint8_t* labels, std::size_t count, float* samples) const;

    /*! Mean squared difference of a float to what is expected.
     * \param labels as above
     * \param count at least 1 */
    double
    residual(const std::uint8_t* labels, const float* samples, std::size_t count) const;

    bool operator==(const expected_waveform& other) const;

private:
    void sum_near();
    void add_affine(std::size_t place, std::size_t label, float* sum) const;
    template <std::size_t width>
    void sum(const std::uint8_t* labels, std::size_t count, float* samples) const;
    void add_up(const std::uint8_t* labels, std::size_t count, float* samples) const;
    template <typename Use>
    void with_affine(const std::uint8_t* labels, std::size_t count, Use use) const;
    void add_table(const std::uint8_t* labels, std::size_t count, float* samples) const;

    shape d_shape;
    bool d_complex;
    std::size_t d_dimensions, d_classes, d_reach, d_context;
    std::vector<float> d_points; // (M, dimensions), of unit power
    std::vector<float> d_affine, d_table;
    memory_polynomial d_polynomial;
    float d_noise = 0;
    std::vector<float> d_probabilities;
    std::vector<float> d_correlation;
    // What sum() adds up, in rows of stride() floats: for each pattern the affine part of
    // its labels and the offset, with the table unless that is added to a polynomial; and
    // for each symbol that is not in the pattern and each of its labels the affine part.
    std::vector<float> d_near, d_far;
};

} // namespace gr::adann::core
