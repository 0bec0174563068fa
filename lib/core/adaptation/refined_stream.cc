/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/refined_stream.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr float much_more = 2; // power, of another signal
}

refined_stream::refined_stream(const constellation& symbols,
                               const expected_waveform& waveform)
    : d_descent(symbols, waveform),
      d_kernels(&simd::active()),
      d_past(delay() + 2 * d_descent.behind()),
      d_samples((d_past + block) * waveform.stride()),
      d_white(d_samples.size()),
      d_matches(2 * block),
      d_powers(d_past),
      d_due(d_past + block),
      d_labels(d_past + block),
      d_refined(d_labels.size())
{
}

void refined_stream::start()
{
    d_filled = d_taken = d_flushed = d_whitened = 0;
    d_phases.start();
    std::fill(d_due.begin(), d_due.end(), false);
}

std::size_t refined_stream::flush(std::uint8_t* labels, std::size_t room)
{
    const std::size_t left = std::min(d_taken, delay()) - d_flushed;
    const std::size_t n = std::min(left, room);
    std::copy_n(d_labels.begin() + (d_past + d_filled - left), n, labels);
    d_flushed += n;
    if (n == left)
        start();
    return n;
}

std::size_t refined_stream::take(const feature_view& windows,
                                 const std::uint8_t* decided,
                                 const refinement& signal,
                                 std::uint8_t* labels,
                                 const hindsight& latest)
{
    const std::size_t stride = d_descent.waveform().stride();
    std::size_t written = 0;
    for (std::size_t i = 0; i < windows.count; ++i) {
        const std::size_t at = d_past + d_filled++;
        d_labels[at] = d_refined[at] = decided[i];
        std::copy_n(windows[i] + (windows.dimension - stride) / 2,
                    stride,
                    d_samples.begin() + at * stride);
        if (d_taken++ >= delay())
            labels[written++] = d_labels[at - delay()];
        if (i + 1 == windows.count)
            replace(latest);
        if (d_filled == block)
            refine(signal);
    }
    return written;
}

// Samples that are still to be whitened, labels of the block: those before are part of what is.
void refined_stream::replace(const hindsight& latest)
{
    const std::size_t stride = d_descent.waveform().stride();
    const feature_view& windows = latest.windows;
    const std::size_t n = std::min(windows.count, d_filled + d_descent.before());
    for (std::size_t i = 1; i <= n; ++i) {
        const std::size_t from = windows.count - i, to = d_past + d_filled - i;
        std::copy_n(windows[from] + (windows.dimension - stride) / 2,
                    stride,
                    d_samples.begin() + to * stride);
        if (i <= d_filled)
            d_labels[to] = d_refined[to] = latest.labels[from];
    }
}

// A block is there: refines what it makes known, and lets the past move on.
void refined_stream::refine(const refinement& signal)
{
    const std::size_t size = d_past + block, stride = d_descent.waveform().stride();
    const std::size_t span = d_descent.before() + d_descent.behind();
    if (signal.known && d_taken >= block + span) {
        if (std::exchange(d_used, signal.number) != signal.number)
            d_descent.use(signal);
        // The symbols whose neighbours the block makes known.
        const std::size_t first = d_past - d_descent.before();
        d_descent.subtract_waveform(&d_refined[first],
                                    &d_samples[first * stride],
                                    d_phases,
                                    &d_white[first * stride]);
        d_whitened = std::min(d_whitened + block, size);
    } else {
        d_whitened = 0;
        d_phases.start();
    }
    // As far back as explained() looks, or the response of what is visited again reaches.
    if (d_whitened >=
        d_descent.behind() + 2 * block + std::max(block, d_descent.before())) {
        visit();
        const std::size_t end = size - span;
        const auto first = d_refined.begin() + (end - 2 * block);
        const auto final = d_labels.begin() + (end - 2 * block);
        // Explained is what only symbols that were visited are part of.
        if (!std::equal(first, first + block, final) &&
            explained(signal, end - 3 * block, end - d_descent.before()))
            std::copy_n(first, block, final);
    }
    const auto move_on = [](auto& values, std::size_t each) {
        std::copy(values.begin() + block * each, values.end(), values.begin());
    };
    move_on(d_samples, stride);
    move_on(d_white, stride);
    move_on(d_labels, 1);
    move_on(d_refined, 1);
    move_on(d_due, 1);
    d_filled = 0;
}

// The symbols whose response is there for the first time, and those of the block before that
// a label has changed near.
void refined_stream::visit()
{
    const std::size_t size = d_past + block, stride = d_descent.waveform().stride();
    const std::size_t last = size - d_descent.before(), end = last - d_descent.behind();
    const std::size_t span = d_descent.before() + d_descent.behind();
    const std::size_t begin = end - 2 * block;
    std::size_t known = end - block; // symbols from here on are matched as found
    d_descent.find_matches(&d_white[known * stride], block, &d_matches[block]);
    std::fill(d_due.begin() + known, d_due.begin() + end, true);
    const std::size_t most = d_descent.tries() + 2 * block;
    const label_descent::stretch all{ d_refined.data(), size, d_white.data(), 0, last };
    const auto changed = [&](std::size_t from, std::size_t to) {
        known = std::max(known, to + span + 1);
        std::fill(d_due.begin() + (from - span), d_due.begin() + (to + span + 1), true);
    };
    const auto match = [&](std::size_t i) {
        return i < known ? nullptr : &d_matches[i - begin];
    };
    const auto visit_due = [&] {
        for (std::size_t i = begin; i < end && d_descent.tries() < most; ++i)
            if (std::exchange(d_due[i], false) && d_descent.visit(all, i, match(i)))
                changed(i, i);
    };
    visit_due();
    for (bool gains = d_descent.has_pairs(); gains;) {
        gains = false;
        known = begin;
        d_descent.find_matches(&d_white[begin * stride], 2 * block, d_matches.data());
        for (std::size_t i = begin; i < end - block && d_descent.tries() < most; ++i)
            if (const std::size_t later = d_descent.visit_pairs(all, i, end, match(i))) {
                changed(i, later);
                gains = true;
            }
        visit_due();
    }
}

// Whether of symbols first to last - 1 as much is left as of the rest of the signal, by their
// median, which a wrong one among them does not move.
bool refined_stream::explained(const refinement& signal,
                               std::size_t first,
                               std::size_t last)
{
    const std::size_t stride = d_descent.waveform().stride();
    const auto begin = d_powers.begin(), end = begin + (last - first);
    for (std::size_t i = 0; i < last - first; ++i) {
        const float* const own = &d_white[(first + i) * stride];
        begin[i] = d_kernels->dot(own, own, stride);
        if (!std::isfinite(begin[i])) // nth_element needs an order
            begin[i] = std::numeric_limits<float>::max();
    }
    std::nth_element(begin, begin + (last - first) / 2, end);
    return begin[(last - first) / 2] <
           much_more * signal.power * static_cast<float>(stride);
}

} // namespace gr::adann::core
