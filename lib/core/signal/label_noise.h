/* -*- c++ -*- */
/*
 * Noise that depends on the symbol sent.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! Power of the noise of each label, over the mean of all symbols. A laser's and an optical amplifier's noise
 * grow with the level, oscillators' with the amplitude.
 *
 * Labels have factors of their own where these scatter by 0.3 or more beyond what the number of symbols
 * explains, else 1; and only while each label has half its share of the symbols: else noise of one may have been
 * taken for the others. */
class label_noise
{
public:
    //! \param least factor
    explicit label_noise(std::size_t classes, float least = 1e-3f);

    /*! A symbol that has the label with a probability `part`.
     * \param energy of its residual along its response, over the mean power of the noise */
    void add(std::size_t label, float part, float energy)
    {
        if (!(energy > 0)) // no noise, or no number
            return;
        const float limit = most * d_largest;
        d_energies[label] += part * (energy < limit ? energy : limit);
        d_counts[label] += part;
    }
    //! Finds the factors by what was added.
    void find();
    const std::vector<float>& factors() const { return d_factors; }       //!< (M)
    const std::vector<float>& logarithms() const { return d_logarithms; } //!< of these
    float largest() const { return d_largest; }                           //!< factor
    float smallest() const { return d_smallest; }                         //!< factor
    float span() const { return d_span; } //!< ln of the largest factor over the least

    void reset();
    void state(archive& members);

private:
    void use_factors();
    void forget_factors(); // all are 1

    // Energy of a symbol, over that of the noisiest label: more is a disturbance.
    static constexpr float most = 10;

    float d_least;
    std::vector<float> d_energies, d_counts, d_factors, d_logarithms;
    float d_largest = 1, d_smallest = 1, d_span = 0;
    double d_symbols = 0, d_kept = 0; // that were added; sum of d_counts after find()
};

} // namespace gr::adann::core
