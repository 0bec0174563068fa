/* -*- c++ -*- */
/*
 * Tests whether a signal is worth learning from.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/constellation.h"
#include "core/signal/windows.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann::core {

/*! Finds batches that should not be learnt from: samples that are not finite, constant or
 * newly saturated, noise, and decisions with patterns that neither random data nor a
 * drifted link has (no signal, idle or framing patterns, another modulation).
 *
 * Noise is detected by its kurtosis k = E(x - mean)⁴ / variance², which is 3 for Gaussian
 * noise and less for PAM and QAM: 1 for clean PAM2, about 2 for the others at several
 * samples a symbol, more with intersymbol interference. With k₀ the running mean over
 * batches without a problem, a batch is noise if 3 - k < (3 - k₀)/4. The test is skipped
 * if 3 - k₀ < 0.4, and before 8192 symbols without a problem.
 */
class signal_check
{
public:
    /*! \param scrambled whether the data is random. If not, or for a constellation without
     * label_parts, only the frequencies of labels are tested, not patterns */
    signal_check(const constellation& symbols, bool scrambled);
    /*! Why not to learn from a batch, or an empty string. Batches of less than 512
     * symbols are tested together with earlier ones.
     * \param decided labels by the network in use */
    std::string problem(const feature_view& batch, const std::uint8_t* decided);

    //! Forgets the signal.
    void reset();

    void state(archive& members);

private:
    std::string range_problem(const feature_view& batch);
    std::string noise_problem(const feature_view& batch);
    void learn_usual(const feature_view& batch);
    std::string pattern_problem(const feature_view& batch, const std::uint8_t* decided);

    const label_parts d_parts;
    const bool d_scrambled;

    double d_usual_extremes = 2; // part of the samples at the extremes; 2: not known yet
    double d_kurtosis = 0, d_usual_kurtosis = 0;
    double d_usual_symbols = 0; // in the mean d_usual_kurtosis, at most its time constant
    // Counts of triples of decisions for each part of the labels (pairs for
    // parts of 8 values); of labels.
    std::vector<float> d_patterns;
    std::size_t d_pattern_symbols = 0;
    std::string d_pattern_problem; // of the latest complete sample
};

} // namespace gr::adann::core
