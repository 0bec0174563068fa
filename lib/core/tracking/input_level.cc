/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/input_level.h"

#include "core/signal/median.h"
#include "core/signal/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {
// Power ratios to the expected level, or their inverse.
constexpr float fits = 2;
constexpr float far_off = 4; // taps and recovery follow smaller steps
constexpr float peak = 4;    // over the rms, that a signal with noise reaches
constexpr float most = 1e9f; // largest factor, and the inverse of the smallest

bool is_within(float ratio, float bound) { return ratio < bound && ratio * bound > 1; }
} // namespace

input_level::input_level(const std::vector<float>& expected,
                         std::size_t planes,
                         float noise)
    : d_planes(planes), d_expected(measure(expected.data(), expected.size()))
{
    d_expected.square += noise;
    d_expected.variance += noise;
}

input_level::measured input_level::measure(const float* samples, std::size_t n) const
{
    double sums[2] = {}, squares = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i + d_planes <= n; i += d_planes) {
        double square = 0;
        for (std::size_t p = 0; p < d_planes; ++p)
            square += static_cast<double>(samples[i + p]) * samples[i + p];
        if (!(square > 0 && std::isfinite(square)))
            continue;
        ++count;
        squares += square;
        for (std::size_t p = 0; p < d_planes; ++p)
            sums[p] += samples[i + p];
    }
    if (!count)
        return {};
    const auto all = static_cast<double>(count);
    const double mean = (sums[0] * sums[0] + sums[1] * sums[1]) / (all * all);
    const auto within = [](double value) {
        return static_cast<float>(
            std::clamp<double>(value, 0, std::numeric_limits<float>::max()));
    };
    return { within(squares / all), within(squares / all - mean) };
}

// Power after the factor, relative to the expected one: the smaller deviation of the two measures.
float input_level::ratio(const measured& found, float factor) const
{
    const float square = found.square / d_expected.square * factor * factor;
    const float variance = found.variance / d_expected.variance * factor * factor;
    if ((square > 1) != (variance > 1))
        return 1;
    return square > 1 ? std::min(square, variance) : std::max(square, variance);
}

input_level::measured input_level::median() const
{
    const auto middle = [&](float measured::*of) {
        std::array<float, looks> values;
        for (std::size_t i = 0; i < looks; ++i)
            values[i] = d_found[i].*of;
        return core::median(values.begin(), values.end());
    };
    return { middle(&measured::square), middle(&measured::variance) };
}

void input_level::change(float factor)
{
    if (is_confirmed())
        d_former = d_factor;
    d_factor = std::clamp(factor, 1 / most, most);
    d_far_off = d_followed = 0;
}

level_change input_level::look(const float* samples, std::size_t n, bool is_lost)
{
    const measured latest = measure(samples, n);
    if (!(latest.square > 0))
        return level_change::none;
    d_is_near = is_within(ratio(latest, d_factor), far_off);
    // Windows with larger samples are not used: nothing is decided then, so that no loss would be noticed.
    constexpr float most_rms = largest_sample / peak;
    is_lost |= latest.square * d_factor * d_factor > most_rms * most_rms;
    d_found[d_next] = latest;
    d_next = (d_next + 1) % looks;
    if (d_seen < looks && ++d_seen < looks)
        return level_change::none;
    const measured now = median();
    const float off = ratio(now, d_factor);
    const float wanted = is_within(ratio(now, 1), fits) ? 1 : d_factor / std::sqrt(off);
    if (!is_settled()) {
        ++d_seen;
        if (wanted == 1)
            return level_change::none;
        change(wanted);
        return level_change::of_signal;
    }
    const bool was_followed = is_confirmed();
    if (!was_followed)
        d_followed = is_lost ? 0 : d_followed + 1;
    if (!is_lost || is_within(off, far_off)) {
        d_far_off = 0;
        return level_change::none;
    }
    const bool was_noise = !was_followed && d_former == 0;
    if (d_former > 0 && is_within(ratio(now, d_former), fits)) {
        change(d_former);
        return level_change::back;
    }
    if ((off > 1 && !was_followed) || ++d_far_off == patience)
        change(wanted);
    else
        return level_change::none;
    return was_noise ? level_change::of_noise : level_change::of_signal;
}

void input_level::state(archive& members)
{
    members("factor", d_factor, 1 / most, most);
    members("former", d_former, 0.0f, most);
    static_assert(sizeof(measured) == 2 * sizeof(float));
    members.numbers("found",
                    &d_found[0].square,
                    { looks, 2 },
                    0.0f,
                    std::numeric_limits<float>::max());
    members("seen", d_seen, std::size_t{ 0 }, looks + 1);
    members("next", d_next, std::size_t{ 0 }, looks - 1);
    members("near", d_is_near);
    members("far_off", d_far_off, std::size_t{ 0 }, patience);
    members("followed", d_followed, std::size_t{ 0 }, confirmed);
}

} // namespace gr::adann::core
