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
 * memory; optionally with a row of floats for each.
 *
 * The storage is twice the capacity, so that moving the labels back to its front costs
 * less than one copy of each label. That of the rows grows with what is kept. */
class label_stream
{
public:
    explicit label_stream(std::size_t capacity, std::size_t row = 0)
        : d_storage(2 * capacity), d_row(row)
    {
    }

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

    const float* row(std::int64_t index) const
    {
        return d_rows.data() + (d_front + (index - d_begin)) * d_row;
    }

    //! Appends the first min(count, room()) labels, reduced to the bits in `mask`, and rows.
    std::size_t append(const std::uint8_t* labels,
                       std::size_t count,
                       std::uint8_t mask,
                       const float* rows = nullptr)
    {
        count = std::min(count, room());
        if (d_front > std::max(d_size, least_kept)) {
            std::memmove(d_storage.data(), d_storage.data() + d_front, d_size);
            std::copy_n(d_rows.begin() + d_front * d_row, d_size * d_row, d_rows.begin());
            d_front = 0;
        }
        if (rows) {
            const std::size_t used = (d_front + d_size) * d_row;
            if (used + count * d_row > d_rows.size())
                d_rows.resize(used + std::max(used, count * d_row));
            std::copy_n(rows, count * d_row, d_rows.begin() + used);
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

private:
    static constexpr std::size_t least_kept = 4096;

    std::vector<std::uint8_t> d_storage;
    std::size_t d_row;
    std::vector<float> d_rows;
    std::size_t d_front = 0;
    std::size_t d_size = 0;
    std::int64_t d_begin = 0;
    bool d_ended = false;
};

} // namespace gr::adann::core
