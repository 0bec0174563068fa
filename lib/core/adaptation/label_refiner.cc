/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_refiner.h"

#include "core/adaptation/time_constants.h"
#include "core/common/split_mix.h"
#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace gr::adann::core {

namespace {

// One symbol in so many tries all other labels: more often while statistics of trials are few.
constexpr std::size_t explored_first = 16, explored_later = 64;
static_assert(explored_later % explored_first == 0);
constexpr std::size_t most_rounds = 4; // of pairs
// Sequences are searched for in one of so many windows, until they are worth it: until of the labels that are
// wrong by their error probabilities they correct such a part.
constexpr std::size_t searched_first = 64;
constexpr double worth = 0.125;
constexpr double worth_remembered = 65536; // symbols
// Part of the labels: where more are wrong, sequences that explain the samples best fit the noise.
constexpr double most_wrong = 0.03;
// The same of single labels: then the residual is that of the network's decisions.
constexpr double most_wrong_drawn = 0.1;

// The part of the points that have a neighbour in the same direction as the first point's.
double part_with_neighbour(const constellation& symbols)
{
    const auto& points = symbols.points();
    const float near = symbols.half_distance() * std::sqrt(symbols.power()) / 8;
    std::size_t most = 0;
    for (const std::uint8_t other : symbols.neighbours(0)) {
        const auto step = points[other] - points[0];
        most = std::max<std::size_t>(
            most, std::count_if(points.begin(), points.end(), [&](auto from) {
                return std::any_of(points.begin(), points.end(), [&](auto to) {
                    return std::abs(from + step - to) < near;
                });
            }));
    }
    return static_cast<double>(most) / static_cast<double>(points.size());
}

} // namespace

label_refiner::label_refiner(const constellation& symbols,
                             const expected_waveform& trained,
                             std::size_t batch)
    : d_descent(symbols, trained),
      d_search(symbols),
      d_kernels(&simd::active()),
      d_batch(batch),
      d_planes(trained.is_complex() ? 2 : 1),
      d_first(d_descent.responses().before()),
      d_prediction(d_descent.responses().lags(), d_planes, batch * trained.sps()),
      d_rest(batch * trained.stride()),
      d_turned(d_rest),
      d_white((batch + refinement::predicted_from + simd::lanes) * trained.stride()),
      d_matches(batch + simd::lanes),
      d_due(batch),
      d_noise(symbols.size()),
      d_bias(symbols.size(), symbols.dimensions()),
      d_scatter(trained.stride()),
      d_drift(trained.sps(), d_planes),
      d_shiftable(part_with_neighbour(symbols)),
      d_nothing(trained),
      d_found(d_nothing),
      d_odds(batch),
      d_drawn(batch),
      d_error_probabilities(batch, std::numeric_limits<float>::quiet_NaN())
{
    reset();
}

void label_refiner::reset()
{
    d_prediction.reset();
    d_phases.reset();
    d_amplitudes.reset();
    d_noise.reset();
    d_found.label_noise = d_noise.factors();
    d_bias.reset();
    d_scatter.reset();
    d_drift.reset();
    d_distance = d_runs = d_corrected = d_wrong = 0;
    d_found.searches = false;
    d_found.gain_weights = {};
    d_found.known = false;
}

void label_refiner::forget()
{
    reset();
    // Exploration depends on the number and restarts; but no number is used twice, as readers
    // recognise a refinement by it.
    const std::uint64_t next =
        d_found.number + explored_later - d_found.number % explored_later;
    d_found.assign(d_nothing);
    d_found.number = next;
}

// Whether so many of the latest batch's labels are wrong that the likeliest ones fit the noise.
bool label_refiner::many_wrong() const
{
    const double sum = std::accumulate(
        d_odds.begin(), d_odds.end(), 0.0, [](double all, const auto& odds) {
            return all + odds.probability();
        });
    return sum > most_wrong_drawn * static_cast<double>(d_batch);
}

