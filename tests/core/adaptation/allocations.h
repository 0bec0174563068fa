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
// Of this thread only: the adapter may wait for work.
extern thread_local std::size_t waits;
// From so many bytes on, operator new finds none for threads that are not never_refused.
extern std::atomic<std::size_t> refused_bytes;
extern thread_local bool never_refused;

struct counts {
    std::size_t allocations, waits;
};

template <typename Work>
counts counted_in(Work work)
{
    const counts before{ allocations, waits };
    work();
    return { allocations - before.allocations, waits - before.waits };
}
