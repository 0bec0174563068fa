/* -*- c++ -*- */
/*
 * Packets whose check was right: symbols that become known after they were decided.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/decided_past.h"
#include "core/signal/constellation.h"
#include "core/tracking/ambiguity.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace gr::adann::core {

//! What packets show of the decisions.
struct packet_count {
    std::uint64_t packets = 0, bits = 0, errors = 0; //!< errors: wrong bits
    double ber() const                               //!< NaN before the first one
    {
        return static_cast<double>(errors) / static_cast<double>(bits);
    }
};

/*! Compares a packet's labels with those that were handed out, makes batches to learn from of
 * them, and says whether decisions are rotated or late.
 *
 * What packets are compared with is kept from the first packet on, which is not compared itself.
 * Packets that were lost are not counted, so that the error rate is that of the others. */
class decoded_packets
{
public:
    static constexpr std::size_t most_waiting =
        64; //!< packets; older ones are not learnt

    /*! \param stride floats from one window to the next
     * \param dimension floats of a window
     * \param batch symbols */
    decoded_packets(const constellation& symbols,
                    std::size_t stride,
                    std::size_t dimension,
                    std::size_t batch);

    //! What comes next is another stream.
    void start();
    //! What the network saw of the next symbols.
    void see(const feature_view& windows);
    //! The labels of the next symbols.
    void hand_out(const std::uint8_t* labels, std::size_t n);
    //! Another network decides from here on.
    void change_network();
    //! The receiver's delay and rotation may be others from here on.
    void change_channel();

    /*! \param first the packet's first symbol, counted from the stream's
     * \param labels of its symbols, not_known where one is not
     * \throws std::invalid_argument unless it is among the latest decided_past::symbols, or for a
     * label beyond the constellation, or if none is known */
    void take(std::uint64_t first, std::vector<std::uint8_t> labels);

    const packet_count& counted() const { return d_counted; }
    //! What packets since change_channel() say.
    displacement displaced() const { return d_ambiguity.found(); }

    bool is_waiting() const
    {
        return !d_waiting.empty();
    } //!< one that was not yet learnt
    /*! The next batch to learn from, if there is one.
     * \param latest what is not among so many of the latest symbols is left out; 0: nothing is
     * \param samples,labels,truth room for the windows of `batch` symbols, their labels and
     * what they are known to be */
    bool next_batch(std::size_t latest,
                    float* samples,
                    std::uint8_t* labels,
                    std::uint8_t* truth);

private:
    struct packet {
        std::uint64_t first;
        std::vector<std::uint8_t> labels;
        std::size_t learnt = 0; // symbols
    };

    void compare(const packet& known);

    const std::size_t d_classes, d_bits, d_stride, d_dimension, d_batch;
    std::uint64_t d_seen = 0, d_handed_out = 0, d_changed = 0; // symbols
    std::optional<decided_past> d_past;
    std::deque<packet> d_waiting;
    packet_count d_counted;
    ambiguity d_ambiguity;
};

} // namespace gr::adann::core