/* Draws each label from its posterior, of it and the likeliest other one: the residual of these has the power and the
 * spectrum of the noise (the stochastic expectation step of EM). That of the likeliest labels lacks what they take for
 * signal, that is in its band. */
void label_refiner::draw_labels(const std::uint8_t* labels)
{
    std::copy_n(labels, d_batch, d_drawn.begin());
    std::uint64_t random = d_found.number % explored_later; // as exploration: forget()
    for (std::size_t i = 0; i < d_batch; ++i)
        if (const auto& odds = d_odds[i]; odds.alone > 0) {
            const double drawn = std::ldexp(static_cast<double>(split_mix(random)), -64);
            if (drawn * (1 + odds.alone) < odds.alone)
                d_drawn[i] = odds.other;
        }
}

// Takes the gain off samples, block by block, that they have relative to the
// waveform, both whitened as the previous batch was.
void label_refiner::correct_gain(waveform_judge& judge,
                                 std::size_t floats,
                                 std::size_t apart)
{
    const std::size_t stride = d_descent.responses().waveform().stride();
    float* const samples = &judge.samples()[d_first * stride];
    for (std::size_t i = 0; i < floats; ++i)
        d_rest[i] = samples[i] - d_rest[i]; // expected
    float* const white = known_white();
    d_descent.responses().whiten(d_rest.data(), floats / d_planes, white);
    d_descent.responses().whiten(samples, floats / d_planes, d_turned.data());
    const double keep =
        std::exp(-static_cast<double>(d_batch * apart) / statistics_memory);
    d_phases.fade(keep);
    d_amplitudes.fade(keep);
    residual_gains gains;
    for (std::size_t i = 0, n; i < floats; i += n) {
        const std::size_t whole = residual_gains::block * stride;
        n = floats - i < 2 * whole ? floats - i : whole;
        const auto factor = gains.take(
            &white[i], &d_turned[i], n / d_planes, d_planes, d_found.gain_weights);
        const double noise = d_found.power_along / gains.energy();
        if (d_planes == 2)
            d_phases.add(gains.phases(), noise);
        d_amplitudes.add(gains.amplitudes(), noise);
        multiply(samples + i, n / d_planes, d_planes, factor);
    }
    d_found.gain_weights = { d_phases.solve(),
                             d_amplitudes.solve_common(),
                             static_cast<float>(d_amplitudes.mean()) };
}

/* Searches for sequences, in all windows or in some, and finds whether that is worth it.
 * `changed` is called with the first and the last symbol of each that was changed. */
template <typename Changed>
void label_refiner::search_sequences(const label_descent::stretch& all,
                                     std::size_t first,
                                     std::size_t end,
                                     Changed changed)
{
    d_search.use(d_descent);
    const std::size_t step =
        (d_found.searches ? 1 : searched_first) * sequence_search::step;
    const std::size_t own = sequence_search::window - sequence_search::step;
    double searched = 0, corrected = 0, wrong = 0;
    for (std::size_t at = first; at + sequence_search::window <= end; at += step) {
        corrected += static_cast<double>(d_search.visit(d_descent, all, at, changed));
        searched += static_cast<double>(std::min(step, own));
    }
    if (searched == 0)
        return;
    for (std::size_t i = first; i < end; ++i)
        wrong += d_odds[i].probability();
    const double keep = std::exp(-static_cast<double>(d_batch) / worth_remembered);
    d_corrected = keep * d_corrected + corrected / searched;
    d_wrong = keep * d_wrong + wrong / static_cast<double>(end - first);
    d_found.searches = d_corrected > worth * d_wrong &&
                       wrong < most_wrong * static_cast<double>(end - first);
}

