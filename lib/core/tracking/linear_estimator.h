/* -*- c++ -*- */
/*
 * Linear estimates of symbols' points from samples.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"
#include "core/signal/constellation.h"
#include "core/signal/expected_waveform.h"
#include "core/simd/kernels.h"

#include <complex>

namespace gr::adann::core {

/*! The response of samples to a symbol's point: the waveform's affine part around it, affine_reach() symbols on each
 * side. In each dimension of the points it begins at a multiple of floats(). */
struct symbol_response {
    symbol_response(const expected_waveform& waveform, std::size_t dimensions);

    std::size_t floats() const { return (2 * reach + 1) * stride; }
    const float* dimension(std::size_t d) const { return &values[d * floats()]; }

    std::size_t dimensions, reach, stride; //!< symbols on each side; floats of a symbol
    aligned_floats values;
};

/*! Unbiased linear estimate, of least mean square error, of the middle one of 2 window() + 1 symbols.
 *
 * The samples are the symbols' responses and noise: the model's, or white noise. */
class linear_estimator
{
public:
    //! What it is for.
    struct design {
        std::size_t missing =
            0; //!< of the window's last symbols, whose samples are not received yet
        bool interferes = true; //!< whether the other symbols do
        float white_noise = 0;  //!< power of a sample; 0: the noise that the model learnt
    };
    linear_estimator(const expected_waveform& waveform,
                     const symbol_response& response,
                     const design& wanted);

    //! Symbols on each side whose samples an estimate uses, by a response.
    static std::size_t window(const symbol_response& response);
    //! Mean square error of an estimate.
    float variance() const { return d_variance; }
    //! \param samples less their nonlinear part, of the window's symbols that are received
    std::complex<float> estimate(const float* samples) const
    {
        float z[2] = {};
        for (std::size_t d = 0; d < d_dimensions; ++d)
            z[d] = d_kernels->dot(&d_filter[d * d_floats], samples, d_floats);
        return { z[0], z[1] };
    }

private:
    const simd::kernels* d_kernels;
    std::size_t d_dimensions, d_floats;
    aligned_floats d_filter; // (dimensions, floats)
    float d_variance = 0;
};

} // namespace gr::adann::core
