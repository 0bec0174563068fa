/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/refined_stream.h"

#include "core/adaptation/time_constants.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::adann::core {

namespace {
constexpr float much_more = 2; // power, of another signal
// Symbols: between two looks at what noise does not explain; how long that lasts.
constexpr std::size_t look_every = 512;
constexpr double unexplained_lasts = statistics_memory;
constexpr std::size_t most_rounds = 2; // of a search for sequences
} // namespace

refined_stream::refined_stream(const constellation& symbols,
                               const expected_waveform& waveform,
                               std::size_t least_delay)
    : d_descent(symbols, waveform),
      d_search(symbols),
      d_kernels(&simd::active()),
      d_delay(std::max(d_descent.responses().before() + d_descent.responses().behind() +
                           2 * block,
                       least_delay)),
      d_past(delay() + 2 * d_descent.responses().behind()),
      d_samples((d_past + block) * waveform.stride()),
      d_white(d_samples.size()),
      d_matches(label_posteriors::window),
      d_powers(d_past + block),
      d_due(d_past + block),
      d_labels(d_past + block),
      d_refined(d_labels.size()),
      d_scatter(waveform.stride()),
      d_soft(symbols, waveform.probabilities()),
      d_posteriors(delay() * symbols.size()),
      d_bits(symbols.size()),
      d_priors(d_labels.size() * symbols.size())
{
}

void refined_stream::start()
{
    if (d_taken) // or it begins where continue_at() says
        d_filled = 0;
    d_taken = d_flushed = d_whitened = d_matched = d_weighed = 0;
    d_next = 0;
    if (d_has_priors)
        std::fill(d_priors.begin(), d_priors.end(), 0.0f);
    d_gains.start();
    d_soft_used = 0;
    d_soft.start();
    d_scatter.reset();
    d_watched = 0;
    d_unexplained = 0;
}

std::size_t
refined_stream::flush(std::uint8_t* labels, std::size_t room, float* posteriors)
{
    const std::size_t left = std::min(d_taken, delay()) - d_flushed;
    const std::size_t n = std::min(left, room),
                      classes = d_descent.responses().waveform().classes();
    if (d_has_priors && n > 0 && d_flushed == 0)
        weigh();
    std::copy_n(d_labels.begin() + (d_past + d_filled - left), n, labels);
    if (posteriors)
        for (std::size_t i = 0; i < n; ++i)
            std::copy_n(posteriors_of(left - i), classes, posteriors + i * classes);
    d_flushed += n;
    if (n == left)
        start();
    return n;
}