// Visits symbol by symbol, in a second round those near a changed label; then pairs, and the
// symbols near changed pairs, as long as one gains; then sequences. Returns the number of changes.
std::size_t label_refiner::descend(std::uint8_t* labels)
{
    const std::size_t first = d_first + margin, end = d_batch - first;
    const std::size_t reach =
        d_descent.responses().before() + d_descent.responses().behind();
    const label_descent::stretch all{ labels,  d_batch,           known_white(),
                                      d_first, d_batch - d_first, d_odds.data() };
    std::fill(d_odds.begin(), d_odds.end(), label_descent::odds{});
    std::size_t changes = 0, as_matched = first; // d_matches hold from this symbol on
    const auto changed = [&](std::size_t from, std::size_t to) {
        ++changes;
        as_matched = to + reach + 1;
        std::fill(d_due.begin() + std::max(from, first + reach) - reach,
                  d_due.begin() + std::min(as_matched, end),
                  true);
    };
    const std::size_t explored =
        d_descent.alternatives().knows_trials() ? explored_later : explored_first;
    const auto visit_due = [&](bool matched) {
        for (std::size_t i = first; i < end; ++i) {
            if (!std::exchange(d_due[i], false))
                continue;
            const bool explores = matched && i % explored == d_found.number % explored;
            if (explores
                    ? d_descent.explore(all, i)
                    : d_descent.visit(
                          all, i, matched && i >= as_matched ? &d_matches[i] : nullptr))
                changed(i, i);
        }
    };
    std::fill(d_due.begin() + first, d_due.begin() + end, true);
    find_matches(first, end);
    visit_due(true);
    visit_due(false);
    bool gains = d_descent.has_pairs();
    for (std::size_t round = 0; gains && round < most_rounds; ++round) {
        gains = false;
        find_matches(first, end);
        as_matched = first;
        for (auto& odds : d_odds)
            odds.together = 0;
        for (std::size_t i = first; i < end; ++i)
            if (const std::size_t later = d_descent.visit_pairs(
                    all, i, end, i >= as_matched ? &d_matches[i] : nullptr)) {
                changed(i, later);
                gains = true;
            }
        visit_due(false);
    }
    search_sequences(all, first, end, changed);
    visit_due(false);
    for (std::size_t i = first; i < end; ++i)
        d_error_probabilities[i] = d_odds[i].probability();
    return changes;
}

void label_refiner::find_matches(std::size_t first, std::size_t end)
{
    const std::size_t stride = d_descent.responses().waveform().stride();
    for (std::size_t i = first, n; i < end; i += n) {
        n = std::min(simd::whole_lanes(end - i), label_responses::most_matched);
        d_descent.responses().find_matches(&d_white[i * stride], n, &d_matches[i]);
    }
}

