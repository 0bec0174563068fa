/* -*- c++ -*- */
/*
 * Detects from known symbols whether decisions are rotated or late.
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

/*! Tests known symbols for each displacement against
 * none, by cumulative sums of log-likelihood ratios.
 *
 * For an estimate z of a symbol known as P, log p(z | P) = -|z - P|² / v - log v up to a constant;
 * for random data log p(z) = -|z|² / (1 + v) - log(1 + v). As one known symbol in ten may be wrong,
 * the evidence for P is L(z, P) = log(0.9 p(z | P) / p(z) + 0.1). Each known symbol adds L(z', P')
 * - L(z, P), within ±2, to the sum of a displacement: z' is the estimate `later` symbols on, and P'
 * is P, rotated. A sum never falls below zero. It decides once it exceeds 16: wrongly after more
 * than e^16 known symbols on average. The variance v is that of estimates around known points, over
 * some 256 of them.
 *
 * Source: Page, "Continuous inspection schemes", Biometrika 41, 1954. */
class ambiguity
{
public:
    //! Symbols on each side of the known one whose estimates are used.
    static constexpr int around = displacement::most_late;

    //! \param variance of an estimate, as trained
    ambiguity(const constellation& symbols, float variance);

    /*! Adds a known symbol.
     * \param known its label
     * \param estimate of its point, of unit power, with those of `around` symbols on each side
     * \param decided its decided label, with those around: used where the estimate is NaN */
    void take(std::uint8_t known,
              const std::complex<float>* estimate,
              const std::uint8_t* decided);

    //! The displacement that known symbols have shown since reset(); none if they show none.
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
