/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/pause_detector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gr::adann::core {

namespace {
// A limit beyond this is too near to the signal's level: with an echo, data has groups of less power than the point's.
constexpr float largest_limit = 0.35f;
// Groups that the level is averaged over where it rises, and where it falls: over several pauses, as short as packets.
constexpr float rising = 16, falling = 128;

constexpr float largest_power = largest_sample * largest_sample;

// Mean squares over that of signal and noise.
float limit_of(const expected_waveform& waveform, const constellation& symbols)
{
    float least = std::numeric_limits<float>::max();
    for (const auto point : symbols.unit_points())
        least = std::min(least, std::norm(point));
    const float noise = waveform.noise_power() / waveform.power();
    const float limit = std::sqrt(noise * (least + noise)) / (1 + noise);
    return limit < largest_limit ? limit : 0;
}
} // namespace

pause_detector::pause_detector(const expected_waveform& waveform,
                               const constellation& symbols,
                               const window_geometry& window)
    : d_own((window.dimension() - window.stride()) / 2),
      d_limit(limit_of(waveform, symbols))
{
}

void pause_detector::found::state(archive& members)
{
    members("level", level, 0.0f, std::numeric_limits<float>::max());
    members("sum", sum, 0.0f, std::numeric_limits<float>::max());
    members("count", count, std::size_t{ 0 }, group - 1);
    members("quiet", quiet, std::size_t{ 0 }, longest);
    members("since_quiet", since_quiet, std::size_t{ 0 }, never);
    members("since_pause", since_pause, std::size_t{ 0 }, never);
    members("part", part, 0.0, 1.0);
}

void pause_detector::add(const feature_view& windows)
{
    for (std::size_t i = 0; i < windows.count; ++i) {
        const float* const own = windows[i] + d_own;
        const float power = std::inner_product(own, own + windows.stride, own, 0.0f);
        // One that is no number, or far too large, says nothing of pauses.
        d_now.sum += power < largest_power ? power : d_now.level / group;
        if (++d_now.count == group) {
            take(d_now.sum);
            d_now.sum = 0;
            d_now.count = 0;
        }
    }
}

void pause_detector::take(float power)
{
    if (d_now.level == 0)
        d_now.level = power;
    const bool is_quiet = power < d_limit * d_now.level;
    if (is_quiet && d_now.quiet == longest) { // the level now
        d_now.quiet = 0;
        d_now.level = power;
    } else {
        d_now.quiet = is_quiet ? d_now.quiet + group : 0;
    }
    const bool pauses = d_now.quiet > group;
    const auto later = [](std::size_t since) {
        return std::min(since + group, found::never);
    };
    d_now.since_quiet = d_now.quiet ? 0 : later(d_now.since_quiet);
    d_now.since_pause = pauses ? 0 : later(d_now.since_pause);
    constexpr double weight = double{ group } / remembered;
    d_now.part += weight * ((pauses ? 1 : 0) - d_now.part);
    d_now.level += (power - d_now.level) / (power > d_now.level ? rising : falling);
}

} // namespace gr::adann::core
