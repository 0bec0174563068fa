/* -*- c++ -*- */
/*
 * Packets whose check sum was right: symbols that become known after they were decided.
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

//! Decision errors counted in packets.
struct packet_count {
    std::uint64_t packets = 0, bits = 0, errors = 0; //!< errors: wrong bits
    double ber() const                               //!< NaN before the first one
    {
        return static_cast<double>(errors) / static_cast<double>(bits);
    }
};

/*! Compares a packet's labels with those that were handed out, makes training batches of them, and
 * detects whether decisions are rotated or late.
 *
 * Decisions are kept from the first packet on, so that the first one itself is not compared. Lost
 * packets are not counted: the error rate is that of the received ones. */
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

    //! Another stream begins.
    void start();
    //! Adds the network's windows of the next symbols.
    void see(const feature_view& windows);
    //! Adds the labels of the next symbols.
    void hand_out(const std::uint8_t* labels, std::size_t n);
    //! The receiver's delay and rotation may change here: symbols so far do not show a displacement.
    void change_channel();
    //! From here on another network decides, or delay or rotation have changed: symbols so far are
    //! not learnt either.
    void change_receiver();

    /*! Adds a packet.
     * \param first its first symbol, counted from the stream's
     * \param labels of its symbols, not_known where one is not
     * \throws std::invalid_argument unless it is among the latest decided_past::symbols, or for a
     * label beyond the constellation, or if none is known */
    void take(std::uint64_t first, std::vector<std::uint8_t> labels);

    const packet_count& counted() const { return d_counted; }
    //! Delay and rotation of the decisions by the packets since change_channel().
    displacement displaced() const { return d_ambiguity.found(); }

    //! Whether there is a packet that was not yet learnt.
    bool is_waiting() const { return !d_waiting.empty(); }
    /*! The next batch to learn from, if there is one.
     * \param latest only so many of the latest symbols are learnt
     * \param samples,labels,truth room for the windows of
     * `batch` symbols, their decided and their known labels */
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
