/* -*- c++ -*- */
/*
 * Soft bits for a decoder of forward error correction, from the posteriors of symbols.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/soft_bit_convention.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace gr::adann::core {

//! The convention of that name. \throws std::invalid_argument if there is none
soft_bit_convention soft_bit_convention_named(const std::string& name);

//! \throws std::invalid_argument naming a member that is out of range
void check(const soft_bit_convention& convention);

/*! Soft bits of labels, most significant bit first, in a convention.
 *
 * They come of the log-likelihood ratio ln(P(b = 1) / P(b = 0)) of each bit b, natural
 * logarithm, where P is the sum of the posteriors of all labels with that bit: exact, no
 * max-log. With symbols that are equally likely, as scrambled ones are, it is the
 * likelihood ratio that decoders take. Posteriors that are all 0 or not a number say
 * nothing: 0.
 *
 * Posteriors that were found with a priori ratios (bit_priors) have these in them: the extrinsic ratio,
 * which is what a decoder is to be given then, is the ratio less the a priori one, before the limit.
 */
class soft_bits
{
public:
    //! \param size of the constellation (M): 2, 4, 8 ... 256.
    //! \throws std::invalid_argument for another, or for a convention that is out of range
    explicit soft_bits(std::size_t size, const soft_bit_convention& convention = {});

    unsigned bits_per_symbol() const { return d_bits; }
    std::size_t item_size() const { return is_float() ? sizeof(float) : 1; }
    bool is_float() const { return d_convention.type == soft_bit_type::float32; }

    //! \param posteriors symbols × M
    //! \param out symbols × bits_per_symbol() items, float or std::int8_t
    //! \param a_priori null, or as many ratios that the posteriors were found with
    void process(const float* posteriors,
                 void* out,
                 std::size_t symbols,
                 const float* a_priori = nullptr) const;

    //! The log-likelihood ratio that a soft bit says.
    float ratio(float soft_bit) const { return soft_bit / d_convention.factor(); }

    /*! The information of one symbol's ratios about its label, in bits: bits_per_symbol() less
     * log2(1 + exp(-ratio)) of each 1 and log2(1 + exp(ratio)) of each 0 in it. The mean
     * over symbols that are equally likely is the generalized mutual information of these
     * ratios, as they are (s = 1): the bits a symbol that an ideal code carries which is
     * decoded from soft bits. Negative where they are confidently wrong. Source: Alvarado et al.,
     * "Replacing the Soft-Decision FEC Limit Paradigm in the Design of Optical Communication
     * Systems", JLT 33(20), 2015.
     * \param ratios bits_per_symbol() ones
     * \param label that was sent */
    double information(const float* ratios, std::uint8_t label) const;

private:
    template <typename Item>
    void write(const float* posteriors,
               Item* out,
               std::size_t symbols,
               const float* a_priori) const;

    const std::size_t d_size;
    const soft_bit_convention d_convention;
    unsigned d_bits = 0;
};

} // namespace gr::adann::core
