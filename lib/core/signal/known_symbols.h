/* -*- c++ -*- */
/*
 * Known symbols among those that a receiver decides: pilots, midambles, sync words.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>

namespace gr::adann::core {

//! Label of a symbol that is not known.
constexpr std::uint8_t not_known = 255;

//! \param classes of the constellation
inline bool is_known(std::uint8_t label, std::size_t classes)
{
    return label < classes && label != not_known;
}

//! Part of known symbols that may be known wrongly.
constexpr float false_part = 0.1f;

/*! How much likelier an estimate is of a known symbol than of random data, log p(z | P) / p(z): see
 * ambiguity.h.
 * \param z unbiased estimate, \param point of the symbol, both of unit power
 * \param v the estimate's variance */
inline float known_ratio(std::complex<float> z, std::complex<float> point, float v)
{
    return std::norm(z) / (1 + v) - std::norm(z - point) / v + std::log1p(1 / v);
}

} // namespace gr::adann::core
