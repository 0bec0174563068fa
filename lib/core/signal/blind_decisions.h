/* -*- c++ -*- */
/*
 * Decisions of unknown symbols, by a blind linear equalizer.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"
#include "core/signal/windows.h"

#include <cstdint>
#include <memory>

namespace gr::adann::core {

//! Decisions of blind_equalizer() for windows of one shape; repeated calls allocate nothing.
class blind_decisions
{
public:
    /*! \param samples of a window to come; the middle one is its symbol's
     * \param planes floats of a sample: 2 of complex ones, which complex points need
     * \param most windows of a view */
    blind_decisions(const constellation& symbols,
                    std::size_t samples,
                    std::size_t planes,
                    std::size_t most);
    ~blind_decisions();

    /*! The labels of a view's symbols, up to a symmetry of the constellation and a delay by
     * whole symbols; valid until the next call. Null where blind_equalizer() would throw.
     * Allocates nothing. */
    const std::uint8_t* find(const feature_view& view);

private:
    struct search;
    template <typename T>
    struct search_of;
    std::unique_ptr<search> d_search;
};

} // namespace gr::adann::core
