/* -*- c++ -*- */
/*
 * When residuals say that labels are right, or wrong: the rules, in one place.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"

#include <algorithm>
#include <cstddef>

namespace gr::adann::core {

/*! Mean square residual of random decisions, of a sample: (2h)²/12 in each dimension, h half the
 * least distance of two points. */
inline float left_at_random(const constellation& symbols, std::size_t dimensions)
{
    const float h = symbols.half_distance();
    return h * h / 3 * static_cast<float>(dimensions);
}

//! Part of the residual of random decisions beyond the noise, from which on a stream is lost.
constexpr float lost_part = 0.75f;

/*! Mean square of a sample beyond which a stream is lost: the noise and a part of the residual of random decisions,
 * left_at_random(); but more than the noise itself scatters: over the nine blocks that a
 * residual is averaged over by 1/24, or 1/17 of float samples. A third is 8 or 6 of these. */
constexpr float lost_limit(float noise, float at_random, float part = lost_part)
{
    return noise + std::max(part * at_random, noise / 3);
}

//! Residual below which labels are accepted in place of others: half of the others' residual.
template <typename number>
constexpr number acceptance_limit(number others)
{
    return others / 2;
}
//! Whether labels are accepted in place of others.
template <typename number>
constexpr bool clearly_less(number residual, number others)
{
    return residual < acceptance_limit(others);
}

//! Times an earlier residual of a test, up to which a later one is as large: of n real samples it scatters by √(2/n).
//! That is 0.14 for the 104 of a test at one sample a symbol, 0.07 for the 448 at four, less of complex ones.
constexpr float as_before = 1.25f;

} // namespace gr::adann::core
