/* -*- c++ -*- */
/*
 * Linear prediction of the noise.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/time_constants.h"
#include "core/files/archive.h"
#include "core/simd/kernels.h"

#include <array>
#include <complex>
#include <vector>

namespace gr::adann::core {

/*! Whitens noise by linear prediction: solves the normal equations of its autocorrelation, which is
 * measured on residuals.
 *
 * The autocorrelation is averaged with three forgetting time constants. Each predicts a residual before it
 * is added. The longest one is in use whose errors were lately at most 1 % larger than the smallest: the
 * noise after a filter that follows a moving link changes within hundreds of symbols, that of a static link
 * is averaged over thousands. Nothing is allocated after construction. */
class noise_prediction
{
public:
    //! Forgetting time constants, symbols of the stream.
    static constexpr std::array<std::size_t, 3> memories{ statistics_memory,
                                                          channel_memory,
                                                          512 };

    /*! \param lags samples that a prediction is made from
     * \param planes 1 of real samples, 2 of complex ones, which are interleaved
     * \param samples most of a residual */
    noise_prediction(std::size_t lags, std::size_t planes, std::size_t samples);

    void reset();
    //! Whether a residual with power was added.
    bool known() const { return power(d_averages[0]) > 0; }

    /*! Adds the autocorrelation of a residual.
     * \param samples of it, more than lags
     * \param symbols of the stream since the residual before */
    void add(const float* residual, std::size_t samples, std::size_t symbols);

    /*! Writes the whitening filter: 1, then the negative prediction of a sample from the previous ones,
     * latest first; zeros if the noise has no power. */
    void write(std::vector<std::complex<float>>& whitening);

    //! The time constant in use, symbols.
    std::size_t memory() const { return memories[best()]; }

    void state(archive& members);

private:
    using correlation = std::vector<std::complex<double>>;
    struct average {
        correlation sums;
        double error = 0; // of predictions: average, relative to the noise's power
    };
    static double power(const average& of) { return of.sums[0].real(); }

    std::size_t best() const;
    void measure(const float* residual, std::size_t samples);
    bool predict(const average& by);
    double error() const;

    const std::size_t d_lags, d_planes;
    const simd::kernels* d_kernels;
    std::array<average, memories.size()> d_averages;
    // Added so far, up to the longest time constant: then errors are compared.
    std::size_t d_symbols = 0;
    correlation d_latest;                 // of one residual
    correlation d_work, d_taps;           // of the equations; their solution
    std::vector<float> d_residual_turned; // times i
};

} // namespace gr::adann::core