std::size_t
label_refiner::refine(waveform_judge& judge, std::uint8_t* labels, std::size_t apart)
{
    const std::size_t last = d_batch - d_first;
    const std::size_t samples = (last - d_first) * d_descent.responses().waveform().sps();
    judge.rest(labels, d_first, last, d_rest.data());
    if (d_found.known) {
        d_descent.use(d_found); // also after loading a checkpoint
        correct_gain(judge, samples * d_planes, apart);
        judge.rest(labels, d_first, last, d_rest.data());
    }
    // The first time also by labels that are not refined.
    const bool is_first = !d_prediction.known();
    if (is_first)
        d_prediction.add(d_rest.data(), samples, d_batch * apart);
    d_prediction.write(d_found.whitening);
    d_found.taps = judge.taps();
    if (d_found.waveform_number != judge.waveform().number()) {
        d_found.table = judge.waveform().now().table();
        d_found.polynomial = judge.waveform().now().polynomial().coefficients();
    }
    d_found.waveform_number = judge.waveform().number();
    ++d_found.number;
    d_descent.use(d_found);
    float* const white = known_white();
    d_descent.responses().whiten(d_rest.data(), samples, white);

    std::copy_n(labels, d_batch, d_drawn.begin());
    const std::size_t changes = descend(labels);
    if (changes) { // the filter was fitted to labels some of which were wrong
        judge.relearn(labels);
        d_found.taps = judge.taps();
    }
    if (d_search.is_coupled() || !many_wrong())
        draw_labels(labels);
    judge.rest(d_drawn.data(), d_first, last, d_rest.data());
    const float rest = d_kernels->dot(d_rest.data(), d_rest.data(), samples * d_planes) /
                       static_cast<float>(samples * d_planes);
    d_prediction.add(d_rest.data(), samples, is_first ? 0 : d_batch * apart);
    const std::size_t unknown = d_descent.responses().lags() * d_planes;
    const std::size_t floats = samples * d_planes - unknown;
    const auto keep =
        static_cast<float>(d_found.known ? channel_memory_factor(d_batch, apart) : 0);
    const auto average = [keep](float& before, float now) {
        before = keep > 0 ? keep * before + (1 - keep) * now : now;
    };
    average(d_found.power,
            d_kernels->dot(&white[unknown], &white[unknown], floats) /
                static_cast<float>(floats));
    average(d_found.power_along, find_power_along(labels));
    average(d_found.residual, rest);
    d_noise.find();
    d_found.label_noise = d_noise.factors();
    // The symbols whose error probabilities are known and whose residual is whitened.
    const std::size_t seen = d_first + std::max(margin, refinement::predicted_from);
    const float* const residual =
        &white[(seen - d_first) * d_descent.responses().waveform().stride()];
    d_scatter.interrupt();
    d_scatter.add(residual, d_batch - 2 * seen);
    d_drift.add(residual, d_batch - 2 * seen);
    d_found.energies = d_descent.alternatives().energies();
    d_found.trials = d_descent.alternatives().trials();
    d_found.known = std::isfinite(d_found.power) && std::isfinite(d_found.power_along) &&
                    std::isfinite(d_found.residual);
    if (!d_found.known)
        d_found.power = d_found.power_along = d_found.residual = 0;
    d_distance = d_found.power_along > 0
                     ? d_descent.alternatives().least_energy() / d_found.power_along
                     : 0;
    d_runs = find_runs();
    return changes;
}

/* Ratio of labels that are wrong in runs to single wrong ones, where the residual's mean drifts.
 *
 * Along one symbol's response the mean is a bias of variance b, in units of the noise, which the
 * noise's power includes. Along the responses of n consecutive symbols it is n times as large.
 * Whitening removes what these responses have in common, so that shifting all n labels costs an
 * energy E(n) of little more than shifting one. The error probability is Q(d E(n) / (2 √(E(n) +
 * n² b))), with d the distance of two labels. Pairs are tried, but longer runs mostly are not;
 * all labels of a run need a neighbour in that direction. */
double label_refiner::find_runs() const
{
    constexpr std::size_t most = 64; // symbols: longer runs are negligible
    constexpr double all = 1e15;     // upper limit of the result
    const label_responses& responses = d_descent.responses();
    const double energy = responses.product(0, 0, 0), moves = d_drift.power();
    if (!(moves > 0 && energy > 0 && d_distance > 0))
        return 0;
    const double bias = moves * std::norm(responses.direct()) /
                        (static_cast<double>(d_planes) * energy * d_found.power_along);
    const auto mistaken = [&](double n, double of) {
        const double along = of / std::sqrt(of + n * n * bias);
        return std::erfc(std::sqrt(d_distance / 8) * along) / 2;
    };
    double of = 1, added = 1, part = d_shiftable, runs = 0;
    // E(n) - E(n - 1) grows by the product of the responses at the ends.
    for (std::size_t n = 2; n <= most; ++n) {
        if (n - 1 <= responses.before() + responses.behind())
            added += 2 * responses.product(n - 1, 0, 0) / energy;
        of = std::max(of + added, 0.0);
        part *= d_shiftable;
        if (n > 2 && of > 0)
            runs += static_cast<double>(n) * part * mistaken(static_cast<double>(n), of);
    }
    const double alone = d_shiftable * std::erfc(std::sqrt(d_distance / 8)) / 2;
    return alone > 0 ? std::min(runs / alone, all) : 0;
}

