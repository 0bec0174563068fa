/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/label_evidence.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gr::adann::core {

namespace {

/* Of the residual of random decisions. That of decisions of noise, of which the taps make points, is a larger part of
 * its power: 0.36 of two levels, 0.12 of four (Max, Quantizing for minimum distortion, IRE Trans. Inf. Theory 6, 1960). */
constexpr float least_random = 0.75f;

/* Whether a pause begins or ends in 2 n samples: one half has less than a quarter of the other's power. Labels that
 * explain one half of them say nothing of the other. */
bool has_pause(const signal_planes& samples, std::size_t n)
{
    const auto power = [n](const float* from) {
        return from ? std::inner_product(from, from + n, from, 0.0f) : 0.0f;
    };
    constexpr float much_less = 4;
    const auto half = static_cast<std::ptrdiff_t>(n);
    const signal_planes later = samples + half;
    const float first = power(samples.re) + power(samples.im);
    const float second = power(later.re) + power(later.im);
    return much_less * std::min(first, second) < std::max(first, second);
}

// First sample of the symbols that are looked at.
std::size_t first_sample(const sample_history& history)
{
    return history.owned(history.latest(judge::symbols));
}

} // namespace

label_evidence::label_evidence(const tracked_stream& stream,
                               std::shared_ptr<const expected_waveform> waveform,
                               const constellation& alphabet)
    : d_random(left_at_random(alphabet, stream.history.floats_per_sample())),
      d_at_random(waveform->noise_power() + d_random),
      d_judge(
          waveform, alphabet.symmetries(), stream.filter.taps() / 2 / waveform->sps()),
      d_variety(waveform->probabilities(), judge::symbols),
      d_unfiltered(judge::symbols + 2 * waveform->reach()),
      d_derotated(stream.carrier ? stream.history.sample(judge::symbols) : 0,
                  stream.history.is_complex()),
      d_windows(stream.carrier ? stream.history.window_floats(d_unfiltered.size()) : 0)
{
}

judge::verdict label_evidence::compare(tracked_stream& stream,
                                       const network_decider& decides)
{
    const sample_history& history = stream.history;
    const std::size_t n = d_unfiltered.size();
    decides(history.received_windows(history.next() - n, n, d_windows),
            d_unfiltered.data());
    const std::size_t first = first_sample(history);
    const signal_planes received = history.received(first);
    if (stream.carrier) {
        const std::size_t samples = history.sample(judge::symbols);
        stream.carrier->loop().rotate_back(
            received.re, received.im, first, samples, d_windows.data());
        d_derotated.assign(d_windows.data(), samples);
    }
    return d_judge.compare(derotated(stream),
                           history.symbols().decided(history.latest(judge::symbols)),
                           received,
                           &d_unfiltered[stream.target.reach()],
                           turned(stream));
}

// Radians by which the carrier rotates the middle of the symbols that are looked at.
float label_evidence::turned(const tracked_stream& stream) const
{
    const sample_history& history = stream.history;
    return stream.carrier ? stream.carrier->turned_by(
                                history.sample(history.next() - d_unfiltered.size() / 2),
                                stream.filter.phase())
                          : 0;
}

bool label_evidence::is_rotated(const tracked_stream& stream) const
{
    return stream.carrier &&
           std::abs(wrapped(turned(stream))) > stream.carrier->symmetry() / 2;
}

void label_evidence::fit_latest(const tracked_stream& stream)
{
    d_judge.residual(
        derotated(stream),
        stream.history.symbols().decided(stream.history.latest(judge::symbols)));
}

float label_evidence::fit(const tracked_stream& stream, const std::uint8_t* labels)
{
    return d_judge.residual(derotated(stream), labels + stream.target.reach());
}

float label_evidence::fit_unfiltered(const tracked_stream& stream)
{
    return d_judge.residual(stream.history.received(first_sample(stream.history)),
                            &d_unfiltered[stream.target.reach()]);
}

signal_planes label_evidence::derotated(const tracked_stream& stream) const
{
    return stream.carrier ? static_cast<signal_planes>(d_derotated)
                          : stream.history.received(first_sample(stream.history));
}

bool label_evidence::is_believed(const tracked_stream& stream, const hypothesis& proposed)
{
    const sample_history& history = stream.history;
    const std::uint8_t* const labels =
        proposed.labels + proposed.n - (judge::symbols + stream.target.reach());
    if (!d_variety.is_enough(labels) || has_pause(history.received(first_sample(history)),
                                                  history.sample(judge::symbols / 2)))
        return false;
    const float unfiltered = fit_unfiltered(stream);
    fit_latest(stream);
    const float present = residual_energy();
    const float left = d_judge.residual(proposed.samples, labels);
    const float random = d_at_random * static_cast<float>(history.sample(judge::symbols));
    return clearly_less(left, std::min(unfiltered, present)) ||
           (proposed.from == hypothesis::source::timing && is_as_usual() &&
            as_before * left < present && clearly_less(d_usual, random));
}

bool label_evidence::shows_signal() const
{
    return relative_residual() < least_random * d_random;
}

bool label_evidence::confirm()
{
    const bool usual = !has_usual() || is_as_usual();
    d_usual = usual ? residual_energy() : as_before * d_usual;
    return usual;
}

void label_evidence::state(archive& members)
{
    members("judge", d_judge);
    members("usual", d_usual, 0.0f, 1e12f);
}

} // namespace gr::adann::core
