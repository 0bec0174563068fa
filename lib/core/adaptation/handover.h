/* -*- c++ -*- */
/*
 * Exchange of values between the deciding thread and the adapter thread, and who may block.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include <semaphore.h>

namespace gr::adann::core {

//! Counts events between threads. post() never blocks; wait() does until something was
//! posted.
class semaphore
{
public:
    semaphore() { sem_init(&d_semaphore, 0, 0); }
    ~semaphore() { sem_destroy(&d_semaphore); }
    semaphore(const semaphore&) = delete;
    semaphore& operator=(const semaphore&) = delete;

    void post() { sem_post(&d_semaphore); }
    void wait()
    {
        while (sem_wait(&d_semaphore) != 0 && errno == EINTR) {
        }
    }
    //! Forgets what was posted and not waited for.
    void clear()
    {
        while (sem_trywait(&d_semaphore) == 0) {
        }
    }

private:
    sem_t d_semaphore;
};

//! A value for any thread. Each call waits for the others, for as long as a copy takes.
template <typename T>
class locked_value
{
public:
    T get() const
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        return d_value;
    }
    //! \return the previous value
    T exchange(T value)
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        return std::exchange(d_value, std::move(value));
    }

private:
    mutable std::mutex d_mutex;
    T d_value{};
};

/*! The newest value, from one writer to one reader; older ones are lost. Neither ever
 * blocks.
 *
 * Three slots: one belongs to the writer, one to the reader, and the third, `d_middle`,
 * is exchanged for either's own; a flag next to its index says that it is newer than the
 * reader's. */
template <typename T>
class latest_value
{
public:
    explicit latest_value(const T& initial) : d_slots{ initial, initial, initial } {}

    //! Writer: the slot to fill before publish().
    T& writing() { return d_slots[d_writing]; }
    void publish() { d_writing = d_middle.exchange(d_writing | fresh) & index; }

    //! Reader: the value published last.
    const T& newest()
    {
        if (d_middle.load() & fresh)
            d_reading = d_middle.exchange(d_reading) & index;
        return d_slots[d_reading];
    }

private:
    static constexpr unsigned fresh = 4, index = 3;

    std::array<T, 3> d_slots;
    unsigned d_writing = 0;
    std::atomic<unsigned> d_middle{ 1 };
    unsigned d_reading = 2;
};

/*! A bounded queue of reusable slots, from one writer to one reader. Neither ever blocks:
 * a full queue has no slot to write and an empty one none to read. */
template <typename T>
class slot_queue
{
public:
    slot_queue(std::size_t slots, const T& initial) : d_slots(slots, initial) {}

    //! Writer: a free slot, the same one until push(); null if the queue is full.
    T* free_slot()
    {
        return d_pushed.load() - d_popped.load() < d_slots.size()
                   ? &d_slots[d_pushed.load() % d_slots.size()]
                   : nullptr;
    }
    void push() { ++d_pushed; }

    //! Reader: the oldest filled slot, the same one until pop(); null if the queue is
    //! empty.
    T* filled_slot()
    {
        return d_pushed.load() != d_popped.load()
                   ? &d_slots[d_popped.load() % d_slots.size()]
                   : nullptr;
    }
    void pop() { ++d_popped; }

    //! Any thread.
    std::size_t slots() const { return d_slots.size(); }
    //! Any thread: slots that are filled and not yet popped.
    std::size_t filled() const
    {
        const std::size_t popped = d_popped.load(); // read first: never above d_pushed
        return d_pushed.load() - popped;
    }

private:
    std::vector<T> d_slots;
    std::atomic<std::size_t> d_pushed{ 0 };
    std::atomic<std::size_t> d_popped{ 0 };
};

} // namespace gr::adann::core
