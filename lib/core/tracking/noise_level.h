/* -*- c++ -*- */
/*
 * How much noise a stream has, and the residual beyond which it is lost.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/constellation.h"
#include "core/signal/expected_waveform.h"
#include "core/signal/running_mean.h"
#include "core/tracking/belief.h"
#include "core/tracking/linear_estimator.h"
#include "core/tracking/point_likelihood.h"

#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

namespace gr::adann::core {

/*! The noise that the model learnt, or more, where tests of a stream show so.
 *
 * A residual beyond the limit has two causes: labels are wrong, or there is more noise than when the model was trained.
 *
 * test() looks at labels of the filter's output. From linear estimates, the points of random decisions are (2h)²/12 away in
 * each dimension on average, h half the least distance of two points; those of wrong labels as far or further. Tests in
 * which the residual is beyond half-way from the learnt noise to the limit average that distance over some 1024 symbols.
 * If it is less by seven standard deviations, and the points are not those of a rotating constellation
 * (point_likelihood.h), the residual is noise. It counts as such until a test finds less, or until the distance is more by
 * as much. Right labels are recognised at symbol error rates up to 0.13 of 16QAM, 0.16 of 64QAM, 0.07 of QPSK, 8PSK,
 * 16APSK and PAM8, 0.05 of PAM4, and 0.03 of two levels (simulated points in white noise), but not where linear estimates
 * are poor, as of a channel with deep notches.
 *
 * test_unfiltered() looks at samples without the filter, so that no taps have made points of noise. If the points are
 * seen, and no channel explains the labels' residual, that is noise, which wrong labels do not end. A
 * fifth of the symbols may be wrong. */
class noise_level
{
public:
    //! \param symbols of a test
    noise_level(const expected_waveform& waveform,
                const constellation& alphabet,
                std::size_t symbols);

    //! lost_limit()
    float limit(float part = lost_part) const
    {
        return lost_limit(d_power, d_random, part);
    }
    //! The same, or less: below the residual of decisions that rotate with a carrier that is not followed.
    float limit_without_carrier() const { return lost_limit(d_power, d_least_random); }
    //! Whether there is more noise than the model learnt.
    bool is_raised() const { return d_power > as_before * d_learnt; }
    //! Mean square of a sample's noise.
    float power() const { return d_power; }
    //! Mean square of a sample's residual with random decisions.
    float at_random() const { return d_power + d_random; }
    /*! A test of the latest symbols.
     * \param residual mean square of a sample; NaN: nothing is measured yet
     * \param labels of them, and the waveform's reach on each side
     * \param samples from which they were decided, without a carrier; null: none can be used
     * \param part of the residual of random decisions that the limit has
     * \return whether there is more noise than was known */
    bool test(float residual,
              const expected_waveform& waveform,
              const std::uint8_t* labels,
              const float* samples,
              float part = lost_part);
    //! Whether to make test_unfiltered(), by the residual of a sample: more than the noise, of complex points.
    bool wants_unfiltered(float residual);
    //! Of labels that the network decided without the filter, mean squares of a sample.
    struct residuals {
        float expected; //!< by the expected waveform
        float fitted;   //!< by a channel fitted to them
    };
    //! A test of these labels and samples. \return whether there is more noise than was known
    bool test_unfiltered(const residuals& left,
                         const expected_waveform& waveform,
                         const std::uint8_t* labels,
                         const float* samples);
    //! The next labels are by other taps.
    void forget_tests();
    //! Back to the noise that the model learnt.
    void reset();
    void state(archive& members);

private:
    void estimate(const expected_waveform& waveform,
                  const std::uint8_t* labels,
                  const float* samples);
    float distance(const expected_waveform& waveform,
                   const std::uint8_t* labels,
                   const float* samples);

    std::size_t d_symbols; // of a test
    symbol_response d_response;
    std::size_t d_window; // symbols on each side that an estimate needs
    std::vector<std::complex<float>> d_points; // of unit power
    // Mean squares: noise of a sample; its residual with random decisions, and with those that rotate if that is less;
    // distance of random decisions from estimates.
    float d_learnt, d_random, d_least_random, d_farthest;
    linear_estimator d_estimator; // for as much noise as makes a stream seem lost
    std::size_t d_tests;          // of a mean distance
    float d_most;          // largest mean distance of right labels, over d_farthest
    float d_power, d_seen; // of a sample's noise: now, and of what test_unfiltered() saw
    // Over tests of a stream beyond the limit: distances over d_farthest, and complex points.
    running_mean<float, std::size_t> d_distance;
    std::optional<point_likelihood> d_filtered;
    // Of samples without the filter.
    std::optional<point_likelihood> d_unfiltered;
    running_mean<float, std::size_t> d_residual, d_fitted;
    std::size_t d_passed = 0; // tests that were wanted since the first ones
    // Of a test.
    std::vector<std::complex<float>> d_estimates;
    aligned_floats d_linear;
};

} // namespace gr::adann::core
