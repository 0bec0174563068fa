/* -*- c++ -*- */
/*
 * Parameter checks whose errors name the parameter, its value and what is allowed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/words.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gr::adann::core {

template <typename T>
[[noreturn]] void
refuse(std::string_view name, const T& value, const std::string& allowed)
{
    std::ostringstream text;
    text << name << " is " << value << ", allowed: " << allowed;
    throw std::invalid_argument(text.str());
}

//! \throws std::invalid_argument unless low <= value <= high (so NaN is refused too)
template <typename T>
void check_range(std::string_view name, T value, T low, T high)
{
    if (!(value >= low && value <= high)) {
        std::ostringstream allowed;
        allowed << low << " to " << high;
        refuse(name, value, allowed.str());
    }
}

//! Position of `word` among `words`.
//! \throws std::invalid_argument if it is none of them
inline std::size_t choice(const std::string& name,
                          const std::string& word,
                          const std::vector<std::string>& words)
{
    const auto found = std::find(words.begin(), words.end(), word);
    if (found != words.end())
        return found - words.begin();
    std::string allowed;
    for (const auto& each : words)
        allowed += (allowed.empty() ? "" : ", ") + each;
    refuse(name, "'" + word + "'", allowed);
}

template <typename Enum>
std::vector<std::string> names_of()
{
    std::vector<std::string> names;
    for (const auto& each : words(Enum{}))
        names.push_back(each.name);
    return names;
}

//! \throws std::invalid_argument unless it is a word for one of the enumeration's values
template <typename Enum>
Enum value_of(const std::string& parameter, const std::string& word)
{
    return words(Enum{})[choice(parameter, word, names_of<Enum>())].value;
}

//! Visits settings: \throws std::invalid_argument naming the one that is out of range
struct setting_checks {
    template <typename T>
    void operator()(const char*, const T&, const char*) const
    {
    }
    template <typename T>
    void operator()(const char* name, const T& value, T low, T high, const char*) const
    {
        check_range(name, value, low, high);
    }
    template <typename T>
    void operator()(
        const char* name, const std::optional<T>& value, T low, T high, const char*) const
    {
        if (value && !(*value >= low && *value <= high)) {
            std::ostringstream allowed;
            allowed << low << " to " << high << ", or automatic";
            refuse(name, *value, allowed.str());
        }
    }
};

} // namespace gr::adann::core
