/* How a front filter finds back without a decision, and which of the labels that look alike
 * are right.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/front_filter.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <complex>
#include <numeric>
#include <tuple>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr double whole_turn = 2 * M_PI;
// Looks: the first one when all symbols lie behind what the filter was lost at.
constexpr std::size_t first_blind = 1 + front_filter::blind_symbols / judge::symbols;
constexpr float as_before = 1.25f; // of what was left: four standard deviations, or more
constexpr std::size_t most_looks_apart = 4096 / judge::symbols;

/* Whether labels tell a channel: half as many different pairs follow each other as in random data,
 * or more. Idle words are explained by many a channel. */
bool are_rich(const std::uint8_t* labels, std::size_t classes)
{
    constexpr std::size_t pairs = judge::symbols - 1, most_classes = 256;
    std::bitset<most_classes * most_classes> seen;
    double found = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
        auto pair = seen[labels[i] * classes + labels[i + 1]];
        found += pair ? 0 : 1;
        pair = true;
    }
    const auto all = static_cast<double>(classes * classes);
    return found >= all * (1 - std::exp(-static_cast<double>(pairs) / all)) / 2;
}
} // namespace

/* The carrier's when the filter was last not lost, followed to the next symbol, for up to 2048
 * symbols: its frequency comes from half as many, and tells nothing beyond. */
double front_filter::good_phase() const
{
    const auto since =
        std::min<std::uint64_t>(d_blocks * block - d_good_at, 2 * judged_every);
    return d_good_phase + whole_turn * d_good_frequency * static_cast<double>(since);
}

// Turns samples that lie in the buffer from `first` on by that phase, or back.
void front_filter::turn_good(planes& samples,
                             std::size_t first,
                             std::size_t n,
                             double way) const
{
    if (!d_carrier || (d_good_phase == 0 && d_good_frequency == 0))
        return;
    const double per_sample =
        whole_turn * d_good_frequency / static_cast<double>(d_window.sps());
    const double behind =
        static_cast<double>(first) - static_cast<double>(sample(d_next));
    const double start = good_phase() + per_sample * behind;
    for (std::size_t i = 0; i < n; ++i) {
        const double by = way * (start + per_sample * static_cast<double>(i));
        const std::complex<float> turned =
            std::complex<float>(samples.re[i], samples.im[i]) *
            std::complex<float>(std::polar(1.0, by));
        samples.re[i] = turned.real();
        samples.im[i] = turned.imag();
    }
}

// The samples that compare() looked at, without their carrier.
signal_planes front_filter::still(std::size_t owned) const
{
    return d_carrier ? static_cast<signal_planes>(d_still)
                     : d_samples + static_cast<std::ptrdiff_t>(owned);
}

/* Decides the latest symbols by an equalizer that was told nothing, and starts from its labels
 * if they leave less than half of what the network's do, behind the filter or without it. */
bool front_filter::begin_blindly()
{
    if (d_unsettled == 0)
        d_next_blind = first_blind;
    if (++d_unsettled < d_next_blind)
        return false;
    d_next_blind += std::clamp(d_unsettled / 2, first_blind, most_looks_apart);
    const std::size_t first = sample(d_next - blind_symbols) - d_blind_taps / 2;
    const std::size_t n = sample(blind_symbols - 1) + d_blind_taps;
    if (d_unusable > first)
        return false;
    std::copy_n(&d_samples.re[first], n, d_blind_samples.re.begin());
    const float* windows = d_blind_samples.re.data();
    if (d_planes == 2) {
        std::copy_n(&d_samples.im[first], n, d_blind_samples.im.begin());
        turn_good(d_blind_samples, first, n, -1);
        windows = d_interleaved.data();
        for (std::size_t i = 0; i < n; ++i) {
            d_interleaved[2 * i] = d_blind_samples.re[i];
            d_interleaved[2 * i + 1] = d_blind_samples.im[i];
        }
    } else {
        float mean = 0;
        for (std::size_t i = 0; i < n; ++i)
            mean += d_blind_samples.re[i] / static_cast<float>(n);
        for (std::size_t i = 0; i < n; ++i)
            d_blind_samples.re[i] -= mean;
    }
    const std::uint8_t* const labels = d_blind->find(
        { windows, d_window.stride(), d_blind_taps * d_planes, blind_symbols });
    const std::size_t owned =
        sample(d_next - judge::symbols - d_waveform->reach()) - d_window.sps() / 2;
    return labels &&
           believe(d_blind_samples + static_cast<std::ptrdiff_t>(owned - first),
                   labels,
                   blind_symbols) &&
           begin_from(
               labels, blind_symbols, d_channel.find(d_judge.channel(), 0), lost());
}

/* Whether labels of the latest n symbols leave less than half of these samples, the first of those
 * that compare() looked at, than the network's do, behind the filter or without it; then the
 * judge has their channel. */
bool front_filter::believe(const signal_planes& samples,
                           const std::uint8_t* labels,
                           std::size_t n)
{
    const std::size_t around = d_waveform->reach(), behind = judge::symbols + around;
    const std::size_t owned = sample(d_next - behind) - d_window.sps() / 2;
    const float others = std::min(
        d_judge.left(d_samples + static_cast<std::ptrdiff_t>(owned), &d_plain[around]),
        d_judge.left(still(owned), &d_decided[d_next - behind]));
    return d_judge.left(samples, labels + n - behind) < 0.5f * others;
}

/* If the labels surely do not have the constellation's power and explain little, as the inner points
 * of a signal that became fainter, decides the latest symbols at that power: behind the taps in
 * use, which learnt from such labels, or those that it was last settled with. Starts from these
 * labels if they are believed. */
