/* -*- c++ -*- */
/*
 * Whether labels determine a channel.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Labels determine a channel if they have at least half as many different pairs of neighbours as random ones
 * on average. A short idle word, or a few points of a dense constellation, may be explained by many channels.
 *
 * Of 64 labels of 16 points that is 28 pairs, of 4 points 8: there an idle word of 12 symbols has as many. */
class label_variety
{
public:
    //! \param probabilities of the labels, (M,)
    //! \param symbols that are looked at
    label_variety(const std::vector<float>& probabilities, std::size_t symbols);

    std::size_t symbols() const { return d_symbols; }
    //! \param labels symbols() of them
    bool is_enough(const std::uint8_t* labels) const;

private:
    std::size_t d_classes, d_symbols;
    std::size_t d_least; // different pairs
};

} // namespace gr::adann::core
