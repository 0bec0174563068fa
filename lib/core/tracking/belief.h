/* -*- c++ -*- */
/*
 * When residuals say that labels are right, or wrong: the rules, in one place.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"

#include <cstddef>

namespace gr::adann::core {

/*! What decisions at random leave of a sample, mean square: (2h)²/12 in each dimension, h half the
 * least distance of two points. */
inline float left_at_random(const constellation& symbols, std::size_t dimensions)
{
    const float h = symbols.half_distance();
    return h * h / 3 * static_cast<float>(dimensions);
}

//! A stream whose residual exceeds this part of it is lost, if it knows nothing of its noise.
constexpr float lost_part = 0.75f;

/*! Whether labels are believed in place of others: by half of what these leave. */
template <typename number>
constexpr bool clearly_less(number left, number others)
{
    return left < others / 2;
}

} // namespace gr::adann::core
