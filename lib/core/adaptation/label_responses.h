/* -*- c++ -*- */
/*
 * What labels make of whitened samples.
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

/*! The waveform that labels make expect, through a filter; the rest whitened by a linear prediction, so
 * that for Gaussian noise its energy is a likelihood. The response of a symbol is what a unit of one of
 * its dimensions is in whitened samples, by the waveform's affine part. Nothing is allocated after
 * construction. */
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
    std::size_t lags() const { return d_lags; } //!< samples that whitening looks back
    std::size_t taps() const { return d_taps; } //!< of the filter
    //! Whitened symbols before a symbol, and behind it, that its label changes.
    std::size_t before() const { return d_waveform.reach() + filter_reach; }
    std::size_t behind() const { return before() + refinement::predicted_from; }
    std::size_t floats() const { return d_length * d_planes; } //!< of a response

    //! By how much points of unit power differ in a dimension.
    float difference(std::size_t from, std::size_t to, std::size_t dimension) const
    {
        return d_points[to * d_dimensions + dimension] -
               d_points[from * d_dimensions + dimension];
    }
    /*! Product of the responses of a symbol's dimension and of one of a symbol that is `later`
     * ones behind it. */
    float product(std::size_t later, std::size_t own, std::size_t its) const;
    //! The sum of the samples of the first dimension's response.
    std::complex<double> direct() const
    {
        std::complex<double> sum = 0;
        for (std::size_t i = 0; i < floats(); i += d_planes)
            sum += std::complex<double>(d_response[i],
                                        d_planes == 2 ? d_response[i + 1] : 0);
        return sum;
    }
    //! … with n whitened samples, from float `skipped` of the response on.
    float along(std::size_t dimension,
                const float* white,
                std::size_t skipped,
                std::size_t n) const
    {
        return d_kernels->dot(&d_response[dimension * floats() + skipped], white, n);
    }

    /*! The rest, whitened.
     * \param rest,white n samples, the first lags() of which become zero */
    void whiten(const float* rest, std::size_t n, float* white) const;
    /*! The same of simd::lanes symbols, from their samples on, without the residual
     * phase of a carrier.
     * \param labels of the first of them; behind() lie before it, before() behind the last
     * \param samples of the first; those of predicted_from symbols lie before it
     * \param phases of complex samples: of the blocks before, then of this one, too
     * \param white lanes · stride floats */
    void subtract_waveform(const std::uint8_t* labels,
                           const float* samples,
                           residual_phases& phases,
                           float* white);

    //! How well the affine part says that a symbol's point may have been another one.
    struct match {
        float along[2] = {}; // of each dimension
    };
    static constexpr std::size_t most_matched = 4 * simd::lanes; //!< at once
    /*! Of some symbols.
     * \param white whitened rest of the first one; that of before() symbols lies before it,
     * of behind() ones behind the last
     * \param count a multiple of simd::lanes, up to most_matched
     * \param matches of each of them */
    void find_matches(const float* white, std::size_t count, match* matches);

    /*! What the affine part's responses of each second symbol, of unit energy, find in the rest:
     * noise where the labels are right.
     * \param white whitened rest of symbols first to last - 1
     * \param use is given a symbol's number and what is found, of each dimension */
    template <typename Use>
    void
    look_along(const float* white, std::size_t first, std::size_t last, Use use) const;

    /*! How whitened samples change with a label, by the whole waveform: floats() values, from the
     * response's start.
     * \param labels `count` of them
     * \param change room for them in whole lanes */
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
    std::vector<float> d_whitening, d_combined; // filters: its own, with the other one
    std::vector<float> d_response;              // (dimensions, length) of a unit
    residual_phases::weights d_phase_weights{};
    const simd::kernels* d_kernels;
    // (planes, taps + lags) and (planes, lags + 1): what slides over expected samples, and
    // over those received; (stride, dimensions, symbols of a response).
    aligned_floats d_sliding_wave, d_sliding_samples, d_sliding_response;
    float d_offset[2] = {}; // whitened
    // Of simd::lanes symbols at a time.
    aligned_floats d_expected, d_turned; // samples, and those times i
    aligned_floats d_received;           // whitened samples
    aligned_floats d_phases, d_found;    // (stride, symbols); (dimensions, most_matched)
    // (planes, samples of a symbol's reach); (planes, what those slide over).
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
