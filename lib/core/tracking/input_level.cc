/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/input_level.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr float settled = 2; // power, over that expected, or one over it
constexpr float far_off = 8;
constexpr float most = 1e9f; // factor, or one over it

bool is_within(float ratio, float bound) { return ratio < bound && ratio * bound > 1; }
} // namespace

input_level::input_level(float expected) : d_expected(expected) {}

float input_level::median() const
{
    auto sorted = d_powers;
    std::nth_element(sorted.begin(), sorted.begin() + looks / 2, sorted.end());
    return sorted[looks / 2];
}

void input_level::change(float factor)
{
    d_former = std::exchange(d_factor, std::clamp(factor, 1 / most, most));
    d_far_off = d_followed = 0;
}

level_change
input_level::look(const float* samples, std::size_t n, std::size_t planes, bool is_lost)
{
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double power = static_cast<double>(samples[i]) * samples[i];
        const bool is_signal = power > 0 && std::isfinite(samples[i]);
        sum += is_signal ? power : 0;
        count += is_signal;
    }
    if (!count)
        return level_change::none;
    const double power = sum * static_cast<double>(planes) / static_cast<double>(count);
    d_powers[d_next] =
        static_cast<float>(std::min<double>(power, std::numeric_limits<float>::max()));
    d_is_near = is_within(d_powers[d_next] / d_expected * d_factor * d_factor, far_off);
    d_next = (d_next + 1) % looks;
    if (d_seen < looks && ++d_seen < looks)
        return level_change::none;
    const float now = median() / d_expected;
    const float ratio = now * d_factor * d_factor;
    const float wanted = 1 / std::sqrt(now);
    if (d_seen == looks) { // the first time
        ++d_seen;
        if (is_within(ratio, settled))
            return level_change::none;
        change(wanted);
        return level_change::settled;
    }
    if (d_followed < looks)
        d_followed = is_lost ? 0 : d_followed + 1;
    if (!is_lost || is_within(ratio, far_off)) {
        d_far_off = 0;
        return level_change::none;
    }
    const bool was_noise = ratio > 1 && d_followed < looks;
    if (is_within(now * d_former * d_former, settled))
        change(d_former);
    else if (was_noise || ++d_far_off == patience)
        change(wanted);
    else
        return level_change::none;
    return level_change::changed;
}

void input_level::state(archive& members)
{
    members("factor", d_factor, 1 / most, most);
    members("former", d_former, 1 / most, most);
    members.numbers(
        "powers", d_powers.data(), { looks }, 0.0f, std::numeric_limits<float>::max());
    members("seen", d_seen, std::size_t{ 0 }, looks + 1);
    members("next", d_next, std::size_t{ 0 }, looks - 1);
    members("near", d_is_near);
    members("far_off", d_far_off, std::size_t{ 0 }, patience);
    members("followed", d_followed, std::size_t{ 0 }, looks);
}

} // namespace gr::adann::core
