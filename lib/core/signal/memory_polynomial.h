/* -*- c++ -*- */
/*
 * A nonlinearity with memory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/simd/kernels.h"

#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! The monomials up to the third degree of a signal, each through a filter of its own, added
 * up with an offset. Of real samples x: x, x², x³. Of complex ones x = I + jQ: I, Q, I², IQ, Q², I³, I²Q,
 * IQ², Q³, so that it has the even orders of a biased modulator and of each of its arms; and |x|⁴I,
 * |x|⁴Q, the next odd order of an amplifier's or a fibre's AM/AM and AM/PM.
 *
 * A filter has `memory` taps on each side, one every quarter of a symbol, or every sample
 * where that is more. Source: Kim and Konstantinou, "Digital predistortion of wideband
 * signals based on power amplifier model with memory", Electronics Letters, 2001. */
class memory_polynomial
{
public:
    /*! All zero, to be set().
     * \param sps samples of a symbol, 1 to 64
     * \param complex whether the samples are
     * \param memory taps on each side; 0: no polynomial */
    memory_polynomial(unsigned sps, bool complex, unsigned memory);

    static constexpr unsigned most_symbols = 2; //!< that memory lasts on each side
    static unsigned spacing(unsigned sps) { return sps < 4 ? 1 : sps / 4; } //!< samples
    //! Taps on each side that fill most_symbols.
    static unsigned most_memory(unsigned sps)
    {
        return most_symbols * sps / spacing(sps);
    }
    static constexpr std::size_t fifth_degree =
        2; //!< of the monomials of complex samples, the last
    static std::size_t monomials(bool complex) { return complex ? 9 + fifth_degree : 3; }
    /*! Values of each monomial of `count` samples; real and imaginary parts in two arrays.
     * \param imaginary null for real samples
     * \param which of the monomials, in the order above */
    static void monomial(std::size_t which,
                         const float* real,
                         const float* imaginary,
                         std::size_t count,
                         float* values);

    unsigned memory() const { return d_memory; }
    std::size_t reach() const
    {
        return d_reach;
    } //!< symbols on each side, memory in whole
    std::size_t planes() const { return d_complex ? 2 : 1; }
    std::size_t taps() const { return 2 * std::size_t{ d_memory } + 1; }
    std::size_t unknowns() const { return 1 + monomials(d_complex) * taps(); }
    /*! (planes(), unknowns()), nothing without memory: what goes into the real, and then the
     * imaginary part. The offset; then the taps of each monomial, the first of them of the
     * earliest sample. */
    const std::vector<float>& coefficients() const { return d_coefficients; }
    //! Allocates nothing. \throws std::invalid_argument for another size, or a value beyond largest_sample
    void set(const std::vector<float>& coefficients);

    /*! Adds the polynomial of consecutive symbols. Allocates nothing.
     * \param samples of the first of them, complex ones I, Q; those of reach() symbols lie
     * before, and after the last
     * \param sum count symbols */
    void add(const float* samples, std::size_t count, float* sum) const;

private:
    void add_block(const float* samples, std::size_t count, float* sum) const;

    unsigned d_sps, d_memory;
    bool d_complex;
    std::size_t d_reach;
    std::vector<float> d_coefficients;
    const simd::kernels* d_kernels;
};

} // namespace gr::adann::core
