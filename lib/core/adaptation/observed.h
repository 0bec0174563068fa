/* -*- c++ -*- */
/*
 * A value that one thread changes and another one reads from time to time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/handover.h"

#include <array>
#include <atomic>

namespace gr::adann::core {

/*! The owner changes it between enter() and leave() and never waits. The reader reads it
 * while the owner is outside, and waits for that. An owner that enters meanwhile goes on
 * with a copy: the assignment of a T may take time, but should allocate nothing. */
template <typename T>
class observed
{
public:
    explicit observed(const T& initial) : d_values{ initial, initial } {}

    //! Owner: the value, until leave().
    T& enter()
    {
        d_inside = true;
        if (d_read == d_current) {
            d_values[1 - d_current] = d_values[d_current];
            d_current = 1 - d_current;
        }
        return d_values[d_current];
    }
    void leave()
    {
        d_inside = false;
        if (d_waiting.exchange(false))
            d_left.post();
    }

    //! Any thread, while neither of the two uses it.
    T& resting() { return d_values[d_current]; }

    //! Reader.
    template <typename Read>
    void read(Read use)
    {
        for (;; d_left.wait()) {
            d_waiting = true;
            d_read = d_current.load();
            if (!d_inside && d_read == d_current)
                break;
            d_read = nothing;
        }
        use(d_values[d_read]);
        d_read = nothing;
        d_waiting = false;
        d_left.clear();
    }

private:
    static constexpr int nothing = -1;

    std::array<T, 2> d_values;
    std::atomic<int> d_current{ 0 }, d_read{ nothing };
    std::atomic<bool> d_inside{ false }, d_waiting{ false };
    semaphore d_left;
};

} // namespace gr::adann::core
