/* -*- c++ -*- */
/*
 * The latest decided symbols, for labels that become known only after they were decided.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/windows.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! The latest symbols of a stream: the network's samples, and the labels that were handed out,
 * which may come later. Symbols are counted from the stream's first one.
 *
 * Allocates in its constructor only. */
class decided_past
{
public:
    static constexpr std::size_t symbols = std::size_t{ 1 } << 18;

    /*! \param stride floats from one window to the next
     * \param dimension floats of a window
     * \param seen,handed_out symbols of the stream that came before */
    decided_past(std::size_t stride,
                 std::size_t dimension,
                 std::uint64_t seen,
                 std::uint64_t handed_out);

    //! Adds the windows of the next symbols, of this stride and dimension.
    void see(const feature_view& windows);
    //! Adds the labels of the next symbols.
    void hand_out(const std::uint8_t* labels, std::size_t n);
    //! Forgets the samples so far.
    void forget_samples() { d_first_seen = d_seen; }

    bool has_labels(std::uint64_t first, std::size_t n) const;
    bool has_samples(std::uint64_t first, std::size_t n) const;
    std::uint8_t label(std::uint64_t symbol) const { return d_labels[symbol % symbols]; }
    //! \param samples room for the windows of n symbols: (n - 1) stride + dimension floats
    void copy(std::uint64_t first, std::size_t n, float* samples) const;

private:
    const std::size_t d_stride, d_dimension;
    const std::size_t d_kept; // symbols in the ring, the last window's length included
    std::vector<float> d_samples;
    std::vector<std::uint8_t> d_labels;
    std::uint64_t d_first_seen, d_seen, d_first_label, d_handed_out;
};

} // namespace gr::adann::core
