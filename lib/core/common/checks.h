/* -*- c++ -*- */
/*
 * Parameter checks whose errors name the parameter, its value and what is allowed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace gr::adann::core {

template <typename T>
[[noreturn]] void
refuse(const std::string& name, const T& value, const std::string& allowed)
{
    std::ostringstream text;
    text << name << " is " << value << ", allowed: " << allowed;
    throw std::invalid_argument(text.str());
}

//! \throws std::invalid_argument unless low <= value <= high (so NaN is refused too)
template <typename T>
void check_range(const std::string& name, T value, T low, T high)
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

} // namespace gr::adann::core
