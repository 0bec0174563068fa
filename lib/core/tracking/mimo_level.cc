/* What the outputs of a mimo_filter do when the signal's level steps.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/mimo_filter.h"

#include <cmath>
#include <complex>
#include <vector>

namespace gr::adann::core {

namespace {
constexpr std::size_t compared = 256; // symbols
} // namespace

// Whether the latest labels surely do not have the constellation's power.
bool mimo_filter::has_unusual_power(const output& each) const
{
    return d_power.is_unusual(&each.labels[latest(compared)], compared);
}

/* The inner points of a signal that became fainter, and taps that learnt from them: decides the
 * latest symbols behind the taps before, at the constellation's power. If these labels leave less
 * than half of what the others do, and are not random, the taps go on from there. */
bool mimo_filter::begin_at_level(output& each)
{
    const std::size_t reach = d_waveform.reach(), first = latest(compared);
    if (!usable(each, first) || each.heard < compared / step)
        return false;
    const std::size_t from = sample(first - reach) - d_window.samples_before();
    const std::size_t own = sample(first) - d_window.sps() / 2;
    const std::size_t count = sample(compared + 2 * reach - 1) + d_window.samples();
    planes output(count + simd::lanes, true);
    for (std::size_t c = 0; c < channels(); ++c)
        d_filter.run(each.settled.data() + c * d_taps,
                     d_sums.pitch(),
                     d_in[c] + (static_cast<std::ptrdiff_t>(from) -
                                static_cast<std::ptrdiff_t>(d_reach)),
                     count,
                     output.re.data(),
                     output.im.data(),
                     c > 0);
    std::vector<float> samples(2 * count), expected(2 * sample(compared));
    each.turn.rotate_back(
        output.re.data(), output.im.data(), from, count, samples.data());
    const double scale =
        std::sqrt(static_cast<double>(count) / power_of(samples.data(), count));

    // Each step is turned by what the prediction left of its phase, and those at the ends further.
    const std::size_t n = sample(step), steps = compared / step;
    d_waveform.expect(&each.labels[first], compared, expected.data());
    double before = 0;
    for (std::size_t s = 0; s < steps; ++s) {
        const std::size_t at = own - from + s * n;
        const auto left = remaining(&expected[2 * s * n], &samples[2 * at], n);
        before += std::abs(left);
        const std::size_t begin = s == 0 ? 0 : at, end = s + 1 == steps ? count : at + n;
        const std::complex<float> by(std::polar(scale, -std::arg(left)));
        rotate(&samples[2 * begin], by, end - begin, &samples[2 * begin]);
    }
    const float* const owned = &samples[2 * (own - from)];
    const double power = power_of(owned, steps * n);
    const auto share = [&](double common) { // of the samples that is not explained
        return 1 - common * common / power / power_of(expected.data(), steps * n);
    };
    const double others = share(scale * before);
    std::vector<std::uint8_t> labels(compared + 2 * reach);
    d_decider.decide(
        d_prepared,
        { samples.data(), d_window.stride(), d_window.dimension(), labels.size() },
        labels.data());
    d_waveform.expect(&labels[reach], compared, expected.data());
    const double common = remaining(expected.data(), owned, steps * n).real();
    const double left = share(common);
    if (!(left < others / 2 && left < lost * d_chance))
        return false;
    for (float& tap : each.settled)
        tap *= static_cast<float>(scale * common / power);
    each.bank.reset(each.settled);
    each.known = ready() + d_half_window + 1;
    each.remains = 0;
    each.measured = 0;
    each.found = true;
    return true;
}

} // namespace gr::adann::core