// The noise of each label, from a residual along a symbol's response, and what it would be with the likeliest other
// label.
void label_refiner::learn_noise(std::size_t symbol,
                                std::uint8_t label,
                                const float* along)
{
    const label_responses& responses = d_descent.responses();
    const float mean = d_descent.power() * static_cast<float>(responses.dimensions());
    const auto add = [&](std::uint8_t its, float part, const float* step) {
        float energy = 0;
        for (std::size_t d = 0; d < responses.dimensions(); ++d) {
            const float residual =
                along[d] - step[d] * std::sqrt(responses.product(0, d, d));
            energy += residual * residual;
        }
        d_noise.add(its, part, energy / mean);
    };
    constexpr float nothing[2] = {};
    const label_descent::odds& odds = d_odds[symbol];
    const float part = odds.alone / (1 + odds.alone);
    add(label, 1 - part, nothing);
    if (part > 0)
        for (const auto& other : d_descent.alternatives().of(label))
            if (other.label == odds.other)
                add(other.label, part, other.step);
}

// Power of the residual along the symbols' responses, and its correlation with the labels.
float label_refiner::find_power_along(const std::uint8_t* labels)
{
    const std::size_t dimensions = d_descent.responses().dimensions();
    const bool learns = d_found.known && (d_search.is_coupled() || !many_wrong());
    double energy = 0, values = 0;
    const auto take = [&](std::size_t symbol, const float* along) {
        for (std::size_t d = 0; d < dimensions; ++d)
            energy += double{ along[d] } * along[d];
        values += static_cast<double>(dimensions);
        d_bias.add(labels + symbol, along);
        if (learns)
            learn_noise(symbol, labels[symbol], along);
    };
    d_descent.responses().look_along(known_white(), d_first, d_batch - d_first, take);
    return values > 0 ? static_cast<float>(energy / values) : 0;
}

void label_refiner::state(archive& members)
{
    members("prediction", d_prediction);
    members("known", d_found.known);
    members("number", d_found.number);
    for (const auto& [name, filter] :
         { std::pair("taps", &d_found.taps), std::pair("whitening", &d_found.whitening) })
        members.numbers(
            name, reinterpret_cast<float*>(filter->data()), { filter->size(), 2 });
    members("phases", d_phases);
    members("amplitudes", d_amplitudes);
    members("noise", d_noise);
    members("bias", d_bias);
    members("scatter", d_scatter);
    members("drift", d_drift);
    members("distance", d_distance);
    members("runs", d_runs, 0.0, 1e15);
    members("searches", d_found.searches);
    members("corrected", d_corrected, 0.0, 1e6);
    members("wrong", d_wrong, 0.0, 1e6);
    members("label_noise", d_found.label_noise, 1e-6f, 1e9f);
    members("energies", d_found.energies, 0.0f, 1e3f);
    members.numbers("trials",
                    &d_found.trials.data()->count,
                    { d_found.trials.size(), sizeof(change_trials) / sizeof(float) },
                    -4 * change_trials::largest * change_trials::largest,
                    4 * change_trials::largest * change_trials::largest);
    for (const auto& [name, weights] :
         { std::pair("phase_weights", &d_found.gain_weights.phase),
           std::pair("amplitude_weights", &d_found.gain_weights.amplitude) })
        members.numbers(name, weights->data(), { weights->size() }, -1.0f, 1.0f);
    members("mean_amplitude", d_found.gain_weights.mean_amplitude, -1.0f, 1.0f);
    members("power", d_found.power, 0.0f, std::numeric_limits<float>::max());
    members("power_along", d_found.power_along, 0.0f, std::numeric_limits<float>::max());
    members("residual", d_found.residual, 0.0f, std::numeric_limits<float>::max());
    members("polynomial", d_found.polynomial, -largest_sample, largest_sample);
    members("table", d_found.table, -largest_sample, largest_sample);
    members("waveform_number", d_found.waveform_number);
}

} // namespace gr::adann::core
