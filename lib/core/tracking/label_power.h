/* -*- c++ -*- */
/*
 * Tests by the power of their points whether labels may be random data.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Compares the mean power of labels' points with that of random data.
 *
 * A signal that became fainter is decided as the constellation's inner points, and taps that learn
 * from such decisions keep it faint. The mean power of n labels of random data is Gaussian, with a
 * variance of 1/n of that of a point's power. */
class label_power
{
public:
    //! \param probabilities of the labels, (M,)
    label_power(const constellation& symbols, const std::vector<float>& probabilities);

    /*! Whether the mean power of n labels deviates from that of random data by more than five
     * standard deviations: random data does so in one of two million sets. Never where all
     * points have the same power. */
    bool is_unusual(const std::uint8_t* labels, std::size_t n) const;

private:
    std::vector<double> d_power; // of each label's point, less the mean
    double d_variance = 0;       // of these
};

} // namespace gr::adann::core
