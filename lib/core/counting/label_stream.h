/* -*- c++ -*- */
/*
 * The recent part of an endless stream of labels, in bounded memory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gr::adann::core {

/*! Labels begin() … end() - 1 of a stream, numbered from its start and contiguous in
 * memory.
 *
 * The storage is twice the capacity, so that moving the labels back to its front costs
 * less than one copy of each label. */
class label_stream
{
public:
    explicit label_stream(std::size_t capacity) : d_storage(2 * capacity) {}

    std::int64_t begin() const { return d_begin; }
    std::int64_t end() const { return d_begin + d_size; }
    std::size_t room() const { return d_ended ? 0 : d_storage.size() / 2 - d_size; }
    //! No more labels will come.
    bool ended() const { return d_ended; }
    void finish() { d_ended = true; }

    const std::uint8_t* at(std::int64_t index) const
    {
        return d_storage.data() + d_front + (index - d_begin);
    }

    //! Appends the first min(count, room()) labels, reduced to the bits in `mask`.
    std::size_t append(const std::uint8_t* labels, std::size_t count, std::uint8_t mask)
    {
        count = std::min(count, room());
        if (d_front + d_size + count > d_storage.size()) {
            std::memmove(d_storage.data(), d_storage.data() + d_front, d_size);
            d_front = 0;
        }
        std::uint8_t* out = d_storage.data() + d_front + d_size;
        for (std::size_t i = 0; i < count; ++i)
            out[i] = labels[i] & mask;
        d_size += count;
        return count;
    }

    void discard_before(std::int64_t index)
    {
        const auto count = std::clamp<std::int64_t>(index - d_begin, 0, d_size);
        d_front += count;
        d_begin += count;
        d_size -= count;
    }

    void clear()
    {
        d_front = d_size = 0;
        d_begin = 0;
        d_ended = false;
    }

private:
    std::vector<std::uint8_t> d_storage;
    std::size_t d_front = 0;
    std::size_t d_size = 0;
    std::int64_t d_begin = 0;
    bool d_ended = false;
};

} // namespace gr::adann::core
