/* -*- c++ -*- */
/*
 * Whether a receiver's symbols are rotated or late, as known ones show.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/constellation.h"
#include "core/tracking/last_channel.h"

#include <complex>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Tests known symbols for each displacement against none, by cumulated sums of log-likelihood
 * ratios.
 *
 * Of a symbol estimated as z, one that is known as P has log p(z | P) = -|z - P|² / v - log v, up to a
 * constant, and one of random data log p(z) = -|z|² / (1 + v) - log(1 + v). One in ten may be known
 * wrongly, so L(z, P) = log(0.9 p(z | P) / p(z) + 0.1) is what speaks for P. For a displacement speaks
 * that the symbol `later` is P, rotated, L(z', P'), and that this one is not, -L(z, P); two at most. A
 * sum never falls below zero; it decides once it is `sure`, on average after more than e^sure known
 * symbols where it is wrong. The variance v is what is known less what was estimated, over the latest
 * `memory` known symbols.
 *
 * Source: Page, "Continuous inspection schemes", Biometrika 41, 1954. */
class ambiguity
{
public:
    //! Symbols around the known one whose estimates are looked at, on each side.
    static constexpr int around = displacement::most_late;

    //! \param variance of an estimate, as trained
    ambiguity(const constellation& symbols, float variance);

    /*! \param known label of a symbol
     * \param estimate of it; those of `around` symbols lie on each side. Points of unit power
     * \param decided label of it, and around: its point is the estimate where that is NaN */
    void take(std::uint8_t known,
              const std::complex<float>* estimate,
              const std::uint8_t* decided);

    //! What the known symbols taken since reset() say.
    displacement found() const { return d_found; }
    void reset();

    void state(archive& members);

private:
    // A displacement that is tested.
    struct hypothesis {
        displacement by;
        std::complex<float> turn;
        float sum = 0;
    };

    std::vector<std::complex<float>> d_points; // of unit power
    std::vector<hypothesis> d_tested;
    float d_trained, d_variance;
    displacement d_found;
};

} // namespace gr::adann::core
