/* -*- c++ -*- */
/*
 * The segments of an ATSC transmission, and what is known of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gr::adann::core {

//! 8VSB: 832 symbols a segment, 313 segments a field, of which the first one is known.
struct atsc {
    static constexpr std::size_t segment = 832;
    static constexpr std::size_t segment_sync = 4; //!< known symbols of each segment
    static constexpr std::size_t field_sync = 704; //!< known symbols of a field's first
    static constexpr float power = 21;             //!< mean square of ±1, ±3, ±5, ±7
};

//! What is in a segment: data, or the synchronisation of one of the two kinds of fields.
enum class segment_kind { data, field1, field2 };

/*! The levels that every receiver knows of a field's first segment: segment sync, a sequence of
 * 511 symbols, and three times one of 63, whose middle one is inverted in every second field. The
 * first four are those of every segment.
 * Source: ATSC A/53, Part 2, section 6.5. */
std::array<float, atsc::field_sync> field_sync_levels(segment_kind field);

} // namespace gr::adann::core
