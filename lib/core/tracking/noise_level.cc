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
// Variance of the square of a value that is equally likely everywhere in an interval around zero, over its mean squared.
constexpr float relative_variance = 0.8f;

std::size_t dimensions_of(const expected_waveform& waveform)
{
    return waveform.is_complex() ? 2 : 1;
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
                    lost_limit(waveform.noise_power(),
                               left_at_random(alphabet, dimensions_of(waveform))) }),
      d_points(alphabet.unit_points()),
      d_learnt(waveform.noise_power()),
      d_random(left_at_random(alphabet, dimensions_of(waveform))),
      d_farthest(left_at_random(alphabet, alphabet.dimensions())),
      d_tests(averaged / symbols),
      d_most(1 -
             deviations * std::sqrt(relative_variance /
                                    static_cast<float>(alphabet.dimensions() * d_tests *
                                                       (symbols - 2 * d_window)))),
      d_power(d_learnt),
      d_linear(symbols * waveform.stride())
{
}

void noise_level::reset()
{
    d_power = d_learnt;
    d_distance = {};
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
    if (d_distance.mean > 2 - d_most) // of wrong labels
        d_power = d_learnt;
    const bool more = d_distance.mean < d_most && residual > limit(part);
    if (more)
        d_power = residual;
    return more;
}

// Mean square of estimates' distance from their labels' points, of the symbols whose window is in the test.
float noise_level::distance(const expected_waveform& waveform,
                            const std::uint8_t* labels,
                            const float* samples)
{
    waveform.expect_nonlinear(labels, d_symbols, d_linear.data());
    for (std::size_t i = 0; i < d_linear.size(); ++i)
        d_linear[i] = samples[i] - d_linear[i];
    float sum = 0;
    for (std::size_t k = d_window; k + d_window < d_symbols; ++k)
        sum += std::norm(
            d_estimator.estimate(&d_linear[(k - d_window) * d_response.stride]) -
            d_points[labels[k]]);
    return sum / static_cast<float>(d_symbols - 2 * d_window);
}

void noise_level::state(archive& members)
{
    members("noise", d_power, d_learnt, 1e12f);
    members("distance", d_distance.mean, 0.0f, 1e12f);
    members("tests", d_distance.count, std::size_t{ 0 }, d_tests);
}

} // namespace gr::adann::core
