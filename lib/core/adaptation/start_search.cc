/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/start_search.h"

#include "core/adaptation/start_comparison.h"
#include "core/adaptation/start_message.h"
#include "core/signal/carrier_track.h"
#include "core/signal/divergence.h"
#include "core/signal/fit_waveform.h"
#include "core/tracking/belief.h"

#include <cmath>

namespace gr::adann::core {

namespace {

constexpr int rounds = 3;       // of decisions and least squares
constexpr double much_more = 2; // times the earlier error
constexpr double of_one_label =
    0.4; // nats from a uniform distribution of labels, as in signal_check
constexpr const char* has_changed =
    "the signal has changed while a linear equalizer was fitted to it";

double divergence_of(const std::vector<std::uint8_t>& labels, std::size_t classes)
{
    std::vector<double> parts(classes);
    for (const std::uint8_t label : labels)
        parts[label] += 1 / static_cast<double>(labels.size());
    return divergence_from_uniform(classes, [&](auto label) { return parts[label]; });
}

// Rotates labels by a symmetry and delays them by up to two symbols, so that most equal those
// wanted: the stream continues in the same rotation, without a lost or repeated symbol.
std::vector<std::uint8_t>
align_labels(const std::vector<std::uint8_t>& labels,
             const std::vector<std::optional<std::uint8_t>>& wanted,
             const std::vector<std::vector<std::uint8_t>>& symmetries)
{
    std::vector<std::uint8_t> best = labels;
    std::size_t most = 0;
    for (const int late : { 0, -1, 1, -2, 2 })
        for (const auto& symmetry : symmetries) {
            std::vector<std::uint8_t> found(labels.size());
            std::size_t same = 0;
            for (std::size_t i = 0; i < labels.size(); ++i) {
                const auto from = static_cast<std::ptrdiff_t>(i) + late;
                const bool inside = from >= 0 && from < std::ptrdiff_t(labels.size());
                found[i] = symmetry[labels[inside ? from : i]];
                same += inside && found[i] == wanted[i];
            }
            if (same > most) {
                most = same;
                best = found;
            }
        }
    return best;
}

} // namespace

start_search::start_search(const linear_network& slicer)
    : d_linear(slicer), d_symbols(slicer.made().window, slicer.made().symbols.size())
{
}

bool start_search::knows_enough() const
{
    return d_symbols.known() >= 2 * d_linear.taps_of_a_row();
}

// Outputs z of the linear equalizer have the power 1 - e, e its mean square error: z - P has e for
// points P that were sent, of unit power, and 2 - e for others.
bool start_search::contradicts_known(std::size_t latest) const
{
    const auto& labels = d_symbols.labels();
    double sum = 0, known = 0;
    for (std::size_t i = labels.size() - latest; i < labels.size(); ++i)
        if (labels[i]) {
            sum += d_linear.squared_error(d_symbols.view()[i], *labels[i]);
            ++known;
        }
    return sum > known;
}

std::vector<std::uint8_t> start_search::best_labels() const
{
    auto labels = decided();
    for (std::size_t i = 0; i < labels.size(); ++i)
        labels[i] = d_symbols.labels()[i].value_or(labels[i]);
    return labels;
}

bool start_search::look(bool is_searching)
{
    if (knows_enough() && fits_known())
        follow();
    else if (!d_symbols.known() && (!is_searching || d_symbols.count() < first_look))
        return false;
    else
        find(d_symbols.view());
    if (stands())
        check_better(decided());
    d_error = d_linear.fitted().error;
    d_has_news = true;
    return true;
}

// Finds the linear equalizer blindly from a part of the symbols, in the rotation and at the delay
// of the known labels or the earlier decisions.
void start_search::find(const feature_view& part)
{
    const model& signal = d_linear.made();
    const auto decisions = d_symbols.in_use().empty() ? decided() : d_symbols.in_use();
    const std::vector<std::optional<std::uint8_t>> before(decisions.begin(),
                                                          decisions.end());
    d_linear.set(blind_equalizer(part, signal.symbols, signal.window));
    const auto labels = decided();
    const auto wanted = align_labels(labels,
                                     knows_rotation() ? d_symbols.labels() : before,
                                     signal.symbols.symmetries());
    if (wanted != labels)
        d_linear.set(trained_equalizer(d_symbols.view(), signal.symbols, wanted.data()));
}

/* Fits the linear equalizer to the known labels. For labels that were not sent the mean square error is
 * 1 - p / n with p taps and n labels: unless it is below half of that, it forgets them and returns
 * false. */
bool start_search::fits_known()
{
    const feature_view all = d_symbols.view();
    std::vector<float> windows;
    std::vector<std::uint8_t> labels;
    for (std::size_t i = 0; i < all.count; ++i)
        if (const auto& label = d_symbols.labels()[i]) {
            windows.insert(windows.end(), all[i], all[i] + all.dimension);
            labels.push_back(*label);
        }
    const linear_equalizer fitted =
        trained_equalizer({ windows.data(), all.dimension, all.dimension, labels.size() },
                          d_linear.made().symbols,
                          labels.data());
    const double unexplained = 1 - static_cast<double>(d_linear.taps_of_a_row()) /
                                       static_cast<double>(labels.size());
    if (!clearly_less(fitted.error, unexplained)) {
        d_symbols.forget_known(0);
        return false;
    }
    d_linear.set(fitted);
    return true;
}

void start_search::follow()
{
    const bool all_known = d_symbols.known() ==
                           d_symbols.count(); // further rounds would have the same labels
    for (int round = 0; round < (all_known ? 1 : rounds); ++round)
        d_linear.set(trained_equalizer(
            d_symbols.view(), d_linear.made().symbols, best_labels().data()));
}

void start_search::look_again()
{
    const linear_equalizer first = d_linear.fitted();
    const std::size_t half = d_symbols.count() / 2;
    try {
        find(d_symbols.view().from(half, d_symbols.count() - half));
        follow();
        if (d_linear.fitted().error < first.error)
            return;
    } catch (const eye_closed&) {
    }
    d_linear.set(first);
}

// Mean square error of the linear equalizer over some symbols.
double start_search::error_of(std::size_t first, std::size_t symbols) const
{
    const auto labels = best_labels();
    double sum = 0;
    for (std::size_t i = first; i < first + symbols; ++i)
        sum += d_linear.squared_error(d_symbols.view()[i], labels[i]);
    return sum / static_cast<double>(symbols);
}

// Symbols at the beginning where the error of the linear equalizer is much larger than later.
std::size_t start_search::unsettled() const
{
    const std::size_t count = d_symbols.count(), eighth = count / 8;
    const double settled = error_of(count / 2, count - count / 2);
    std::size_t first = 0;
    while (first < count / 2 && error_of(first, eighth) > much_more * settled)
        first += eighth;
    return first;
}

bool start_search::has_worsened() const
{
    return d_linear.fitted().error > much_more * d_error;
}

bool start_search::stands(bool is_tracked) const
{
    return !d_linear.has_carrier() || phase_stands(d_linear.outputs(d_symbols.view()),
                                                   d_linear.made().symbols,
                                                   is_tracked);
}

// Whether the linear equalizer is one of all symbols.
bool start_search::holds() const
{
    // Tracking aligns random phases as well, but not with so many known labels.
    const bool may_be_random = d_carrier_frequency != 0 && !knows_enough();
    return d_linear.fitted().error <= much_more * d_error && stands(may_be_random);
}

void start_search::check_labels(const std::vector<std::uint8_t>& labels) const
{
    const double divergence = divergence_of(labels, d_linear.made().symbols.size());
    if (divergence > of_one_label)
        throw eye_closed(formatted(
            "the symbols found are not equally frequent: %.2f nats from it, allowed: 0.4",
            divergence));
}

void start_search::check_better(const std::vector<std::uint8_t>& labels)
{
    if (d_symbols.in_use().empty())
        return;
    const auto ratio = residual_ratio(d_symbols, d_linear.made(), labels);
    if (!ratio)
        throw eye_closed("the labels in use explain the samples as well");
    d_compared =
        formatted("the residual of its labels is %.1f dB below that of those before",
                  10 * std::log10(*ratio));
}

// Rotates the symbols back by their carrier, up to the latest one's phase: the stream goes on with it.
// False if no carrier is found.
bool start_search::rotate_back()
{
    if (!d_linear.has_carrier())
        return false;
    carrier_track carrier =
        track_power(d_linear.outputs(d_symbols.view()), d_linear.made().symbols);
    if (carrier.stands())
        return false;
    carrier.count_from(d_symbols.count() - 1);
    d_carrier_frequency = carrier.frequency;
    d_symbols.rotate_back(carrier);
    return true;
}

// Looks again once the symbols are rotated back by their carrier. False, and nothing changes, if there
// is none, or if the known labels do not fit then.
bool start_search::look_without_carrier()
{
    const start_search before = *this;
    if (!rotate_back())
        return false;
    try {
        look(true);
        follow();
        if (d_symbols.known() == before.d_symbols.known())
            return true;
    } catch (const eye_closed&) {
        if (!before.knows_enough())
            throw;
    }
    *this = before;
    return false;
}

// Whether it has found a linear equalizer for the symbols that are rotated back by their carrier.
bool start_search::finds_carrier()
{
    try {
        return look_without_carrier() && stands(true);
    } catch (const eye_closed&) {
        return false;
    }
}

void start_search::look_at_latest()
{
    d_symbols.forget_before(d_symbols.count() - first_look);
    look(true);
}

// Fits the linear equalizer to the latest symbols alone, as there is none for all of them.
void start_search::start_from_latest(const char* why)
{
    try {
        look_at_latest();
        follow();
    } catch (const eye_closed&) {
        throw eye_closed(why);
    }
    if (has_worsened() || !stands())
        throw eye_closed(why);
}

bool start_search::finish()
{
    d_carrier_frequency = 0;
    follow();
    if (!knows_enough()) {
        look_again();
        if (const std::size_t first = unsettled(); first && !d_symbols.known()) {
            d_symbols.forget_before(first);
            follow();
        }
    }
    bool of_latest = false;
    if (!holds()) {
        const start_search before = *this;
        look_without_carrier();
        if (!holds()) {
            const char* const why =
                has_worsened() ? has_changed
                               : "the phase of the symbols found does not stand still";
            if (!knows_enough())
                check_labels(decided());
            *this = before;
            if (!knows_enough()) {
                if (d_symbols.known())
                    throw eye_closed(why);
                of_latest = true;
                start_from_latest(why);
            }
        }
    }
    if (!knows_enough())
        check_labels(decided());
    if (has_worsened())
        throw eye_closed(has_changed);
    return of_latest;
}

std::optional<start_search> start_search::of_latest() const
{
    start_search latest = *this;
    latest.d_carrier_frequency = 0;
    try {
        if (d_symbols.count() >= 2 * first_look && !knows_enough())
            latest.look_at_latest();
    } catch (const eye_closed&) {
        return {};
    }
    start_search trial = latest;
    if (!trial.finds_carrier()) {
        trial = latest;
        if (trial.stands())
            trial.follow();
        else if (!knows_enough())
            return {};
    }
    const auto labels = trial.best_labels();
    if (!knows_enough() &&
        divergence_of(labels, d_linear.made().symbols.size()) > of_one_label)
        return {};
    trial.set_waveform(labels);
    return trial;
}

void start_search::set_waveform(const std::vector<std::uint8_t>& labels)
{
    model& signal = d_linear.made();
    const auto samples = d_symbols.own_samples_marked();
    signal.set_waveform(fit_waveform(signal.symbols,
                                     signal.sps,
                                     signal.complex,
                                     samples.data(),
                                     labels.data(),
                                     d_symbols.count()));
}

} // namespace gr::adann::core
