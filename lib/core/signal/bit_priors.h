/* -*- c++ -*- */
/*
 * What is known of the bits of symbols before their samples are looked at.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace gr::adann::core {

/*! A priori probabilities of labels, from the log-likelihood ratios ln(P(1) / P(0)) of their bits, most
 * significant bit first, as a decoder's extrinsic output has them. The bits of a label are taken to be
 * independent, as after an interleaver. A ratio of 0 or NaN says nothing.
 *
 * Source: S. ten Brink, J. Speidel and R.-H. Yan, "Iterative demapping and decoding for multilevel
 * modulation", IEEE GLOBECOM 1998. */
class bit_priors
{
public:
    //! Larger ratios count as this one: no decoder is surer.
    static constexpr float largest = 20;

    //! \param size of the constellation (M): 2, 4, 8 ... 256
    explicit bit_priors(std::size_t size);

    unsigned bits_per_symbol() const { return d_bits; }

    //! A ratio as it counts.
    static float limited(float ratio);

    /*! \param ratios bits_per_symbol() ones
     * \param logarithms M: ln of each label's probability, but for a constant */
    void find(const float* ratios, float* logarithms) const;

    /*! Posteriors by what is known: their product with the a priori probabilities. Without any knowledge,
     * or where they are no numbers, they stay as they are.
     * \param label decided by these posteriors
     * \param posteriors M
     * \return the label that then has the largest one */
    std::uint8_t
    weigh(const float* logarithms, std::uint8_t label, float* posteriors) const;

private:
    const std::size_t d_size;
    unsigned d_bits = 0;
};

} // namespace gr::adann::core
