/*
 * Settings as Python has them: keyword arguments, documentation and descriptions, all made
 * by visiting the one definition (gnuradio/adann/equalizer_settings.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "system_text.h"
#include <gnuradio/adann/words.h>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdio>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace gr::adann {

namespace py = pybind11;

//! One setting, described.
struct setting {
    std::string name = "";
    py::object value =
        py::none(); //!< its default: bool, int, float, str or None (automatic)
    py::object low = py::none();
    py::object high = py::none();
    bool automatic = false;                //!< whether None is allowed
    std::vector<std::string> choices = {}; //!< empty for what is not a word
    std::string meaning = "";

    std::string allowed() const
    {
        std::string text;
        for (const auto& choice : choices)
            text += (text.empty() ? "'" : ", '") + choice + "'";
        if (!low.is_none())
            text = std::string(py::str(low)) + " to " + std::string(py::str(high));
        return automatic ? text + ", or None: automatic" : text;
    }
};

// A number as people write it: 0.1f is 0.1.
template <typename T>
py::object number(T value)
{
    if constexpr (std::is_floating_point_v<T>) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.7g", static_cast<double>(value));
        return py::float_(std::stod(digits));
    } else {
        return py::int_(value);
    }
}

//! Visits settings, and describes them.
struct describing {
    std::vector<setting>& found;

    template <typename T>
    void operator()(const char* name, const T& member, const char* meaning)
    {
        setting each;
        each.name = name;
        each.meaning = meaning;
        if constexpr (std::is_enum_v<T>) {
            each.value = py::str(adann::name(member));
            for (const auto& row : words(T{}))
                each.choices.push_back(row.name);
        } else {
            each.value = py::cast(member);
        }
        found.push_back(each);
    }
    template <typename T>
    void operator()(const char* name, const T& member, T low, T high, const char* meaning)
    {
        found.push_back(
            { name, number(member), number(low), number(high), false, {}, meaning });
    }
    template <typename T>
    void operator()(
        const char* name, const std::optional<T>&, T low, T high, const char* meaning)
    {
        found.push_back(
            { name, py::none(), number(low), number(high), true, {}, meaning });
    }
};

template <typename Settings>
std::vector<setting> settings_of()
{
    const Settings defaults;
    std::vector<setting> found;
    Settings::visit(defaults, describing{ found });
    return found;
}

template <typename Settings>
py::dict settings_by_name()
{
    py::dict by_name;
    for (const auto& each : settings_of<Settings>())
        by_name[py::str(each.name)] = each;
    return by_name;
}

//! A line for each setting, for the end of a docstring.
template <typename Settings>
std::string settings_doc()
{
    std::string text;
    for (const auto& each : settings_of<Settings>()) {
        const std::string allowed = each.allowed();
        text += "\n" + each.name + ": " + each.meaning + " " +
                (allowed.empty() ? "" : "Allowed: " + allowed + ". ") +
                "Default: " + std::string(py::repr(each.value)) + ".";
    }
    return text;
}

//! \throws ValueError unless it is a word for one of the enumeration's values
template <typename Enum>
Enum word_to(const std::string& parameter, const std::string& word)
{
    std::string allowed;
    for (const auto& each : words(Enum{})) {
        if (word == each.name)
            return each.value;
        allowed += (allowed.empty() ? "" : ", ") + std::string(each.name);
    }
    throw py::value_error(parameter + " is '" + word + "', allowed: " + allowed);
}

//! Visits settings, and sets those that are given.
struct taking {
    py::dict& given;
    const std::vector<setting>& known;

    template <typename T, typename... Limits>
    void operator()(const char* name, T& member, Limits...)
    {
        if (!given.contains(name))
            return;
        const py::object value = given.attr("pop")(name);
        try {
            if constexpr (std::is_enum_v<T>)
                member = word_to<T>(name, value.template cast<std::string>());
            else if constexpr (std::is_same_v<T, std::string>)
                member = system_text(value);
            else
                member = value.template cast<T>();
        } catch (const py::cast_error&) {
            refuse(name, value);
        }
    }

private:
    [[noreturn]] void refuse(const std::string& name, const py::object& value) const
    {
        std::string allowed;
        for (const auto& each : known)
            if (each.name == name)
                allowed = each.allowed();
        if (allowed.empty())
            allowed = "a value like its default";
        throw py::value_error(name + " is " + std::string(py::repr(value)) +
                              ", allowed: " + allowed);
    }
};

/*! Settings from keyword arguments. Whoever uses them checks the ranges of numbers.
 * \throws ValueError naming what is no word or number
 * \throws TypeError naming what is no setting */
template <typename Settings>
Settings settings_from(py::kwargs given)
{
    Settings settings;
    const auto known = settings_of<Settings>();
    Settings::visit(settings, taking{ given, known });
    if (!given.empty()) {
        std::string names;
        for (const auto& each : known)
            names += (names.empty() ? "" : ", ") + each.name;
        throw py::type_error(std::string(py::str(given.begin()->first)) +
                             " is no setting, allowed: " + names);
    }
    return settings;
}

} // namespace gr::adann
