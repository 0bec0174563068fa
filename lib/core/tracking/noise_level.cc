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
// Tests of samples without the filter that are averaged, and part of their labels' residual that a channel fitted to
// these leaves if the residual is noise: it has a tenth of the unknowns, and gains of 0.8 explain as much.
constexpr std::size_t most_unfiltered = 16;
constexpr float of_noise = 0.7f;
constexpr float by_chance = 4; // one mean in 30,000 is less
// Variance of the square of a value that is equally likely everywhere in an interval around zero, over its mean squared.
constexpr float relative_variance = 0.8f;

// Mean square residual of decisions by a wrong channel, or with a wrong carrier frequency.
float least_left(const expected_waveform& waveform, const constellation& alphabet)
{
    return waveform.is_complex()
               ? std::min(left_at_random(alphabet, 2), alphabet.rotating_residual())
               : left_at_random(alphabet, 1);
}

/* Largest mean distance of right labels, over that of random ones: less than these have, and than those that an unknown
 * carrier frequency leaves. scatter: standard deviation of random labels' mean. */
float largest_of_right(const expected_waveform& waveform,
                       const constellation& alphabet,
                       float scatter)
{
    const float most = 1 - deviations * scatter;
    if (!waveform.is_complex() || alphabet.dimensions() == 1)
        return most;
    const float rotating = alphabet.rotating_residual() / left_at_random(alphabet, 2);
    return std::min(most, rotating * (1 - by_chance * scatter));
}
} // namespace

noise_level::noise_level(const expected_waveform& waveform,
                         const constellation& alphabet,
                         std::size_t symbols)
    : d_symbols(symbols),
      d_response(waveform, alphabet.dimensions()),
      d_window(linear_estimator::window(d_response)),
      d_estimator(waveform,
                  d_response,
                  { 0,
                    true,
                    lost_limit(waveform.noise_power(), least_left(waveform, alphabet)) }),
      d_points(alphabet.unit_points()),
      d_learnt(waveform.noise_power()),
      d_random(least_left(waveform, alphabet)),
      d_farthest(left_at_random(alphabet, alphabet.dimensions())),
      d_tests(averaged / symbols),
      d_scatter(std::sqrt(relative_variance /
                          static_cast<float>(alphabet.dimensions() * d_tests *
                                             (symbols - 2 * d_window)))),
      d_most(largest_of_right(waveform, alphabet, d_scatter)),
      d_power(d_learnt),
      d_points_seen(alphabet, waveform.probabilities(), most_unfiltered),
      d_estimates(symbols - 2 * d_window),
      d_linear(symbols * waveform.stride())
{
}

void noise_level::reset()
{
    d_power = d_learnt;
    d_distance = {};
    d_points_seen.reset();
    d_residual = d_fitted = {};
}

bool noise_level::test_unfiltered(const residuals& left,
                                  const expected_waveform& waveform,
                                  const std::uint8_t* labels,
                                  const float* samples)
{
    estimate(waveform, labels, samples);
    d_points_seen.add(d_estimates.data(), d_estimates.size());
    d_residual.add(left.expected, most_unfiltered);
    d_fitted.add(left.fitted, most_unfiltered);
    const bool more = d_points_seen.shows_points() &&
                      d_fitted.mean > of_noise * d_residual.mean &&
                      d_fitted.mean > as_before * d_power;
    if (more)
        d_power = d_fitted.mean;
    return more;
}

bool noise_level::test(float residual,
                       const expected_waveform& waveform,
                       const std::uint8_t* labels,
                       const float* samples,
                       float part)
{
    if (residual < d_power)
        d_power = std::max(residual, d_learnt);
    if (!(residual > lost_limit(d_learnt, d_random, part / 2))) {
        d_distance = {};
        return false;
    }
    const float found = samples ? distance(waveform, labels, samples) / d_farthest
                                : std::numeric_limits<float>::quiet_NaN();
    if (std::isfinite(found))
        d_distance.add(found, d_tests);
    if (d_distance.count < d_tests)
        return false;
    if (d_distance.mean > 1 + deviations * d_scatter &&
        !d_points_seen.shows_points()) // of wrong labels
        d_power = d_learnt;
    const bool more = d_distance.mean < d_most && residual > limit(part);
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
    members("distance", d_distance.mean, 0.0f, 1e12f);
    members("tests", d_distance.count, std::size_t{ 0 }, d_tests);
    members("points", d_points_seen);
    members("residual", d_residual.mean, 0.0f, 1e12f);
    members("fitted", d_fitted.mean, 0.0f, 1e12f);
    members("residual_tests", d_residual.count, std::size_t{ 0 }, most_unfiltered);
    d_fitted.count = d_residual.count;
}

} // namespace gr::adann::core
