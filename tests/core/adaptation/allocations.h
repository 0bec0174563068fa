/* -*- c++ -*- */
/*
 * Counts allocations and waits, by replacing operator new and, with the linker's --wrap,
 * what a thread can wait in.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <atomic>
#include <cstddef>

// Of all threads: the adapter's steps count too.
extern std::atomic<std::size_t> allocations, bytes_in_use, most_bytes;
// Of this thread only: the adapter may wait for work, and allocate before it learns.
extern thread_local std::size_t waits, own_allocations;
// From so many bytes on, operator new finds none.
extern std::atomic<std::size_t> refused_bytes;
// Nor for this one of own_allocations, counted from 1; 0: for none.
extern thread_local std::size_t refused_allocation;

struct counts {
    std::size_t allocations, waits;
};

#if defined(__clang__) && __clang_major__ >= 20
#define ADANN_REAL_TIME [[clang::nonblocking]]
#else
#define ADANN_REAL_TIME
#endif

//! Under Clang's RealtimeSanitizer, what may block within it ends the program.
template <typename Work>
void in_real_time(Work work) ADANN_REAL_TIME
{
    work();
}

template <typename Work>
counts counted_in(Work work)
{
    const counts before{ allocations, waits };
    in_real_time(work);
    return { allocations - before.allocations, waits - before.waits };
}
