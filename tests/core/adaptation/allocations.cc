/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "allocations.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>

#include <cstdlib>
#include <new>

std::atomic<std::size_t> allocations{ 0 }, bytes_in_use{ 0 }, most_bytes{ 0 };
thread_local std::size_t waits = 0, own_allocations = 0;
std::atomic<std::size_t> refused_bytes{ ~std::size_t{ 0 } };
thread_local std::size_t refused_allocation = 0;

namespace {

void* counted(void* p)
{
    if (!p)
        throw std::bad_alloc();
    ++allocations;
    ++own_allocations;
    const std::size_t now = bytes_in_use += malloc_usable_size(p);
    for (auto most = most_bytes.load();
         now > most && !most_bytes.compare_exchange_weak(most, now);) {
    }
    return p;
}

void discard(void* p)
{
    bytes_in_use -= malloc_usable_size(p);
    std::free(p);
}

// The one that is refused may be of std::stable_sort, which goes on without: then it is the next one.
bool is_refused(std::size_t n)
{
    const bool is_next = refused_allocation && own_allocations + 1 >= refused_allocation;
    if (is_next)
        refused_allocation = 0;
    return is_next || n >= refused_bytes;
}

} // namespace

void* operator new(std::size_t n)
{
    return counted(is_refused(n) ? nullptr : std::malloc(n));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept
{
    return counted(std::malloc(n)); // std::stable_sort's buffer
}
void* operator new(std::size_t n, std::align_val_t line)
{
    const auto alignment = static_cast<std::size_t>(line);
    return counted(
        is_refused(n)
            ? nullptr
            : std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment));
}
void operator delete(void* p) noexcept { discard(p); }
void operator delete(void* p, std::size_t) noexcept { discard(p); }
void operator delete(void* p, std::align_val_t) noexcept { discard(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { discard(p); }

extern "C" {
int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __real_sem_wait(sem_t* semaphore);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex)
{
    ++waits;
    return __real_pthread_mutex_lock(mutex);
}
int __wrap_sem_wait(sem_t* semaphore)
{
    ++waits;
    return __real_sem_wait(semaphore);
}
}
