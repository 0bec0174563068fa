/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/pause_detector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gr::adann::core {

namespace {
constexpr float largest_power = largest_sample * largest_sample;
// Beyond it the limit is too near to the signal's level: a channel that the model does not have makes symbols of less power.
constexpr float largest_limit = 0.35f;
// Of groups that are noise alone, over the noise's power: eight real samples exceed it in one of 13 groups, sixteen in one
// of 40, more rarely.
constexpr float of_noise = 1.6f;
// The level is exceeded by a fifth of the groups: neither pauses nor interference change it, up to 80 and 20 % of the time.
constexpr float exceeded = 0.2f;
constexpr float step = 1.0f / 64; // of ln(level), a group
constexpr float interference = 4; // times the level
} // namespace

pause_detector::powers pause_detector::powers_of(const expected_waveform& waveform)
{
    const std::vector<float> drawn = waveform.drawn();
    const std::size_t floats = group * waveform.stride();
    std::vector<float> powers(drawn.size() / floats);
    for (std::size_t i = 0; i < powers.size(); ++i) {
        const float* const first = &drawn[i * floats];
        powers[i] = std::inner_product(first, first + floats, first, 0.0f) /
                    static_cast<float>(group * waveform.sps());
    }
    std::sort(powers.begin(), powers.end());
    const float noise = waveform.noise_power(), least = powers.front() + noise;
    const float level = powers[static_cast<std::size_t>(
                            (1 - exceeded) * static_cast<float>(powers.size()))] +
                        noise;
    const float limit = std::sqrt(noise * least);
    const bool finds = limit < largest_limit * level && limit > of_noise * noise;
    return { level * static_cast<float>(group * waveform.sps()),
             finds ? limit / level : 0 };
}

pause_detector::pause_detector(const expected_waveform& waveform,
                               const window_geometry& window)
    : d_own((window.dimension() - window.stride()) / 2), d_powers(powers_of(waveform))
{
}

void pause_detector::found::state(archive& members)
{
    members("level", level, 0.0f, std::numeric_limits<float>::max());
    members("sum", sum, 0.0f, std::numeric_limits<float>::max());
    members("count", count, std::size_t{ 0 }, group - 1);
    members("quiet", quiet, std::size_t{ 0 }, longest);
    members("loud", loud, std::size_t{ 0 }, loudest + group);
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
    const bool is_quiet = power < d_powers.quiet * d_now.level;
    const bool is_loud = power > interference * std::max(d_now.level, d_powers.drawn);
    if ((is_quiet && d_now.quiet == longest) || (is_loud && d_now.loud >= loudest)) {
        d_now.quiet = d_now.loud = 0; // this is the level now
        d_now.level = power;
    } else {
        d_now.quiet = is_quiet ? d_now.quiet + group : 0;
        d_now.loud =
            is_loud ? d_now.loud + group : d_now.loud - std::min(d_now.loud, group / 8);
    }
    const bool pauses = d_now.quiet > group;
    const auto later = [](std::size_t since) {
        return std::min(since + group, found::never);
    };
    d_now.since_quiet = d_now.quiet ? 0 : later(d_now.since_quiet);
    d_now.since_pause = pauses ? 0 : later(d_now.since_pause);
    constexpr double weight = double{ group } / remembered;
    d_now.part += weight * ((pauses ? 1 : 0) - d_now.part);
    if (!is_loud)
        d_now.level *= std::exp(step * (power > d_now.level ? 1 - exceeded : -exceeded));
}

} // namespace gr::adann::core
