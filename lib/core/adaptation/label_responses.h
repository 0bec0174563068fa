/* -*- c++ -*- */
/*
 * Responses of whitened samples to labels.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/refinement.h"
#include "core/common/aligned.h"
#include "core/simd/kernels.h"

#include <cmath>
#include <vector>

namespace gr::adann::core {

/*! The expected waveform of labels passes through a filter; the residual of the samples is
 * whitened by a linear prediction, so that for Gaussian noise its energy is a log-likelihood.
 * The response of a symbol is that of the whitened samples to a unit of one of its dimensions,
 * by the waveform's affine part. Nothing is allocated after construction. */
class label_responses
{
public:
    label_responses(const constellation& symbols, const expected_waveform& waveform);

    //! The signal from now on.
    void use(const refinement& signal);

    const expected_waveform& waveform() const { return d_waveform; }
    expected_waveform& waveform() { return d_waveform; }
    std::size_t dimensions() const { return d_dimensions; } //!< of a point
    std::size_t planes() const { return d_planes; }         //!< floats of a sample
    std::size_t lags() const
    {
        return d_lags;
    } //!< order of the whitening prediction, samples
    //! Symbols before and after a symbol whose whitened samples depend on its label.
    std::size_t before() const { return d_waveform.reach() + filter_reach; }
    std::size_t behind() const { return before() + refinement::predicted_from; }
    std::size_t floats() const { return d_length * d_planes; } //!< of a response

    //! Difference of two points of unit power in a dimension.
    float difference(std::size_t from, std::size_t to, std::size_t dimension) const
    {
        return d_points[to * d_dimensions + dimension] -
               d_points[from * d_dimensions + dimension];
    }
    /*! Product of the responses of a symbol's dimension and of one of the symbol that is `later`
     * symbols after it. */
    float product(std::size_t later, std::size_t own, std::size_t its) const;
    //! Sum of the samples of the first dimension's response: its gain for a constant.
    std::complex<double> direct() const
    {
        std::complex<double> sum = 0;
        for (std::size_t i = 0; i < floats(); i += d_planes)
            sum += std::complex<double>(d_response[i],
                                        d_planes == 2 ? d_response[i + 1] : 0);
        return sum;
    }
    //! Product of a response, from its float `skipped` on, with n whitened floats.
    float along(std::size_t dimension,
                const float* white,
                std::size_t skipped,
                std::size_t n) const
    {
        return d_kernels->dot(&d_response[dimension * floats() + skipped], white, n);
    }

    /*! Whitens a residual.
     * \param rest,white n samples, the first lags() of which become zero */
    void whiten(const float* rest, std::size_t n, float* white) const;
    /*! Whitened residual of the samples of simd::lanes symbols, after correcting their gain.
     * \param labels of the first of them, with behind() more before it and before() after the last
     * \param samples of the first, with those of predicted_from symbols before it
     * \param gains of the previous blocks; on return of this one, too
     * \param white lanes · stride floats */
    void subtract_waveform(const std::uint8_t* labels,
                           const float* samples,
                           residual_gains& gains,
                           float* white);

    //! Matched filter outputs of a symbol: its responses' products with the whitened residual.
    struct match {
        float along[2] = {}; // of each dimension
    };
    //! The energy of a residual along a symbol's responses: noise, where the label is right.
    struct energy_along {
        float inverse[2] = {}; // of the energies of the responses

        float operator()(const match& found) const
        {
            return found.along[0] * found.along[0] * inverse[0] +
                   found.along[1] * found.along[1] * inverse[1];
        }
    };
    energy_along find_energy_along() const
    {
        energy_along found;
        for (std::size_t d = 0; d < d_dimensions; ++d)
            found.inverse[d] = 1 / product(0, d, d);
        return found;
    }
    static constexpr std::size_t most_matched = 4 * simd::lanes; //!< at once
    /*! Finds the matches of consecutive symbols.
     * \param white whitened residual of the first one, with that of before() symbols before it,
     * and of behind() symbols after the last
     * \param count a multiple of simd::lanes, up to most_matched
     * \param matches of each of them */
    void find_matches(const float* white, std::size_t count, match* matches);

    /*! Matched filter outputs of every second symbol, with responses of unit energy: noise, where
     * the labels are right.
     * \param white whitened residual of symbols first to last - 1
     * \param use called with a symbol's number and its output in each dimension */
    template <typename Use>
    void
    look_along(const float* white, std::size_t first, std::size_t last, Use use) const;

    /*! Change of the whitened samples by another label, with the whole waveform: floats() values
     * from the response's start on.
     * \param labels `count` of them
     * \param change room for whole lanes */
    void find_change(std::uint8_t* labels,
                     std::size_t count,
                     std::size_t symbol,
                     std::uint8_t other,
                     aligned_floats& change);

private:
    template <typename sample>
    void find_responses(const refinement& signal);
    void find_filters(const refinement& signal);

    expected_waveform d_waveform;
    std::uint64_t d_waveform_number = 0;
    const std::size_t d_dimensions, d_planes; // of points, of samples
    // Samples: of the prediction, the filter, a symbol's response.
    const std::size_t d_lags, d_taps, d_length;
    std::vector<float> d_points;                // (M, dimensions), of unit power
    std::vector<float> d_whitening, d_combined; // whitening; that and the filter
    std::vector<float> d_response;              // (dimensions, length)
    residual_gains::weights d_gain_weights;
    const simd::kernels* d_kernels;
    // Factors of the kernels' sliding products: (planes, taps + lags) for expected samples,
    // (planes, lags + 1) for received ones, (stride, dimensions, symbols of a response).
    aligned_floats d_sliding_wave, d_sliding_samples, d_sliding_response;
    float d_offset[2] = {}; // of the filter, whitened
    // Scratch for simd::lanes symbols.
    aligned_floats d_expected, d_turned; // samples, and those times i
    aligned_floats d_received;           // whitened samples
    aligned_floats d_phases, d_found;    // (stride, symbols); (dimensions, most_matched)
    // (planes, samples of a symbol's reach); (planes, samples of the sliding product).
    aligned_floats d_factors, d_sliding_change;
    std::vector<float> d_before, d_after; // expected samples around a symbol
};

template <typename Use>
void label_responses::look_along(const float* white,
                                 std::size_t first,
                                 std::size_t last,
                                 Use use) const
{
    constexpr std::size_t apart = 2; // symbols
    const std::size_t floats = d_length * d_planes, stride = d_waveform.stride();
    float scale[2] = {}, along[2] = {};
    for (std::size_t d = 0; d < d_dimensions; ++d) {
        const float* const response = &d_response[d * floats];
        const float energy = d_kernels->dot(response, response, floats);
        scale[d] = energy > 0 ? 1 / std::sqrt(energy) : 0;
    }
    for (std::size_t i = first + before() + refinement::predicted_from;
         i + behind() < last;
         i += apart) {
        const float* const own = &white[(i - before() - first) * stride];
        for (std::size_t d = 0; d < d_dimensions; ++d)
            along[d] = scale[d] * d_kernels->dot(&d_response[d * floats], own, floats);
        use(i, along);
    }
}

} // namespace gr::adann::core
