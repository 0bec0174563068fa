/* -*- c++ -*- */
/*
 * Enumerations and the words for them. Each has one table, words(), and this finds in it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <array>
#include <type_traits>

namespace gr::adann {

//! A row of words(); some rows have more members.
template <typename Enum>
struct word {
    Enum value;
    const char* name;
};

//! The row of a value.
template <typename Enum>
constexpr auto row(Enum value)
{
    const auto table = words(Enum{});
    for (const auto& each : table)
        if (each.value == value)
            return each;
    return table[0]; // not reached: a table has all
}

template <typename Enum, typename = std::enable_if_t<std::is_enum_v<Enum>>>
constexpr const char* name(Enum value)
{
    return row(value).name;
}

} // namespace gr::adann
