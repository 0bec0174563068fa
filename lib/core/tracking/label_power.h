/* -*- c++ -*- */
/*
 * Whether labels can be those of random data, by the power of their points.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! The mean power of labels' points against that of random data.
 *
 * Decisions of a signal that became fainter are the constellation's inner points, and taps that
 * learn from them keep it faint. Of n labels of random data the mean power is normal, with the
 * variance of a point's power over n. */
class label_power
{
public:
    //! \param probabilities of the labels, (M,)
    label_power(const constellation& symbols, const std::vector<float>& probabilities);

    /*! Whether it lies further from that than random data's does: by five standard
     * deviations, so of random data in one of two million sets. Never where all points have the
     * same power. */
    bool is_unusual(const std::uint8_t* labels, std::size_t n) const;

private:
    std::vector<double> d_power; // of each label's point, less the mean
    double d_variance = 0;       // of these
};

} // namespace gr::adann::core