bool front_filter::begin_at_level(decider& decides, const prepared_network& net)
{
    const std::size_t n = d_at_level.size();
    const std::size_t first = sample(d_next - n) - d_window.samples_before();
    const bool explain_little = 2 * d_judge.share() > lost();
    if (d_unusable > first - reach() || !explain_little || !has_unusual_power())
        return false;
    const std::size_t owned =
        sample(d_next - judge::symbols - d_waveform->reach()) - d_window.sps() / 2;
    for (const float* taps :
         { d_bank.taps(), static_cast<const float*>(d_settled.data()) }) {
        decides.decide(net, at_level(taps, first, n), d_at_level.data());
        if (believe(still(owned), d_at_level.data(), n) &&
            begin_in_phase(d_at_level.data(), n, displaced(), d_chance + d_noise))
            return true;
    }
    d_judge.left(still(owned), &d_decided[d_next - judge::symbols - d_waveform->reach()]);
    return false; // and the judge is as it was
}

// The windows of n symbols behind these taps, with unit power; valid until the next call.
feature_view front_filter::at_level(const float* taps, std::size_t first, std::size_t n)
{
    const std::size_t samples = sample(n - 1) + d_window.samples();
    const std::size_t floats = samples * d_planes;
    float *const re = d_output.re.data(), *const im = d_output.im.data();
    const auto from = static_cast<std::ptrdiff_t>(first - reach());
    d_filter.run(taps, d_sums.pitch(), d_samples + from, samples, re, im);
    float* const filtered = d_carrier ? d_interleaved.data() : re;
    if (d_carrier)
        d_carrier->rotate_back(re, im, first, samples, filtered);
    const double power = std::inner_product(filtered, filtered + floats, filtered, 0.0);
    const auto scale =
        static_cast<float>(std::sqrt(static_cast<double>(samples) / power));
    std::transform(
        filtered, filtered + floats, filtered, [&](float each) { return each * scale; });
    return { filtered, d_window.stride(), d_window.dimension(), n };
}

// Whether the latest labels surely do not have the constellation's power.
bool front_filter::has_unusual_power() const
{
    const std::size_t n = d_plain.size();
    return d_power.is_unusual(&d_decided[d_next - n], n);
}

/* Remembers the channel of the latest labels, if they tell it, and explain the samples well, or as
 * well as those before. Few labels that explain little, the inner points for a signal that became
 * fainter, are a loss. If the filter was lost since it last did, the labels may have come to lie aside of what was sent: then it starts from
 * those that are not. */
bool front_filter::settle()
{
    const std::size_t around = d_waveform->reach();
    const std::size_t first = d_next - d_plain.size() + around;
    const float left = d_judge.left();
    const float most = lost() * static_cast<float>(sample(judge::symbols));
    const bool as_usual = d_usual > 0 ? left < as_before * d_usual : !d_was_lost;
    const bool well = 2 * left < most;
    if (!are_rich(&d_decided[first], d_waveform->classes())) {
        d_was_lost |= !well && d_usual > 0;
        return false;
    }
    if (!(well || (left < most && as_usual)))
        return false;
    if (d_was_lost) {
        const displacement by = displaced();
        // Some of the labels may still be from before it found back: it has to be seen twice.
        if (!(std::exchange(d_displaced, by) == by))
            return false;
        if (!by.none()) {
            const std::size_t n = std::min(d_known, blind_symbols);
            if (begin_in_phase(&d_decided[d_next - n], n, by, lost()))
                forget_loss();
            return false;
        }
    }
    d_channel.remember(d_judge.channel());
    if (!has_unusual_power())
        std::copy_n(d_bank.taps(), d_settled.size(), d_settled.begin());
    d_usual = left;
    forget_loss();
    return true;
}

void front_filter::forget_loss()
{
    d_was_lost = false;
    d_displaced = {};
    d_unsettled = 0;
}

// How the labels are displaced whose channel the judge has.
displacement front_filter::displaced() const
{
    double ahead = 0; // a start from a line goes on from the phase before
    if (d_carrier && !d_turning)
        ahead = d_carrier->phase_at(sample(d_next)) - good_phase();
    return d_channel.find(d_judge.channel(), ahead);
}

// As below, in the phase that the carrier has now.
bool front_filter::begin_in_phase(const std::uint8_t* labels,
                                  std::size_t n,
                                  const displacement& by,
                                  float most)
{
    const auto before = std::pair(d_good_phase, d_good_at);
    if (d_carrier && !d_carrier->idle()) {
        const double aside = whole_turn * static_cast<double>(by.turned) /
                             static_cast<double>(d_symmetries.size());
        d_good_phase = d_carrier->phase_at(sample(d_next)) - aside;
        d_good_at = d_blocks * block;
    }
    if (begin_from(labels, n, by, most))
        return true;
    std::tie(d_good_phase, d_good_at) = before;
    return false;
}

// From labels of the latest n symbols that are displaced, if the taps leave less than `most`.
bool front_filter::begin_from(const std::uint8_t* labels,
                              std::size_t n,
                              const displacement& by,
                              float most)
{
    if (d_untrained || n < judge::symbols)
        return false;
    d_trained = std::min(most_training, n - last_channel::most_late);
    const std::size_t last = n - static_cast<std::size_t>(std::max(by.later, 0));
    const std::size_t first = last - d_trained;
    for (std::size_t k = 0; k < d_trained; ++k)
        d_training[k] =
            d_symmetries[by.turned]
                        [labels[first + k + static_cast<std::size_t>(by.later)]];
    if (!begin_from_training(d_next - (n - last), false, most))
        return false;
    d_known = 0; // other labels lie behind those of the samples
    ++d_resets;
    return true;
}

} // namespace gr::adann::core
