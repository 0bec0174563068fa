/* -*- c++ -*- */
/*
 * Delay and rotation of labels, which the samples of a stream alone do not show.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann::core {

//! Symbol t is label [t + later], rotated by symmetry `turned` of the constellation.
struct displacement {
    //! Largest delay of labels, early or late, in symbols: taps do not reach much further.
    static constexpr int most_late = 4;

    int later = 0;
    std::size_t turned = 0;

    bool operator==(const displacement& other) const
    {
        return later == other.later && turned == other.turned;
    }
    bool none() const { return *this == displacement{}; }

    //! \param prefix of the members' names
    void state(archive& members, const std::string& prefix, std::size_t symmetries)
    {
        members(prefix + "later", later, -most_late, most_late);
        members(prefix + "turned", turned, std::size_t{ 0 }, symmetries - 1);
    }
};

//! How many of n labels equal the others after a symmetry of the constellation.
inline std::size_t count_alike(const std::uint8_t* labels,
                               const std::uint8_t* others,
                               std::size_t n,
                               const std::vector<std::uint8_t>& symmetry)
{
    std::size_t alike = 0;
    for (std::size_t k = 0; k < n; ++k)
        alike += symmetry[others[k]] == labels[k];
    return alike;
}

} // namespace gr::adann::core
