/* -*- c++ -*- */
/*
 * Known symbols among those that a receiver decides: pilots, midambles, sync words.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

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

} // namespace gr::adann::core
