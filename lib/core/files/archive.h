/* -*- c++ -*- */
/*
 * An object's state, into the tensors of a file and back.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/tensor_file.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gr::adann::core {

/*! Saves or restores the members that it is given, each under a name.
 *
 * A class lists all that its next step depends on once, in a member function
 * state(archive&). It serves both directions, so what is saved and what is restored
 * cannot differ. Sizes are those of the object; only strings have their own.
 * Restoring throws model_file_error where the file holds something else, or a number that
 * is not finite or out of its range; the object is then partly restored. Whatever was saved can be
 * restored: a number beyond its range is saved as the end of the range, without changing the
 * member; one that is not finite is refused. */
class archive
{
public:
    //! \param prefix of all names
    static archive saving(tensor_file& to, const std::string& prefix)
    {
        return { to, true, prefix };
    }
    static archive restoring(tensor_file& from, const std::string& prefix)
    {
        return { from, false, prefix };
    }

    //! A number, or an object that has a state(archive&).
    template <typename T>
    void operator()(const std::string& name, T& member)
    {
        if constexpr (std::is_arithmetic_v<T>) {
            numbers(name, &member, {});
        } else {
            archive inner(d_file, d_saves, full(name));
            member.state(inner);
        }
    }
    template <typename T>
    void operator()(const std::string& name, std::atomic<T>& member)
    {
        T value = member;
        (*this)(name, value);
        if (!d_saves) // others may be counting
            member = value;
    }
    template <typename T>
    void operator()(const std::string& name, std::vector<T>& member)
    {
        numbers(name, member.data(), { member.size() });
    }
    void operator()(const std::string& name, std::string& member);

    //! Numbers that make sense from `low` to `high` only.
    template <typename T>
    void operator()(const std::string& name, T& member, T low, T high)
    {
        numbers(name, &member, {}, low, high);
    }
    template <typename T>
    void operator()(const std::string& name, std::vector<T>& member, T low, T high)
    {
        numbers(name, member.data(), { member.size() }, low, high);
    }

    enum allowed { finite, any };
    //! An array of this shape, row by row.
    template <typename T>
    void numbers(const std::string& name,
                 T* first,
                 const std::vector<std::size_t>& shape,
                 allowed values = finite)
    {
        move(name, dtype<T>(), sizeof(T), first, shape, values);
    }

    //! The same, of numbers that make sense from `low` to `high` only.
    template <typename T>
    void numbers(const std::string& name,
                 T* first,
                 const std::vector<std::size_t>& shape,
                 T low,
                 T high)
    {
        if (d_saves) {
            std::vector<T> within(first, first + size_of(shape));
            for (T& each : within) // one that is no number stays so
                each = std::clamp(each, low, high);
            numbers(name, within.data(), shape);
            return;
        }
        numbers(name, first, shape);
        check(name, first, size_of(shape), low, high);
    }

    /*! An array that the file has to hold; nothing is allocated for one of another size.
     * Only for restoring. */
    template <typename T>
    std::vector<T> array(const std::string& name,
                         const std::vector<std::size_t>& shape,
                         allowed values = finite)
    {
        const std::size_t count = size_of(shape);
        d_file.bytes(full(name), dtype<T>(), sizeof(T), count);
        std::vector<T> result(count);
        numbers(name, result.data(), shape, values);
        return result;
    }

    //! Of an array that brings its size: unchanged when saving.
    std::vector<std::size_t> shape(const std::string& name,
                                   const std::vector<std::size_t>& shape) const;

    //! \throws model_file_error about the member
    [[noreturn]] void refuse(const std::string& name, const std::string& reason) const
    {
        d_file.fail(full(name) + " " + reason);
    }

private:
    archive(tensor_file& file, bool saves, const std::string& prefix)
        : d_file(file), d_saves(saves), d_prefix(prefix)
    {
    }

    static std::size_t size_of(const std::vector<std::size_t>& shape)
    {
        return std::accumulate(
            shape.begin(), shape.end(), std::size_t{ 1 }, std::multiplies<>());
    }
    // Unsigned numbers go as their bits: older torch has no name for them.
    template <typename T>
    static const char* dtype()
    {
        if constexpr (std::is_same_v<T, bool>)
            return "BOOL";
        else if constexpr (std::is_floating_point_v<T>)
            return sizeof(T) == 4 ? "F32" : "F64";
        else
            return sizeof(T) == 1 ? "U8" : sizeof(T) == 4 ? "I32" : "I64";
    }
    template <typename T>
    void check(
        const std::string& name, const T* members, std::size_t count, T low, T high) const
    {
        for (std::size_t i = 0; i < count; ++i)
            if (!(members[i] >= low && members[i] <= high))
                refuse(name,
                       "is " + std::to_string(members[i]) + ", allowed: " +
                           std::to_string(low) + " to " + std::to_string(high));
    }
    std::string full(const std::string& name) const { return d_prefix + "." + name; }
    void move(const std::string& name,
              const std::string& dtype,
              std::size_t item,
              void* first,
              const std::vector<std::size_t>& shape,
              allowed values);

    tensor_file& d_file; // only changed when saving
    const bool d_saves;
    const std::string d_prefix;
};

} // namespace gr::adann::core