std::size_t refined_stream::take(const feature_view& windows,
                                 const std::uint8_t* decided,
                                 const refinement& signal,
                                 std::uint8_t* labels,
                                 const hindsight& latest,
                                 const float* posteriors,
                                 float* refined_posteriors,
                                 const float* a_priori)
{
    const std::size_t stride = d_descent.responses().waveform().stride();
    const std::size_t classes = d_descent.responses().waveform().classes();
    d_is_soft = posteriors;
    d_has_priors = a_priori;
    std::size_t written = 0;
    for (std::size_t i = 0; i < windows.count; ++i) {
        const std::size_t at = d_past + d_filled++;
        d_labels[at] = d_refined[at] = decided[i];
        std::copy_n(windows[i] + (windows.dimension - stride) / 2,
                    stride,
                    d_samples.begin() + at * stride);
        if (a_priori)
            d_bits.find(a_priori + i * d_bits.bits_per_symbol(), &d_priors[at * classes]);
        const bool comes = d_taken++ >= delay();
        if (comes)
            labels[written] = d_labels[at - delay()];
        if (posteriors) {
            float* const place = &d_posteriors[d_next * classes];
            if (comes)
                std::copy_n(place, classes, refined_posteriors + written * classes);
            std::copy_n(posteriors + i * classes, classes, place);
            d_next = d_next + 1 == delay() ? 0 : d_next + 1;
        }
        written += comes;
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
    const std::size_t stride = d_descent.responses().waveform().stride();
    const feature_view& windows = latest.windows;
    const std::size_t n =
        std::min(windows.count, d_filled + d_descent.responses().before());
    for (std::size_t i = 1; i <= n; ++i) {
        const std::size_t from = windows.count - i, to = d_past + d_filled - i;
        std::copy_n(windows[from] + (windows.dimension - stride) / 2,
                    stride,
                    d_samples.begin() + to * stride);
        if (i <= d_filled) {
            const std::uint8_t label = latest.labels[from];
            if (d_is_soft && label != d_labels[to])
                label_posteriors::make_consistent_with_decision(
                    label, posteriors_of(i), d_descent.responses().waveform().classes());
            d_labels[to] = d_refined[to] = label;
        }
    }
}

// Labels of the block, and their posteriors, by what is known a priori.
void refined_stream::weigh()
{
    const std::size_t classes = d_descent.responses().waveform().classes();
    for (std::size_t i = 1; i <= std::min(d_filled, d_taken); ++i) {
        const std::size_t at = d_past + d_filled - i;
        d_labels[at] = d_refined[at] =
            d_bits.weigh(&d_priors[at * classes], d_labels[at], posteriors_of(i));
    }
}

// A block is there: refines what it makes known, and lets the past move on.
void refined_stream::refine(const refinement& signal)
{
    const std::size_t size = d_past + block,
                      stride = d_descent.responses().waveform().stride();
    const std::size_t span =
        d_descent.responses().before() + d_descent.responses().behind();
    if (d_has_priors)
        weigh();
    if (signal.known && d_taken >= block + span) {
        if (std::exchange(d_used, signal.number) != signal.number) {
            d_descent.use(signal);
            d_search.use(d_descent);
        }
        // The symbols whose neighbours the block makes known.
        const std::size_t first = d_past - d_descent.responses().before();
        d_descent.responses().subtract_waveform(&d_refined[first],
                                                &d_samples[first * stride],
                                                d_gains,
                                                &d_white[first * stride]);
        d_whitened = std::min(d_whitened + block, size);
    } else {
        d_whitened = 0;
        d_gains.start();
    }
    // As far back as explained() looks, or the response of what is visited again reaches.
    if (d_whitened >= d_descent.responses().behind() + 2 * block +
                          std::max(block, d_descent.responses().before())) {
        visit(signal.searches);
        const std::size_t end = size - span;
        watch(&d_white[(end - 3 * block) * stride]);
        const auto first = d_refined.begin() + (end - 2 * block);
        const auto final = d_labels.begin() + (end - 2 * block);
        // Explained is what only symbols that were visited are part of.
        const bool refines =
            (d_is_soft || !std::equal(first, first + block, final)) &&
            explained(signal, end - 3 * block, end - d_descent.responses().before());
        if (refines)
            std::copy_n(first, block, final);
        if (refines && d_is_soft)
            find_posteriors(signal.searches);
        else
            d_matched = 0;
    } else {
        std::fill(d_due.begin(), d_due.end(), true); // of what will be visited first
        d_matched = 0;
        d_scatter.interrupt();
        d_unexplained = 0;
    }
    const auto move_on = [](auto& values, std::size_t each) {
        std::copy(values.begin() + block * each, values.end(), values.begin());
    };
    move_on(d_samples, stride);
    move_on(d_white, stride);
    move_on(d_labels, 1);
    move_on(d_refined, 1);
    move_on(d_due, 1);
    if (d_has_priors)
        move_on(d_priors, d_descent.responses().waveform().classes());
    move_on(d_powers, 1);
    d_weighed -= std::min(d_weighed, block);
    d_filled = 0;
}

// The symbols whose response is there for the first time, and those of the block before that
// a label has changed near.
void refined_stream::visit(bool searches)
{
    const std::size_t size = d_past + block,
                      stride = d_descent.responses().waveform().stride();
    const std::size_t last = size - d_descent.responses().before(),
                      end = last - d_descent.responses().behind();
    const std::size_t span =
        d_descent.responses().before() + d_descent.responses().behind();
    const std::size_t begin = end - 2 * block;
    std::size_t known = end - block; // symbols from here on are matched as found
    d_descent.responses().find_matches(
        &d_white[known * stride], block, &d_matches[2 * block]);
    d_matched = std::min(d_matched + block, 3 * block);
    std::fill(d_due.begin() + known, d_due.begin() + end, true);
    const std::size_t most = d_descent.tries() + 2 * block;
    const label_descent::stretch all{ d_refined.data(),
                                      size,
                                      d_white.data(),
                                      0,
                                      last,
                                      nullptr,
                                      priors_from(0),
                                      d_soft.noise() * d_descent.power() };
    const auto changed = [&](std::size_t from, std::size_t to) {
        d_matched = d_weighed = 0;
        known = std::max(known, to + span + 1);
        std::fill(d_due.begin() + (from - span), d_due.begin() + (to + span + 1), true);
    };
    const auto match = [&](std::size_t i) {
        return i < known ? nullptr : &d_matches[block + i - begin];
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
        d_descent.responses().find_matches(
            &d_white[begin * stride], 2 * block, &d_matches[block]);
        d_matched = std::max(d_matched, 2 * block);
        for (std::size_t i = begin; i < end - block && d_descent.tries() < most; ++i)
            if (const std::size_t later = d_descent.visit_pairs(all, i, end, match(i))) {
                changed(i, later);
                gains = true;
            }
        visit_due();
    }
    searches = (searches || d_search.is_coupled()) &&
               d_whitened >= sequence_search::window + span;
    for (std::size_t round = 0; searches && round < most_rounds; ++round) {
        if (!d_search.visit(d_descent, all, end - sequence_search::window, changed))
            break;
        visit_due();
    }
}

// Of the block that is final now.
void refined_stream::find_posteriors(bool searches)
{
    const std::size_t size = d_past + block,
                      stride = d_descent.responses().waveform().stride();
    const std::size_t end =
        size - d_descent.responses().before() - d_descent.responses().behind();
    const std::size_t first = end - label_posteriors::window;
    std::size_t fresh = block;
    if (std::exchange(d_soft_used, d_used) != d_used) {
        d_soft.use(d_descent, searches);
        d_matched = 0;
    }
    if (d_matched < label_posteriors::window) {
        fresh = d_matched = label_posteriors::window;
        d_descent.responses().find_matches(
            &d_white[first * stride], fresh, d_matches.data());
    }
    d_soft.find(&d_refined[first], d_matches.data(), fresh, priors_from(first));
    for (std::size_t i = 0; i < block; ++i)
        d_soft.write(i, posteriors_of(size - first - label_posteriors::around - i));
    std::copy(d_matches.begin() + block, d_matches.end(), d_matches.begin());
}

// A block whose labels, and those around, are final.
void refined_stream::watch(const float* residual)
{
    d_scatter.add(residual, block);
    d_watched += block;
    if (d_watched < look_every)
        return;
    d_unexplained =
        d_scatter.symbols() >= unexplained_lasts / 4
            ? d_scatter.unexplained_errors(d_descent.responses().waveform().classes())
            : 0;
    d_scatter.fade(std::exp(-static_cast<double>(d_watched) / unexplained_lasts));
    d_watched = 0;
}

// Whether the residual of most of the symbols first to last - 1 is no larger than usual: single wrong
// labels among them do not count.
bool refined_stream::explained(const refinement& signal,
                               std::size_t first,
                               std::size_t last)
{
    const std::size_t stride = d_descent.responses().waveform().stride();
    for (std::size_t i = std::max(first, d_weighed); i < last; ++i) {
        const float* const own = &d_white[i * stride];
        d_powers[i] = d_kernels->dot(own, own, stride);
    }
    d_weighed = last;
    const float most = much_more * signal.power * static_cast<float>(stride);
    std::size_t usual = 0;
    for (std::size_t i = first; i < last; ++i)
        usual += d_powers[i] < most; // not if it is no number
    return usual > (last - first) / 2;
}

} // namespace gr::adann::core
