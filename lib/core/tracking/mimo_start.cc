/* How the taps of a mimo_filter start, and when they start again.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/mimo_filter.h"

#include "core/common/checks.h"
#include "core/common/cholesky.h"
#include "core/signal/blind_separation.h"

#include <algorithm>
#include <complex>

namespace gr::adann::core {

namespace {

constexpr float lost = 0.75f;                        // of what decisions at random leave
constexpr std::size_t compared = 256, most_late = 4; // labels of two outputs
constexpr std::size_t most_patience = 65536;         // symbols
constexpr double ridge = 1e-3; // of the mean power: where there is only noise, no taps
constexpr std::size_t together = 1024; // symbols whose sums are made at once

using label_lists = std::vector<std::vector<std::uint8_t>>;

} // namespace

// The labels of the symbols from half_window on, half_window before the end.
void mimo_filter::find_labels(const std::vector<signal_planes>& x,
                              std::size_t symbols,
                              label_lists& labels) const
{
    std::vector<float> mixed(2 * channels() * sample(symbols));
    for (std::size_t c = 0; c < channels(); ++c)
        for (std::size_t i = 0; i < sample(symbols); ++i) {
            mixed[2 * (i * channels() + c)] = x[c].re[i];
            mixed[2 * (i * channels() + c) + 1] = x[c].im[i];
        }
    separate_blindly(
        { mixed.data(), symbols, sps(), channels() }, d_symbols, d_half_window, labels);
}

// Least squares to the waveform of the symbols that have all their neighbours.
aligned_floats mimo_filter::fit(const std::vector<signal_planes>& x,
                                const std::uint8_t* labels,
                                std::size_t symbols)
{
    const std::size_t around = d_waveform.reach(), unknowns = d_sums.unknowns();
    normal_equations all(d_sums);
    all.clear();
    std::vector<float> expected(2 * sample(together));
    planes wanted(sample(together), true);
    for (std::size_t k = around; k + around < symbols; k += together) {
        const std::size_t n = std::min(together, symbols - around - k);
        d_waveform.expect(labels + k, n, expected.data());
        wanted.assign(expected.data(), sample(n));
        std::vector<signal_planes> from;
        from.reserve(x.size());
        for (const auto& channel : x)
            from.push_back(channel + (static_cast<std::ptrdiff_t>(sample(k)) -
                                      static_cast<std::ptrdiff_t>(d_reach)));
        d_sums.set(from.data(), wanted, sample(n));
        all.add(1, d_sums);
    }
    using number = std::complex<double>;
    std::vector<number> matrix(unknowns * unknowns), taps(unknowns);
    double trace = 0;
    for (std::size_t u = 0; u < unknowns; ++u) {
        for (std::size_t v = 0; v <= u; ++v)
            matrix[u * unknowns + v] = { all.row(u)[v], all.row(u, true)[v] };
        trace += all.row(u)[u];
        taps[u] = { all.correlation()[u], all.correlation()[all.pitch() + u] };
    }
    for (std::size_t u = 0; u < unknowns; ++u)
        matrix[u * (unknowns + 1)] += ridge * trace / static_cast<double>(unknowns);
    if (!solve(matrix, unknowns, taps, 1))
        throw eye_closed("the samples are all alike");
    aligned_floats found(all.vector_floats());
    for (std::size_t u = 0; u < unknowns; ++u) {
        found[u] = static_cast<float>(taps[u].real());
        found[all.pitch() + u] = static_cast<float>(taps[u].imag());
    }
    return found;
}

void mimo_filter::begin(output& each, const aligned_floats& taps)
{
    each.bank.reset(taps);
    each.turn.reset();
    each.known = ready() + d_half_window + 1;
    each.found = true;
    ++each.starts;
}

void mimo_filter::start(const float* const* samples,
                        std::size_t symbols,
                        const std::uint8_t* const* labels)
{
    // Its first and last symbols do not have all of their own samples.
    const std::size_t least =
        d_sums.unknowns() + 2 * (d_waveform.reach() + d_half_window) + 2;
    check_range<std::size_t>("symbols", symbols, least, 100'000'000);
    const std::size_t n = symbols - 2, owned = d_window.sps() - d_window.sps() / 2;
    const std::size_t margin = d_reach + d_taps + 2 * simd::lanes + 16;
    std::vector<planes> stretch(channels(), planes(sample(symbols) + 2 * margin, true));
    std::vector<signal_planes> x;
    for (std::size_t c = 0; c < channels(); ++c) {
        for (std::size_t i = 0; i < sample(symbols); ++i) {
            const float* from = samples[c] + 2 * i;
            const bool good = all_usable(from, 2);
            stretch[c].re[margin + i] = good ? from[0] : 0.0f;
            stretch[c].im[margin + i] = good ? from[1] : 0.0f;
        }
        x.push_back(stretch[c] + static_cast<std::ptrdiff_t>(margin + owned));
    }
    label_lists lists(outputs());
    std::size_t unlabelled = 0; // at each end
    if (labels) {
        for (std::size_t o = 0; o < outputs(); ++o)
            lists[o].assign(labels[o] + 1, labels[o] + 1 + n);
    } else {
        find_labels(x, n, lists);
        unlabelled = d_half_window;
    }
    for (auto& channel : x)
        channel = channel + static_cast<std::ptrdiff_t>(sample(unlabelled));
    for (std::size_t o = 0; o < outputs(); ++o)
        begin(d_outputs[o], fit(x, lists[o].data(), lists[o].size()));
}

// Which outputs have lost their transmitter, or have another one's; these start again.
void mimo_filter::watch()
{
    for (auto& each : d_outputs)
        if (each.bank.residual() > lost * d_chance)
            each.found = false;
    for (std::size_t a = 0; a < outputs(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (are_one(d_outputs[a], d_outputs[b])) {
                const bool first =
                    d_outputs[a].bank.residual() > d_outputs[b].bank.residual();
                d_outputs[first ? a : b].found = false;
            }
    if (std::all_of(d_outputs.begin(), d_outputs.end(), [](const auto& each) {
            return each.found;
        })) {
        d_patience = watched_every;
        return;
    }
    d_rest -= std::min(d_rest, watched_every);
    if (d_rest == 0 && ready() >= d_first + start_symbols)
        find();
}

bool mimo_filter::are_one(const output& a, const output& b) const
{
    const std::size_t first = decided() - compared - most_late;
    if (!a.found || !b.found || first < std::max(a.known, b.known) + most_late)
        return false;
    // Half-way from chance to certainty.
    const std::size_t many = compared * (d_symbols.size() + 1) / (2 * d_symbols.size());
    for (const auto& symmetry : d_symbols.symmetries())
        for (std::size_t late = 0; late <= 2 * most_late; ++late) {
            std::size_t alike = 0;
            for (std::size_t k = first; k < first + compared; ++k)
                alike += a.labels[k] == symmetry[b.labels[k + late - most_late]];
            if (alike > many)
                return true;
        }
    return false;
}

// Starts those that have no transmitter from the latest symbols, blindly.
void mimo_filter::find()
{
    const std::size_t first = ready() - start_symbols;
    label_lists labels(outputs());
    for (std::size_t o = 0; o < outputs(); ++o) {
        const auto& each = d_outputs[o];
        if (!each.found)
            continue;
        if (each.known > first + d_half_window)
            return; // its labels are too few to take it out: later
        labels[o].assign(each.labels.begin() + first + d_half_window,
                         each.labels.begin() + decided());
    }
    std::vector<signal_planes> x;
    const auto own = static_cast<std::ptrdiff_t>(sample(first) - d_window.sps() / 2);
    for (const auto& channel : d_in)
        x.push_back(channel + own);
    d_rest = d_patience;
    d_patience = std::min(2 * d_patience, most_patience);
    try {
        find_labels(x, start_symbols, labels);
        for (auto& channel : x)
            channel = channel + static_cast<std::ptrdiff_t>(sample(d_half_window));
        for (std::size_t o = 0; o < outputs(); ++o)
            if (!d_outputs[o].found)
                begin(d_outputs[o], fit(x, labels[o].data(), labels[o].size()));
    } catch (const eye_closed&) { // it is tried again
    }
}

} // namespace gr::adann::core
