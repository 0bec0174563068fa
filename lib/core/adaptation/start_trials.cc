/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/start_trials.h"

#include <algorithm>
#include <utility>

namespace gr::adann::core {

namespace {

constexpr float deviations = 3.1f; // a Gaussian variable exceeds them once in a thousand
constexpr std::size_t longest_pause = std::size_t{ 1 } << 20; // symbols

// Relative power of the noise for which half the distance of the nearest
// points is that many deviations.
float enough(const model& of)
{
    const float each = of.symbols.half_distance() / deviations;
    return (of.complex ? 2 : 1) * each * each;
}

} // namespace

start_trials::start_trials(const blind_start& fresh)
    : d_fresh(fresh), d_start(fresh), d_enough(enough(fresh.found()))
{
}

void start_trials::pass(std::size_t symbols, bool explains_little)
{
    d_holdoff -= std::min(d_holdoff, symbols);
    if (!d_tries && d_holdoff == 0 && explains_little) {
        d_tries = true;
        d_start = d_fresh;
    }
}

void start_trials::give_up()
{
    if (std::exchange(d_tries, false))
        d_holdoff = d_pause;
}

std::string start_trials::take(const feature_view& batch,
                               const std::uint8_t* in_use,
                               bool follows,
                               const std::function<bool()>& goes_on)
{
    const std::string message = d_start.compare_with(batch, in_use, follows, goes_on);
    d_tries = d_start.count() > 0;
    if (d_start.done()) {
        d_holdoff = d_pause = blind_start::first_look;
        return message;
    }
    if (!d_tries) {
        d_holdoff = d_pause;
        d_pause = std::min(2 * d_pause, longest_pause);
    }
    return "";
}

} // namespace gr::adann::core
