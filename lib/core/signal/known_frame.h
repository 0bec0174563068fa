/* -*- c++ -*- */
/*
 * Where a frame of known symbols lies in a stream of decisions.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"

#include <gnuradio/adann/equalizer_settings.h>

#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

namespace gr::adann::core {

/*! The labels of one frame, from patterns of its period and of divisors of it; not_known elsewhere.
 * \param classes of the constellation
 * \throws std::invalid_argument naming what does not fit */
std::vector<std::uint8_t> frame_of(const std::vector<known_pattern>& patterns,
                                   std::size_t classes);

/*! Finds a frame of known symbols that repeats, and gives each symbol's label from then on.
 *
 * Decisions are correlated with the frame's known points at each of its positions. Of n random
 * symbols that correlation C has |C|² / n distributed as exp(-x), for points and decisions of
 * unit power, so the largest one of T positions is accepted from x = ln T + 16 on, with an error
 * probability of exp(-16). It does not depend on the rotation. It is added up from frame to
 * frame, `most_frames` at most. Once found, the known symbols are correlated where they lie.
 * Where that is below its threshold twice in a row, it searches again. Decisions are random data
 * elsewhere: an idle pattern that repeats with the frame may be taken for it. Nothing is
 * allocated after construction. */
class known_frame
{
public:
    static constexpr std::size_t most_frames = 16;

    //! \param labels frame_of()'s, of which one is known at least
    known_frame(const constellation& symbols, std::vector<std::uint8_t> labels);

    std::size_t period() const { return d_labels.size(); }
    //! Symbols until the next test: next() and take() may be given so many at most.
    std::size_t left() const { return period() - d_in_period; }
    //! Labels of the next symbols, as many as left(); valid until take().
    const std::uint8_t* next();
    //! Takes the decisions of these symbols.
    void take(const std::uint8_t* decided, std::size_t n);

    //! The symbol, below period(), counted from the stream's first, at which frames start.
    std::optional<std::size_t> position() const { return d_position; }
    //! Another stream begins.
    void start();

private:
    struct known_point {
        std::size_t place; // in the frame
        std::complex<float> point;
    };

    std::complex<float> sent(std::size_t place) const
    {
        return d_points[d_labels[place]];
    }
    void search();
    void check();
    void forget();

    std::vector<std::complex<float>> d_points; // of labels, of unit power
    std::vector<std::uint8_t> d_labels, d_next;
    std::vector<known_point> d_known;
    std::vector<std::complex<float>>
        d_sums;            // correlation at each position, or at the one that was found
    double d_sent = 0;     // Σ |point|² of a frame
    double d_received = 0; // Σ |decision|²
    std::size_t d_symbols = 0; // in d_received
    std::size_t d_frames = 0;  // in d_sums
    std::size_t d_in_period = 0;
    bool d_doubtful = false;
    std::optional<std::size_t> d_position;
};

} // namespace gr::adann::core
