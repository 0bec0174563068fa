/* -*- c++ -*- */
/*
 * Soft bits for a decoder of forward error correction, from the posteriors of symbols.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace gr::adann::core {

/*! Log-likelihood ratios of the bits of labels, most significant bit first.
 *
 * Of bit b the ratio is ln(P(b = 1) / P(b = 0)), natural logarithm, where P is the sum of
 * the posteriors of all labels with that bit: exact, no max-log. Positive is a 1. With
 * symbols that are equally likely, as scrambled ones are, it is the likelihood ratio that
 * decoders take. Limited to ±limit: a posterior of 0 says no more than 2e-9 would.
 * Posteriors that are all 0 or not a number say nothing: 0.
 */
class soft_bits
{
public:
    static constexpr float limit = 20;

    //! \param size of the constellation (M): 2, 4, 8 ... 256.
    //! \throws std::invalid_argument for another
    explicit soft_bits(std::size_t size);

    unsigned bits_per_symbol() const { return d_bits; }

    //! \param posteriors symbols × M
    //! \param out symbols × bits_per_symbol()
    void process(const float* posteriors, float* out, std::size_t symbols) const;

    /*! The information of one symbol's ratios about its label, in bits: bits_per_symbol() less
     * log2(1 + exp(-ratio)) of each 1 and log2(1 + exp(ratio)) of each 0 in it. The mean
     * over symbols that are equally likely is the generalized mutual information of these
     * ratios, as they are (s = 1): the bits a symbol that an ideal code carries which is
     * decoded from soft bits. Negative where they are confidently wrong. Source: Alvarado et al., "Replacing the Soft-Decision FEC
     * Limit Paradigm in the Design of Optical Communication Systems", JLT 33(20), 2015.
     * \param ratios bits_per_symbol() ones, as process() gives them
     * \param label that was sent */
    double information(const float* ratios, std::uint8_t label) const;

private:
    const std::size_t d_size;
    unsigned d_bits = 0;
};

} // namespace gr::adann::core
