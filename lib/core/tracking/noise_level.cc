/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/noise_level.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {
// Symbols of a mean distance. Of noise alone, which taps make points of, the mean of fewer was at times as small as of
// right decisions; of so many never (tests: PAM4, QPSK and 16QAM, 1 to 16 samples a symbol).
constexpr std::size_t averaged = 1024;
// With two, a noisy stream whose taps made points of it was taken for a followed one (examples/coded_live.grc, while
// its sliders moved).
constexpr float deviations = 7;
// Tests of samples without the filter that are averaged at least; once they are, each eighth one is made. By 16 of them
// 8PSK was not seen at a signal-to-noise ratio of 4 dB, by 64 it is.
constexpr std::size_t most_unfiltered = 64, seldom = 8;
// Part of the labels' residual, by degrees of freedom, that a channel fitted to them does not explain if it is noise: a
// gain of 0.8 explains a tenth. It was 0.91 to 0.95 of six streams in noise, 0.78 of one with another echo.
constexpr float of_noise = 0.8f;
// Variance of the square of a value that is equally likely everywhere in an interval around zero, over its mean squared.
constexpr float relative_variance = 0.8f;

// Whether points can rotate among complex ones. PAM's do not: their estimates are real.
bool may_rotate(const expected_waveform& waveform, const constellation& alphabet)
{
    return waveform.is_complex() && alphabet.dimensions() == 2;
}

// Part of the residual of points that rotate with a wrong carrier frequency beyond which a stream is lost: taps lower it.
constexpr float rotating_part = 0.85f;

// Mean square residual of decisions by a wrong channel, or as much as makes lost_part of it rotating_part of that with a
// wrong carrier frequency.
float least_random(const expected_waveform& waveform, const constellation& alphabet)
{
    const float random = left_at_random(alphabet, waveform.is_complex() ? 2 : 1);
    return may_rotate(waveform, alphabet)
               ? std::min(random,
                          rotating_part / lost_part * alphabet.rotating_residual())
               : random;
}
} // namespace

noise_level::noise_level(const expected_waveform& waveform,
                         const constellation& alphabet,
                         std::size_t symbols)
    : d_symbols(symbols),
      d_response(waveform, alphabet.dimensions()),
      d_window(linear_estimator::window(d_response)),
      d_points(alphabet.unit_points()),
      d_learnt(waveform.noise_power()),
      d_random(left_at_random(alphabet, waveform.is_complex() ? 2 : 1)),
      d_least_random(least_random(waveform, alphabet)),
      d_farthest(left_at_random(alphabet, alphabet.dimensions())),
      d_estimator(waveform, d_response, { 0, true, lost_limit(d_learnt, d_random) }),
      d_tests(averaged / symbols),
      d_most(1 -
             deviations * std::sqrt(relative_variance /
                                    static_cast<float>(alphabet.dimensions() * d_tests *
                                                       (symbols - 2 * d_window)))),
      d_power(d_learnt),
      d_seen(d_learnt),
      d_estimates(symbols - 2 * d_window),
      d_linear(symbols * waveform.stride())
{
    if (may_rotate(waveform, alphabet)) {
        d_filtered.emplace(alphabet, waveform.probabilities(), d_tests);
        d_unfiltered.emplace(alphabet, waveform.probabilities(), most_unfiltered);
    }
}

void noise_level::reset()
{
    d_power = d_seen = d_learnt;
    forget_tests();
    if (d_unfiltered)
        d_unfiltered->reset();
    d_residual = d_fitted = {};
    d_passed = 0;
}

void noise_level::forget_tests()
{
    d_distance = {};
    if (d_filtered)
        d_filtered->reset();
}

bool noise_level::wants_unfiltered(float residual)
{
    return d_unfiltered && residual > as_before * d_power &&
           (d_unfiltered->sets() < most_unfiltered || ++d_passed % seldom == 0);
}

bool noise_level::test_unfiltered(const residuals& left,
                                  const expected_waveform& waveform,
                                  const std::uint8_t* labels,
                                  const float* samples)
{
    estimate(waveform, labels, samples);
    if (!d_unfiltered->add(d_estimates.data(), d_estimates.size()))
        return false;
    d_residual.add(left.expected, most_unfiltered);
    d_fitted.add(left.fitted, most_unfiltered);
    const bool more = d_unfiltered->shows_points() &&
                      d_fitted.mean > of_noise * d_residual.mean &&
                      d_fitted.mean > as_before * d_power;
    if (more)
        d_power = d_seen = d_fitted.mean;
    return more;
}

bool noise_level::test(float residual,
                       const expected_waveform& waveform,
                       const std::uint8_t* labels,
                       const float* samples,
                       float part)
{
    for (float* const power : { &d_power, &d_seen })
        if (residual < *power)
            *power = std::max(residual, d_learnt);
    if (!(residual > lost_limit(d_learnt, d_random, part / 2))) {
        forget_tests();
        return false;
    }
    const float found = samples ? distance(waveform, labels, samples) / d_farthest
                                : std::numeric_limits<float>::quiet_NaN();
    if (std::isfinite(found)) {
        d_distance.add(found, d_tests);
        if (d_filtered)
            d_filtered->add(d_estimates.data(), d_estimates.size());
    }
    if (d_distance.count < d_tests)
        return false;
    const bool has_points = !d_filtered || d_filtered->shows_points();
    if (d_distance.mean >
        2 - d_most) // labels are wrong, or more of them than can be recognised
        d_power = d_seen;
    const bool more = d_distance.mean < d_most && has_points && residual > limit(part);
    if (more)
        d_power = residual;
    return more;
}

// Estimates of the symbols whose window is in the test.
void noise_level::estimate(const expected_waveform& waveform,
                           const std::uint8_t* labels,
                           const float* samples)
{
    waveform.expect_nonlinear(labels, d_symbols, d_linear.data());
    for (std::size_t i = 0; i < d_linear.size(); ++i)
        d_linear[i] = samples[i] - d_linear[i];
    for (std::size_t k = 0; k < d_estimates.size(); ++k)
        d_estimates[k] = d_estimator.estimate(&d_linear[k * d_response.stride]);
}

// Mean square of estimates' distance from their labels' points.
float noise_level::distance(const expected_waveform& waveform,
                            const std::uint8_t* labels,
                            const float* samples)
{
    estimate(waveform, labels, samples);
    float sum = 0;
    for (std::size_t k = 0; k < d_estimates.size(); ++k)
        sum += std::norm(d_estimates[k] - d_points[labels[k + d_window]]);
    return sum / static_cast<float>(d_estimates.size());
}

void noise_level::state(archive& members)
{
    members("noise", d_power, d_learnt, 1e12f);
    members("seen", d_seen, d_learnt, 1e12f);
    members("distance", d_distance.mean, 0.0f, 1e12f);
    members("tests", d_distance.count, std::size_t{ 0 }, d_tests);
    if (!d_unfiltered)
        return;
    members("filtered", *d_filtered);
    members("unfiltered", *d_unfiltered);
    members("residual", d_residual.mean, 0.0f, 1e12f);
    members("residual_tests", d_residual.count, std::size_t{ 0 }, most_unfiltered);
    members("fitted", d_fitted.mean, 0.0f, 1e12f);
    members("fitted_tests", d_fitted.count, std::size_t{ 0 }, most_unfiltered);
    members("passed", d_passed);
}

} // namespace gr::adann::core
