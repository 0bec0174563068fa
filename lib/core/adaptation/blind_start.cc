/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/blind_start.h"

#include "core/adaptation/first_network.h"
#include "core/common/checks.h"
#include "core/network/decider.h"
#include "core/signal/carrier_track.h"
#include "core/signal/divergence.h"
#include "core/signal/fit_waveform.h"
#include "core/signal/impulse_detector.h"
#include "core/signal/known_symbols.h"
#include "core/tracking/belief.h"
#include "core/tracking/carrier_line.h"
#include "core/training/initialize.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

namespace gr::adann::core {

namespace {

const std::vector<std::size_t> hidden{ 10, 10, 10, 10 };
constexpr int rounds = 3;            // of decisions and least squares
constexpr double much_more = 2;      // times the earlier error
constexpr std::size_t together = 16; // symbols of a stretch whose residuals are compared
constexpr double chance = 1e-6;      // probability that worse labels are accepted
constexpr double of_one_label =
    0.4; // nats from a uniform distribution of labels, as in signal_check
constexpr const char* has_changed =
    "the signal has changed while a linear equalizer was fitted to it";

model untrained(const std::string& name, unsigned sps, unsigned half_window, bool complex)
{
    const constellation symbols(name);
    const window_geometry window(sps, half_window, complex);
    check_range<std::size_t>(
        "samples of a window", window.samples(), 1, blind_start::most_samples);
    std::vector<std::size_t> sizes{ window.dimension() };
    sizes.insert(sizes.end(), hidden.begin(), hidden.end());
    sizes.push_back(symbols.size());
    if (symbols.is_complex() && !complex)
        refuse("constellation",
               "'" + symbols.name() + "', which needs complex samples",
               "one of real points, such as pam4");
    if (symbols.is_offset() && sps % 2)
        refuse("sps", sps, "even numbers, for oqpsk");
    return { network(sizes), sps, half_window, complex, name, "" };
}

std::string text(const char* format, double value)
{
    char buffer[300];
    std::snprintf(buffer, sizeof buffer, format, value);
    return buffer;
}

// Of a carrier in cycles per symbol that the front filter may not follow; empty for others.
std::string carrier_advice(double frequency)
{
    const double turns = std::abs(frequency);
    if (turns <= carrier_line::fastest)
        return "";
    return text("; the carrier turns by %.3g cycles a symbol", turns) +
           text(
               ", beyond %.3g labels may be wrong: put AdaNN Carrier Recovery before this block",
               carrier_line::fastest);
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

std::string start_message(const std::string& begins,
                          double carrier_frequency,
                          double error,
                          const char* decides,
                          bool knows_rotation)
{
    return begins + (carrier_frequency != 0 ? ", its carrier removed" : "") +
           text(", modulation error ratio of the linear equalizer %.1f dB; ",
                -10 * std::log10(error)) +
           decides +
           (knows_rotation
                ? ""
                : "; labels are right up to a symmetry of the constellation and a whole delay") +
           carrier_advice(carrier_frequency);
}

blind_start::blind_start(const std::string& constellation,
                         unsigned sps,
                         unsigned half_window,
                         bool complex,
                         std::uint64_t seed)
    : d_model(untrained(constellation, sps, half_window, complex)),
      d_points(d_model.symbols.unit_points()),
      d_seed(seed)
{
    const std::size_t dimension = d_model.window.dimension();
    const std::size_t floats = d_model.window.floats_per_sample();
    const std::size_t rows = d_model.symbols.dimensions();
    linear_equalizer slicer{ std::vector<double>(rows * dimension),
                             std::vector<double>(rows),
                             0.1 };
    for (std::size_t row = 0; row < rows; ++row)
        slicer.taps[row * dimension + d_model.window.samples_before() * floats + row] = 1;
    set_linear(slicer);
}

std::string blind_start::take(const feature_view& batch,
                              const std::uint8_t* known,
                              bool follows,
                              const std::function<bool()>& goes_on)
{
    d_changed = false;
    if (!follows || !all_usable(batch.data, batch.floats()))
        begin();
    if (!all_usable(batch.data, batch.floats()) || done())
        return "";
    d_stride = batch.stride;
    // Windows overlap: only these samples are new.
    const std::size_t floats = batch.count * batch.stride;
    const std::size_t fresh = d_count ? floats : batch.floats();
    const std::size_t held = d_samples.size();
    d_samples.insert(d_samples.end(),
                     batch.data + batch.floats() - fresh,
                     batch.data + batch.floats());
    d_labels.resize(d_count + batch.count);
    const std::size_t before = d_known;
    for (std::size_t i = 0; known && i < batch.count; ++i)
        if (is_known(known[i], d_model.symbols.size())) {
            d_labels[d_count + i] = known[i];
            ++d_known;
        }
    const std::size_t fresh_labels = d_known - before;
    d_count += batch.count;
    blank_from(held);
    try {
        std::string said;
        const bool looked = d_state == start_state::equalizing;
        const bool is_odd = looked && contradicts_known(batch.count);
        if (is_odd &&
            d_known > fresh_labels) // the earlier known labels were a false alarm
            forget(d_count - batch.count);
        else if (is_odd || (!looked && (d_count >= first_look || knows_enough())))
            said = look();
        else if (looked && !d_known && d_count >= d_next_look && d_count < symbols) {
            follow();
            look_again();
            d_changed = true;
        }
        if (d_count >= d_next_look)
            d_next_look = 2 * d_count;
        if (d_count >= d_next_linear && d_count < symbols) {
            if (d_offers_linear)
                d_linear = find_linear();
            d_next_linear = d_count + first_look;
        }
        if (d_count < symbols)
            return said;
        return (said.empty() ? "" : said + "; then ") + train(goes_on);
    } catch (const eye_closed& problem) {
        const next_failure now = d_failure;
        d_failure = now == next_failure::ignored ? next_failure::reported
                                                 : next_failure::repeated;
        begin();
        if (now == next_failure::reported)
            return std::string(problem.what()) +
                   "; until one does, decisions are those of the sample in the middle";
    }
    return "";
}

std::string blind_start::compare_with(const feature_view& batch,
                                      const std::uint8_t* in_use,
                                      bool follows,
                                      const std::function<bool()>& goes_on)
{
    if (!follows)
        begin();
    d_in_use.insert(d_in_use.end(), in_use, in_use + batch.count);
    return take(batch, nullptr, true, goes_on);
}

void blind_start::begin()
{
    d_linear.reset();
    d_in_use.clear();
    d_samples.clear();
    d_has_impulse.clear();
    d_labels.clear();
    d_count = d_known = 0;
    d_next_look = d_next_linear = first_look;
    if (!done())
        d_state = start_state::searching;
}

bool blind_start::knows_enough() const { return d_known >= 2 * taps_of_a_row(); }

bool blind_start::knows_rotation() const { return d_known >= 16; }

// Independent taps of each row of a linear equalizer: complex ones count once, as a symbol is one
// complex equation.
std::size_t blind_start::taps_of_a_row() const
{
    const bool joint = d_model.symbols.is_complex() && !d_model.symbols.is_offset();
    return joint ? d_model.window.samples() : d_model.window.dimension();
}

// Whether the known labels of the latest symbols are not those that the linear equalizer decides. Its
// outputs z have the power 1 - e, e its mean square error: z - P has e for points P that were sent, of
// unit power, and 2 - e for others.
bool blind_start::contradicts_known(std::size_t latest) const
{
    double sum = 0, known = 0;
    for (std::size_t i = d_count - latest; i < d_count; ++i)
        if (d_labels[i]) {
            sum += squared_error(i, *d_labels[i]);
            ++known;
        }
    return sum > known;
}

feature_view blind_start::view() const
{
    return { d_samples.data(), d_stride, d_model.window.dimension(), d_count };
}

// Sets impulses to zero, from this float of d_samples on.
void blind_start::blank_from(std::size_t first)
{
    const std::size_t floats = d_model.window.floats_per_sample(), all = d_samples.size();
    // Samples a symbol; of windows that do not overlap, samples a window.
    const std::size_t sps = d_stride / floats;
    const std::size_t least =
        impulse_detector::blocks * impulse_detector::block(sps) * floats;
    const std::size_t from = std::min(first, all - std::min(all, least));
    d_has_impulse.resize(all / d_stride);
    for (const std::size_t sample :
         blank_impulses(&d_samples[from], (all - from) / floats, floats, sps))
        d_has_impulse[(from + sample * floats) / d_stride] = true;
}

std::string blind_start::look()
{
    if (knows_enough() && fits_known())
        follow();
    else if (!d_known && (d_state == start_state::equalizing || d_count < first_look))
        return ""; // known labels that were a false alarm
    else
        find(view());
    if (stands())
        check_better(decided());
    d_error = d_fitted.error;
    d_state = start_state::equalizing;
    d_failure = next_failure::reported;
    d_changed = true;
    return text(
               "a linear equalizer decides, modulation error ratio %.1f dB; a network is "
               "trained after ",
               -10 * std::log10(d_error)) +
           std::to_string(symbols) + " symbols" + carrier_said();
}

// Finds the linear equalizer blindly from a part of the symbols, in the rotation and at the delay
// of the known labels or the earlier decisions.
void blind_start::find(const feature_view& part)
{
    const auto decisions = d_in_use.empty() ? decided() : d_in_use;
    const std::vector<std::optional<std::uint8_t>> before(decisions.begin(),
                                                          decisions.end());
    set_linear(blind_equalizer(part, d_model.symbols, d_model.window));
    const auto labels = decided();
    const auto wanted = align_labels(
        labels, knows_rotation() ? d_labels : before, d_model.symbols.symmetries());
    if (wanted != labels)
        set_linear(trained_equalizer(view(), d_model.symbols, wanted.data()));
}

// Chooses between the linear equalizer in use and one
// that is found from the later half of the symbols.
void blind_start::look_again()
{
    const linear_equalizer first = d_fitted;
    try {
        find(view().from(d_count / 2, d_count - d_count / 2));
        follow();
        if (d_fitted.error < first.error)
            return;
    } catch (const eye_closed&) {
    }
    set_linear(first);
}

// Of the linear equalizer's output for a symbol.
double blind_start::squared_error(std::size_t symbol, std::uint8_t label) const
{
    const feature_view all = view();
    const auto& point = d_points[label];
    double sum = 0;
    for (std::size_t row = 0; row < d_model.symbols.dimensions(); ++row)
        sum += std::pow(std::inner_product(all[symbol],
                                           all[symbol] + all.dimension,
                                           &d_fitted.taps[row * all.dimension],
                                           d_fitted.constants[row] -
                                               (row ? point.imag() : point.real())),
                        2);
    return sum;
}

// Mean square error of the linear equalizer over some symbols.
double blind_start::error_of(std::size_t first, std::size_t symbols) const
{
    const auto labels = best_labels();
    double sum = 0;
    for (std::size_t i = first; i < first + symbols; ++i)
        sum += squared_error(i, labels[i]);
    return sum / static_cast<double>(symbols);
}

// Symbols at the beginning where the error of the linear equalizer is much larger than later.
std::size_t blind_start::unsettled() const
{
    const std::size_t eighth = d_count / 8;
    const double settled = error_of(d_count / 2, d_count - d_count / 2);
    std::size_t first = 0;
    while (first < d_count / 2 && error_of(first, eighth) > much_more * settled)
        first += eighth;
    return first;
}

void blind_start::forget_before(std::size_t first)
{
    const auto head = static_cast<std::ptrdiff_t>(first);
    for (std::size_t i = 0; i < first; ++i)
        d_known -= d_labels[i].has_value();
    d_samples.erase(d_samples.begin(),
                    d_samples.begin() + head * static_cast<std::ptrdiff_t>(d_stride));
    d_has_impulse.erase(d_has_impulse.begin(), d_has_impulse.begin() + head);
    d_labels.erase(d_labels.begin(), d_labels.begin() + head);
    if (!d_in_use.empty())
        d_in_use.erase(d_in_use.begin(), d_in_use.begin() + head);
    d_count -= first;
}

// Describes the carrier for messages; empty for real samples.
std::string blind_start::carrier_said() const
{
    if (!d_model.complex || d_model.symbols.is_offset())
        return "";
    const feature_view all = view();
    const std::size_t middle = d_model.window.samples_before() * 2;
    std::vector<std::complex<double>> middles(d_count);
    for (std::size_t i = 0; i < d_count; ++i)
        middles[i] = { all[i][middle], all[i][middle + 1] };
    return carrier_advice(track_power(middles, d_model.symbols).frequency);
}

// Outputs of the linear equalizer for all symbols; complex numbers for real points as well.
std::vector<std::complex<double>> blind_start::outputs() const
{
    const feature_view all = view();
    const std::vector<double>& taps = d_fitted.taps;
    const auto& constants = d_fitted.constants;
    std::vector<std::complex<double>> found(
        d_count, { constants.front(), constants.size() > 1 ? constants.back() : 0 });
    for (std::size_t i = 0; i < d_count; ++i)
        for (std::size_t k = 0; k < all.dimension; k += 2)
            found[i] += std::complex<double>(taps[k], -taps[k + 1]) *
                        std::complex<double>(all[i][k], all[i][k + 1]);
    return found;
}

// Rotates the symbols back by their carrier, up to the latest one's phase: the stream goes on with it.
// False if no carrier is found.
bool blind_start::turn_back()
{
    if (d_model.symbols.is_offset())
        return false;
    carrier_track carrier = track_power(outputs(), d_model.symbols);
    if (carrier.stands())
        return false;
    carrier.count_from(d_count - 1);
    d_carrier_frequency = carrier.frequency;
    const auto sps = static_cast<double>(d_model.sps);
    const double first = static_cast<double>(d_model.window.samples_before());
    const bool separate = d_stride == d_model.window.dimension();
    const std::size_t row = separate ? d_stride : d_samples.size();
    for (std::size_t at = 0; at < d_samples.size(); at += 2) {
        // Time in symbols, relative to the middle of the first one.
        const double when = static_cast<double>(at / row) +
                            (static_cast<double>(at % row / 2) - first) / sps;
        const auto symbol = static_cast<std::size_t>(
            std::clamp(std::round(when), 0.0, static_cast<double>(d_count - 1)));
        const double from = when - static_cast<double>(symbol);
        const std::complex<double> turned =
            std::complex<double>(d_samples[at], d_samples[at + 1]) *
            std::polar(1.0, -carrier.phase[symbol] - 2 * M_PI * carrier.frequency * from);
        d_samples[at] = static_cast<float>(turned.real());
        d_samples[at + 1] = static_cast<float>(turned.imag());
    }
    return true;
}

// Nats from a uniform distribution.
double blind_start::divergence_of(const std::vector<std::uint8_t>& labels) const
{
    std::vector<double> parts(d_model.symbols.size());
    for (const std::uint8_t label : labels)
        parts[label] += 1 / static_cast<double>(labels.size());
    return divergence_from_uniform(parts.size(),
                                   [&](auto label) { return parts[label]; });
}

void blind_start::check_labels(const std::vector<std::uint8_t>& labels) const
{
    const double divergence = divergence_of(labels);
    if (divergence > of_one_label)
        throw eye_closed(text(
            "the symbols found are not equally frequent: %.2f nats from it, allowed: 0.4",
            divergence));
}

bool blind_start::stands(bool is_tracked) const
{
    return !d_model.complex || d_model.symbols.is_offset() ||
           phase_stands(outputs(), d_model.symbols, is_tracked);
}

// Mean square residual of labels, per float, in stretches of the last quarter of the symbols.
std::vector<double>
blind_start::residuals_of(const std::vector<std::uint8_t>& labels) const
{
    const feature_view all = view();
    carrier_track carrier;
    if (d_model.complex && !d_model.symbols.is_offset()) {
        std::vector<std::complex<float>> sent(d_count);
        for (std::size_t i = 0; i < d_count; ++i)
            sent[i] = d_points[labels[i]];
        carrier = track_known(all, sent);
    }
    auto samples = own_samples();
    for (std::size_t i = 0; !carrier.stands() && i < samples.size() / 2; ++i) {
        const std::complex<double> turned =
            std::complex<double>(samples[2 * i], samples[2 * i + 1]) *
            std::polar(1.0, -carrier.at(i, d_model.sps));
        samples[2 * i] = static_cast<float>(turned.real());
        samples[2 * i + 1] = static_cast<float>(turned.imag());
    }
    const std::size_t learnt = d_count - d_count / 4, stride = d_model.window.stride();
    const auto waveform = fit_waveform(d_model.symbols,
                                       d_model.sps,
                                       d_model.complex,
                                       samples.data(),
                                       labels.data(),
                                       learnt);
    std::vector<double> residuals;
    for (std::size_t at = learnt; at + together + waveform.reach() <= d_count;
         at += together)
        residuals.push_back(
            waveform.residual(&labels[at], &samples[at * stride], together));
    return residuals;
}

// Throws eye_closed unless the labels explain the
// symbols better than those in use, if there are any.
void blind_start::check_better(const std::vector<std::uint8_t>& labels)
{
    if (d_in_use.empty())
        return;
    const auto before = residuals_of(d_in_use), now = residuals_of(labels);
    const std::size_t n = std::min(before.size(), now.size());
    double won = 0, of_before = 0, of_now = 0;
    for (std::size_t i = 0; i < n; ++i) {
        won += now[i] < before[i];
        of_before += before[i] / static_cast<double>(n);
        of_now += now[i] / static_cast<double>(n);
    }
    const auto all = static_cast<double>(n);
    const double beyond = std::max(0.0, won - all / 2);
    if (!(2 * beyond * beyond > all * std::log(1 / chance)) ||
        !clearly_less(of_now, of_before))
        throw eye_closed("the labels in use explain the samples as well");
    d_compared = text("the residual of its labels is %.1f dB below that of those before",
                      10 * std::log10(of_before / of_now));
}

// Makes d_model's network equal to the linear equalizer.
void blind_start::set_linear(const linear_equalizer& fitted)
{
    d_fitted = fitted;
    initialize_linear(d_model.net, d_seed, d_model.symbols, fitted);
    d_model.training = text("linear equalizer, modulation error ratio %.1f dB",
                            -10 * std::log10(fitted.error));
}

std::vector<std::uint8_t> blind_start::decided() const
{
    std::vector<std::uint8_t> labels(d_count);
    decider(d_model.net).decide(prepared_network(d_model.net), view(), labels.data());
    return labels;
}

// Known labels where there are, else the decisions.
std::vector<std::uint8_t> blind_start::best_labels() const
{
    auto labels = decided();
    for (std::size_t i = 0; i < d_count; ++i)
        labels[i] = d_labels[i].value_or(labels[i]);
    return labels;
}

/* Fits the linear equalizer to the known labels. For labels that were not sent the mean square error is
 * 1 - p / n with p taps and n labels: unless it is below half of that, it forgets them and returns
 * false. */
bool blind_start::fits_known()
{
    const feature_view all = view();
    std::vector<float> windows;
    std::vector<std::uint8_t> labels;
    for (std::size_t i = 0; i < d_count; ++i)
        if (d_labels[i]) {
            windows.insert(windows.end(), all[i], all[i] + all.dimension);
            labels.push_back(*d_labels[i]);
        }
    const linear_equalizer fitted =
        trained_equalizer({ windows.data(), all.dimension, all.dimension, labels.size() },
                          d_model.symbols,
                          labels.data());
    const double unexplained =
        1 - static_cast<double>(taps_of_a_row()) / static_cast<double>(labels.size());
    if (!clearly_less(fitted.error, unexplained)) {
        forget(0);
        return false;
    }
    set_linear(fitted);
    return true;
}

// Forgets the known labels from symbol `first` on.
void blind_start::forget(std::size_t first)
{
    for (auto label = d_labels.begin() + first; label != d_labels.end(); ++label)
        if (std::exchange(*label, std::nullopt))
            --d_known;
}

// Fits the linear equalizer to all symbols by its own decisions.
void blind_start::follow()
{
    const bool all_known =
        d_known == d_count; // further rounds would have the same labels
    for (int round = 0; round < (all_known ? 1 : rounds); ++round)
        set_linear(trained_equalizer(view(), d_model.symbols, best_labels().data()));
}

// The symbols' own samples, (d_count, stride()), without those of the rest of their windows.
std::vector<float> blind_start::own_samples() const
{
    const feature_view all = view();
    const std::size_t stride = d_model.window.stride();
    std::vector<float> own(d_count * stride);
    for (std::size_t i = 0; i < d_count; ++i)
        std::copy_n(all[i] + (all.dimension - stride) / 2, stride, &own[i * stride]);
    return own;
}

// Looks again once the symbols are rotated back by their carrier. False, and nothing changes, if there
// is none, or if the known labels do not fit then.
bool blind_start::look_without_carrier()
{
    const blind_start before = *this;
    if (!d_model.complex || !turn_back())
        return false;
    try {
        d_state = start_state::searching;
        look();
        follow();
        if (d_known == before.d_known)
            return true;
    } catch (const eye_closed&) {
        if (!before.knows_enough())
            throw;
    }
    *this = before;
    return false;
}

std::string blind_start::train(const std::function<bool()>& goes_on)
{
    d_carrier_frequency = 0;
    follow();
    bool moves = false;
    if (!knows_enough()) {
        look_again();
        if (const std::size_t first = unsettled(); first && !d_known) {
            forget_before(first);
            follow();
        }
    }
    const auto holds = [&] {
        // Tracking aligns random phases as well, but not with so many known labels.
        const bool may_be_random = d_carrier_frequency != 0 && !knows_enough();
        return d_fitted.error <= much_more * d_error && stands(may_be_random);
    };
    if (!holds()) {
        const blind_start before = *this;
        look_without_carrier();
        if (!holds()) {
            const char* const why =
                d_fitted.error > much_more * d_error
                    ? has_changed
                    : "the phase of the symbols found does not stand still";
            if (!knows_enough())
                check_labels(decided());
            *this = before;
            if (!knows_enough()) {
                if (d_known)
                    throw eye_closed(why);
                moves = true;
                start_from_latest(why);
            }
        }
    }
    if (!knows_enough())
        check_labels(decided());
    if (d_fitted.error > much_more * d_error)
        throw eye_closed(has_changed);
    const auto labels = best_labels();
    check_better(labels);

    set_waveform(labels);
    bool better = false;
    if (!moves) {
        std::vector<labelled_windows> parts;
        for (std::size_t at = 0; at + part <= d_count; at += part)
            parts.push_back({ view().from(at, part), &labels[at] });
        const auto trained =
            train_first_network(d_model, d_model.net, parts, d_seed, goes_on);
        if (!trained) {
            begin();
            return "";
        }
        better = trained->is_better;
        if (better)
            d_model.net = trained->trained;
    }
    d_changed = true;
    d_state = start_state::done;
    const bool known = knows_rotation();
    d_is_blind = !known;
    name_training(better);
    begin();
    const char* const decides =
        better  ? network_decides
        : moves ? "the channel moves: it is fitted to the latest 4096 symbols, and the "
                  "network starts as it"
                : "its decisions explain the samples better than those of the network "
                  "trained on them, which starts as the linear equalizer";
    return start_message(d_compared.empty() ? "started" : "started again, " + d_compared,
                         d_carrier_frequency,
                         d_fitted.error,
                         decides,
                         known);
}

void blind_start::set_waveform(const std::vector<std::uint8_t>& labels)
{
    auto samples = own_samples();
    const std::size_t stride = d_model.window.stride();
    // Symbols before the first one's own samples: half a window, or none if windows do not overlap.
    const std::size_t own = (d_has_impulse.size() - d_count) / 2;
    for (std::size_t i = 0; i < d_count; ++i)
        if (d_has_impulse[i + own])
            samples[i * stride] = std::numeric_limits<float>::quiet_NaN();
    d_model.set_waveform(fit_waveform(d_model.symbols,
                                      d_model.sps,
                                      d_model.complex,
                                      samples.data(),
                                      labels.data(),
                                      d_count));
}

// Whether it has found a linear equalizer for the symbols that are rotated back by their carrier.
bool blind_start::finds_carrier()
{
    try {
        return look_without_carrier() && stands(true);
    } catch (const eye_closed&) {
        return false;
    }
}

// The linear equalizer of the latest 4096 symbols, or of known labels, rotated back if they have a carrier.
std::optional<linear_start> blind_start::find_linear() const
{
    blind_start latest = *this;
    latest.d_carrier_frequency = 0;
    try {
        if (d_count >= 2 * first_look && !knows_enough())
            latest.look_at_latest();
    } catch (const eye_closed&) {
        return {};
    }
    blind_start trial = latest;
    if (!trial.finds_carrier()) {
        trial = latest;
        if (trial.stands())
            trial.follow();
        else if (!knows_enough())
            return {};
    }
    const auto labels = trial.best_labels();
    if (!knows_enough() && divergence_of(labels) > of_one_label)
        return {};
    trial.set_waveform(labels);
    trial.name_training(false);
    return linear_start{ trial.d_model,
                         trial.d_carrier_frequency,
                         trial.d_fitted.error,
                         trial.knows_rotation(),
                         d_count };
}

// Names in the model what it was made from.
void blind_start::name_training(bool has_network)
{
    d_model.training = (knows_rotation() ? "known labels, " : "blind start, ") +
                       d_model.training + (has_network ? trained_on_decisions : "");
}

void blind_start::look_at_latest()
{
    forget_before(d_count - first_look);
    d_state = start_state::searching;
    look();
}

// Fits the linear equalizer to the latest symbols alone, as there is none for all of them.
void blind_start::start_from_latest(const char* why)
{
    try {
        look_at_latest();
        follow();
    } catch (const eye_closed&) {
        throw eye_closed(why);
    }
    if (d_fitted.error > much_more * d_error || !stands())
        throw eye_closed(why);
}

} // namespace gr::adann::core
