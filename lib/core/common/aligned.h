/* -*- c++ -*- */
/*
 * Arrays of floats that start on a cache line.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace gr::adann::core {

template <typename T>
struct cache_line_allocator {
    using value_type = T;
    static constexpr std::align_val_t line{ 64 };

    cache_line_allocator() = default;
    template <typename U>
    cache_line_allocator(const cache_line_allocator<U>&)
    {
    }
    T* allocate(std::size_t n)
    {
        return static_cast<T*>(::operator new(n * sizeof(T), line));
    }
    void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
    template <typename U>
    bool operator==(const cache_line_allocator<U>&) const
    {
        return true;
    }
    template <typename U>
    bool operator!=(const cache_line_allocator<U>&) const
    {
        return false;
    }
};

using aligned_floats = std::vector<float, cache_line_allocator<float>>;

} // namespace gr::adann::core
