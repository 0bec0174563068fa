/* -*- c++ -*- */
/*
 * How the labels of an alphabet fall into levels.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>

namespace gr::adann::core {

/*! Up to 8 classes are levels themselves, in one dimension. More are a square QAM, whose
 * label is i·levels + q: the level of I and that of Q. */
struct symbol_levels {
    explicit symbol_levels(std::size_t classes)
        : dimensions(classes <= 8 ? 1 : 2), levels(classes)
    {
        if (dimensions == 2)
            for (levels = 1; levels * levels < classes;)
                ++levels;
    }
    //! Of the label, in dimension 0 (I, or the only one) or 1 (Q).
    std::size_t level(std::size_t label, std::size_t dimension) const
    {
        return dimensions == 1 ? label : dimension == 0 ? label / levels : label % levels;
    }

    std::size_t dimensions;
    std::size_t levels; //!< of each dimension: 2, 4 or 8
};

} // namespace gr::adann::core
