/* -*- c++ -*- */
/*
 * A fuzzer's bytes, taken apart into numbers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

//! What libFuzzer calls, and replay.cc.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace fuzz {

//! What must hold, whatever comes in.
inline void require(bool holds, const char* what)
{
    if (!holds) {
        std::fprintf(stderr, "broken: %s\n", what);
        std::abort();
    }
}

//! Numbers from the front of the bytes; zeros when they are used up.
class input
{
public:
    input(const std::uint8_t* bytes, std::size_t size) : d_bytes(bytes), d_left(size) {}

    std::size_t left() const { return d_left; }

    template <typename T>
    T take()
    {
        T value{};
        const std::size_t n = std::min(sizeof value, d_left);
        std::memcpy(&value, d_bytes, n);
        d_bytes += n;
        d_left -= n;
        return value;
    }
    //! 0 to most, from as few bytes as it needs.
    std::size_t up_to(std::size_t most)
    {
        return (most < 256 ? take<std::uint8_t>() : take<std::uint32_t>()) % (most + 1);
    }
    //! 1 to most, every power of two as often: inputs that take little time are many.
    std::size_t size_up_to(std::size_t most)
    {
        std::size_t halvings = 0;
        while (most >> (halvings + 1) >= least_size)
            ++halvings;
        return 1 + up_to((most >> up_to(halvings)) - 1);
    }
    bool flag() { return take<std::uint8_t>() & 1; }
    template <typename T>
    const T& of(const std::vector<T>& all)
    {
        return all[up_to(all.size() - 1)];
    }
    //! A value of an enumeration that has words.
    template <typename Enum>
    Enum word()
    {
        const auto table = words(Enum{});
        return table[up_to(table.size() - 1)].value;
    }
    //! Up to `most` of the numbers that are left.
    template <typename T>
    std::vector<T> rest(std::size_t most)
    {
        std::vector<T> values(std::min(most, d_left / sizeof(T)));
        for (auto& value : values)
            value = take<T>();
        return values;
    }

private:
    static constexpr std::size_t least_size = 32;

    const std::uint8_t* d_bytes;
    std::size_t d_left;
};

} // namespace fuzz
