/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/burst_equalizer.h"

#include "core/common/checks.h"
#include "core/common/complex.h"
#include "core/signal/windows.h"
#include "core/tracking/tap_bank.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {

constexpr double still =
    std::numeric_limits<double>::infinity();                // memory of a static link
constexpr double memories[] = { still, 1024, 256, 64, 32 }; // symbols
constexpr double phase_memories[] = { 64, 24, 8 };
constexpr std::size_t hypotheses_kept = 8;
constexpr double clear =
    1.5; // a hypothesis with this times the best one's noise is wrong
// Symbols that are fitted at once during growth.
constexpr std::size_t locals[] = { 96, 384 };
// Symbols beyond the seed after which hypotheses are compared.
constexpr std::size_t compared[] = { 32, 128 };
constexpr std::size_t usual_stretch = 8, most_stretches = 2048;
// Noise relative to unit power: initial value, and lower limits: during growth, when few symbols
// fit taps that they were fitted to, and afterwards.
constexpr double noise_of_a_seed = 0.1, least_while_growing = 1e-3, least_noise = 1e-6;

// Samples may have any level, such as the integers of an analogue-to-digital converter.
bool is_usable(const std::complex<float>* samples, std::size_t n)
{
    return all_usable(reinterpret_cast<const float*>(samples), 2 * n, 1e8f);
}

} // namespace

void burst_settings::check() const
{
    check_range("burst equalizer's length", length, 1u, 32u);
    check_range("burst equalizer's carrier", carrier, 0.0f, 0.25f);
    check_range<std::size_t>("burst equalizer's most symbols", most, 16, 1'000'000);
}

burst_equalizer::burst_equalizer(const constellation& symbols,
                                 std::size_t sps,
                                 bool complex,
                                 const burst_settings& settings)
    : d_sps((check_range<std::size_t>("sps", sps, 1, 16), settings.check(), sps)),
      d_middle(odd_taps(settings.length, sps) / 2),
      d_taps(2 * d_middle + 1),
      d_unknowns(d_taps + !complex), // real samples have an offset
      d_complex(complex),
      d_settings(settings),
      d_samples(samples(settings.most)),
      d_window(d_unknowns, 1),
      d_fit(d_unknowns, d_middle),
      d_sums(d_unknowns),
      d_symbols(symbols, complex, settings.most),
      d_rotation(symmetry_angle(symbols.symmetries().size())),
      d_usable(settings.most),
      d_phase(settings.most),
      d_labels(settings.most),
      d_soft(settings.most),
      d_posteriors(settings.most * symbols.size())
{
    if (symbols.is_complex() && !complex)
        refuse("complex", false, "true for a constellation of complex points");
}

void burst_equalizer::equalize(const std::complex<float>* samples,
                               const std::uint8_t* known,
                               std::size_t n)
{
    check_range<std::size_t>(
        "burst's symbols", n, burst_symbols::least_known, d_settings.most);
    burst_symbols::check_seed("burst's symbols", known, n, classes());
    load(samples, known, n);
    const stretch run = burst_symbols::seed(known, n, classes());

    auto tried = hypotheses(run);
    for (const std::size_t more : compared)
        drop_hypotheses(tried, run, more);
    tried.resize(std::min<std::size_t>(tried.size(), 2));
    std::size_t best = 0;
    double least = still;
    const auto equalize = [&](std::size_t each, std::size_t local) {
        equalize_from(tried[each], local, run);
        if (d_symbols.noise() < least || least == still) {
            least = d_symbols.noise();
            best = each;
            keep_decisions();
        }
    };
    for (std::size_t each = 0; each < tried.size(); ++each)
        equalize(each, locals[0]);
    if (n > locals[0])
        equalize(best, locals[1]);
}

// Grows each hypothesis by so many symbols beyond
// the seed, and drops those with clearly more noise.
void burst_equalizer::drop_hypotheses(std::vector<hypothesis>& tried,
                                      stretch run,
                                      std::size_t more)
{
    const std::size_t until = std::min(d_count, run.size() + more);
    if (tried.size() < 2 || (until == run.size() && d_symbols.is_label_known(run)))
        return;
    for (auto& each : tried) {
        grow(start(each, run), until, locals[0]);
        each.error = d_symbols.noise();
    }
    std::sort(tried.begin(), tried.end(), [](const auto& a, const auto& b) {
        return a.error < b.error;
    });
    const double most = clear * tried[0].error;
    while (tried.size() > 1 && tried.back().error > most)
        tried.pop_back();
}

void burst_equalizer::equalize_from(const hypothesis& seed,
                                    std::size_t local,
                                    stretch run)
{
    grow(start(seed, run), d_count, local);
    d_fading = still;
    d_ridge = 1;
    if (d_complex)
        straighten();
    else
        choose_memory();
    for (int pass = 0; pass < 3; ++pass)
        smooth();
}

// Forgets all decisions, and starts from the seed's taps and frequency.
burst_equalizer::front burst_equalizer::start(const hypothesis& seed, stretch run)
{
    d_symbols.start(noise_of_a_seed);
    std::fill(d_phase.begin(), d_phase.end(), 0.0);
    turn({ 0, d_count }, seed.frequency, run.middle());
    front begins{ run, seed.taps };
    if (!d_symbols.is_label_known(run)) // decides the symbols between its known ones
        fit_again(run, begins.taps, 0);
    return begins;
}

void burst_equalizer::load(const std::complex<float>* samples,
                           const std::uint8_t* known,
                           std::size_t n)
{
    d_count = n;
    const std::size_t count = this->samples(n);
    double power = 0;
    for (std::size_t i = 0; i < count; ++i) {
        d_samples[i] = is_usable(samples + i, 1) ? number(samples[i]) : 0;
        power += std::norm(d_samples[i]) / static_cast<double>(count);
    }
    const double by = power > 0 ? 1 / std::sqrt(power) : 0;
    for (std::size_t i = 0; i < count; ++i)
        d_samples[i] *= by;
    for (std::size_t i = 0; i < n; ++i) {
        d_usable[i] = is_usable(samples + i * d_sps, d_taps);
    }
    d_symbols.load(known, d_usable, n);
    d_fit.reset();
}

// The best frequencies for the known symbols: at a spacing of a tenth of a cycle over the run, then
// with a finer spacing around each.
std::vector<burst_equalizer::hypothesis> burst_equalizer::hypotheses(stretch run)
{
    d_symbols.start(noise_of_a_seed);
    std::fill(d_phase.begin(), d_phase.end(), 0.0);
    const double spacing = 0.1 / static_cast<double>(run.size());
    const auto each_way =
        d_complex ? static_cast<int>(std::ceil(d_settings.carrier / spacing)) : 0;
    std::vector<hypothesis> all;
    for (int k = -each_way; k <= each_way; ++k)
        all.push_back(fit(run, k * spacing, 0, 1));
    if (!d_symbols.is_label_known(run))
        all = minima(all);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return a.error < b.error;
    });
    all.resize(std::min(all.size(), hypotheses_kept));
    if (d_complex)
        for (auto& each : all)
            each = fit(run, each.frequency, spacing / 6, 7);
    return all;
}

// The local minima of the error. Between separate runs there is one for each additional cycle that
// the carrier may have rotated from one run to the next.
std::vector<burst_equalizer::hypothesis>
burst_equalizer::minima(const std::vector<hypothesis>& all)
{
    std::vector<hypothesis> found;
    for (std::size_t k = 0; k < all.size(); ++k)
        if ((k == 0 || all[k].error <= all[k - 1].error) &&
            (k + 1 == all.size() || all[k].error < all[k + 1].error))
            found.push_back(all[k]);
    return found;
}

// Taps for the best of `count` frequencies around one, in cycles per symbol, and then of as many at
// a sixth of the spacing. The phase is zero in the middle of the stretch.
burst_equalizer::hypothesis burst_equalizer::fit(stretch over,
                                                 double around,
                                                 double spacing,
                                                 std::size_t count,
                                                 burst_fit::ridge_search ridges)
{
    // Sums of each sixteenth, within which the candidates' phases differ by 0.2 rad at most.
    constexpr std::size_t parts = 16;
    const std::size_t length = (over.size() + parts - 1) / parts;
    d_parts.assign(parts * d_unknowns, 0);
    d_sums.clear();
    for (std::size_t i = over.first; i < over.end; ++i) {
        const double weight = d_symbols.weight(i);
        if (weight == 0)
            continue;
        const double since = static_cast<double>(i) - over.middle();
        const number target = times(
            d_symbols.target(i), std::polar(1.0, d_phase[i] + 2 * M_PI * around * since));
        copy_window(i);
        d_sums.add(d_window.data(), target, weight);
        number* const part = &d_parts[(i - over.first) / length * d_unknowns];
        for (std::size_t k = 0; k < d_unknowns; ++k)
            part[k] += times(std::conj(d_window[k]), weight * target);
    }
    hypothesis found{ 0, around, {} };
    for (const auto search : { ridges, burst_fit::ridge_search::same }) {
        const double first =
            found.frequency - 0.5 * spacing * static_cast<double>(count - 1);
        d_wanted.assign(d_unknowns * count, 0);
        for (std::size_t b = 0; b * length < over.size(); ++b) {
            const double since =
                2 * M_PI * static_cast<double>(b * length) +
                M_PI * static_cast<double>(std::min(length, over.size() - b * length)) -
                M_PI * static_cast<double>(over.size() + 1); // relative to over.middle()
            number turned = std::polar(1.0, (first - around) * since);
            const number step = std::polar(1.0, spacing * since);
            for (std::size_t c = 0; c < count; ++c, turned = times(turned, step))
                for (std::size_t k = 0; k < d_unknowns; ++k)
                    d_wanted[k * count + c] += times(d_parts[b * d_unknowns + k], turned);
        }
        found.error = d_fit.best(d_sums, d_wanted, count, search);
        found.frequency = first + spacing * static_cast<double>(d_fit.hypothesis());
        if (count == 1)
            break;
        spacing /= 6;
    }
    found.taps = d_fit.taps();
    return found;
}

// Equalizes outwards until `until` symbols, or more, are done.
void burst_equalizer::grow(front from, std::size_t until, std::size_t local)
{
    const auto step = [](std::size_t size) {
        return std::max<std::size_t>(1, size / 12);
    };
    const auto widened = [&](stretch s, std::size_t left, std::size_t right) {
        return stretch{ s.first - std::min(s.first, left),
                        std::min(d_count, s.end + right) };
    };
    stretch& grown = from.grown;
    while (grown.size() < until && grown.size() < local) {
        grown = widened(grown, step(grown.size()), step(grown.size()));
        fit_again(grown, from.taps, 0);
    }
    if (grown.size() >= until)
        return;
    const double noise = d_symbols.noise();
    std::vector<number> taps = from.taps;
    while (grown.end < d_count && grown.size() < until) {
        grown = widened(grown, 0, step(local));
        fit_again({ grown.end - std::min(grown.end, local), grown.end }, taps, 1);
    }
    d_symbols.set_noise(noise);
    while (grown.first > 0 && grown.size() < until) {
        grown = widened(grown, step(local), 0);
        fit_again({ grown.first, std::min(d_count, grown.first + local) }, from.taps, -1);
    }
}

// Decides a stretch and fits taps and carrier to it, twice. The frequency found changes the phase
// of all symbols (direction 0), or of those after (1) or before (-1) the stretch's middle.
void burst_equalizer::fit_again(stretch over, std::vector<number>& taps, int direction)
{
    for (const auto search :
         { burst_fit::ridge_search::near, burst_fit::ridge_search::same }) {
        decide(over, taps);
        d_symbols.take(over, least_while_growing);
        const bool turns = d_complex;
        const hypothesis found = fit(over,
                                     0,
                                     turns ? 0.1 / static_cast<double>(over.size()) : 0,
                                     turns ? 7 : 1,
                                     search);
        taps = found.taps;
        const auto centre = static_cast<std::size_t>(over.middle());
        turn({ direction > 0 ? centre : 0, direction < 0 ? centre : d_count },
             found.frequency,
             over.middle());
    }
}

void burst_equalizer::turn(stretch over, double frequency, double centre)
{
    for (std::size_t i = over.first; i < over.end; ++i)
        d_phase[i] += 2 * M_PI * frequency * (static_cast<double>(i) - centre);
}

burst_equalizer::number burst_equalizer::rotated(std::size_t i) const
{
    return times(d_symbols.target(i), std::polar(1.0, d_phase[i]));
}

void burst_equalizer::copy_window(std::size_t symbol)
{
    std::copy_n(window(symbol), d_taps, d_window.begin());
}

// Estimates the symbols of a stretch.
void burst_equalizer::decide(stretch over, const std::vector<number>& taps)
{
    for (std::size_t i = over.first; i < over.end; ++i) {
        copy_window(i);
        number y = 0;
        for (std::size_t k = 0; k < d_unknowns; ++k)
            y += times(taps[k], d_window[k]);
        y = times(y, std::polar(1.0, -d_phase[i]));
        d_symbols.estimate(i) = d_complex ? y : y.real();
    }
}

// One round of smoothing over the whole burst.
void burst_equalizer::smooth()
{
    decide_by_others(sums_of_others(sums_of_stretches(), d_fading), d_ridge);
    d_symbols.take({ 0, d_count }, least_noise);
    if (d_complex) {
        smooth_phase();
        d_symbols.take({ 0, d_count }, least_noise);
    }
}

void burst_equalizer::keep_decisions()
{
    for (std::size_t i = 0; i < d_count; ++i) {
        d_labels[i] = d_symbols.label(i);
        d_soft[i] = std::complex<float>(d_symbols.estimate(i));
    }
    std::copy_n(d_symbols.posteriors(), d_count * classes(), d_posteriors.begin());
    d_noise = d_symbols.noise();
    d_frequency = (d_phase[d_count - 1] - d_phase[0]) /
                  (2 * M_PI * static_cast<double>(d_count - 1));
    d_memory = d_fading;
}

// Replaces the carrier's phase by a straight line through it and the known symbols, if the error of
// the burst is smaller with it.
void burst_equalizer::straighten()
{
    const double error = choose_memory();
    const std::vector<double> grown(d_phase.begin(), d_phase.begin() + d_count);
    std::vector<double> line = line_through(grown);
    follow(line);
    const double slip = slip_of_known();
    for (auto& each : line)
        each += slip;
    follow(line);
    const double n = static_cast<double>(d_count);
    const stretch all{ 0, d_count };
    turn(all, fit(all, 0, 0.2 / n, 9).frequency, n / 2);
    const double straight =
        decide_by_others(sums_of_others(sums_of_stretches(), d_fading), d_ridge);
    if (error < straight)
        follow(grown);
}

// A straight line through phases that may have cycle slips. Slips do not change the multiple of the
// phase by the constellation's order: the line is the maximum of that multiple's spectrum around
// the least squares line, within the range of four slips.
std::vector<double> burst_equalizer::line_through(const std::vector<double>& phase) const
{
    constexpr int slips = 4, per_slip = 4;
    const double n = static_cast<double>(d_count), middle = (n - 1) / 2;
    double mean = 0, slope = 0;
    for (std::size_t i = 0; i < d_count; ++i) {
        mean += phase[i] / n;
        slope += phase[i] * (static_cast<double>(i) - middle) * 12 / (n * (n * n - 1));
    }
    std::vector<number> sums(2 * slips * per_slip + 1);
    const double spacing = d_rotation / (n * per_slip); // rad a symbol
    for (std::size_t i = 0; i < d_count; ++i) {
        const double since = static_cast<double>(i) - middle;
        const auto multiple = [&](double angle) {
            return std::polar(1.0, 2 * M_PI / d_rotation * angle);
        };
        number turned =
            multiple(phase[i] - mean - (slope - slips * per_slip * spacing) * since);
        const number step = multiple(-spacing * since);
        for (auto& sum : sums) {
            sum += turned;
            turned = times(turned, step);
        }
    }
    const auto best = std::max_element(sums.begin(), sums.end(), [](number a, number b) {
        return std::norm(a) < std::norm(b);
    });
    mean += std::arg(*best) * d_rotation / (2 * M_PI);
    slope += spacing * static_cast<double>(best - sums.begin() - slips * per_slip);
    std::vector<double> line(d_count);
    for (std::size_t i = 0; i < d_count; ++i)
        line[i] = mean + slope * (static_cast<double>(i) - middle);
    return line;
}

// The multiple of the constellation's rotation by which estimates of known symbols are rotated.
double burst_equalizer::slip_of_known()
{
    number known = 0;
    for (std::size_t i = 0; i < d_count; ++i)
        if (d_symbols.is_label_known(i))
            known += d_symbols.weight(i) *
                     times(d_symbols.estimate(i), std::conj(d_symbols.target(i)));
    return d_rotation * std::round(std::arg(known) / d_rotation);
}

// Sets the carrier's phases, and decides again.
void burst_equalizer::follow(const std::vector<double>& phase)
{
    for (std::size_t i = 0; i < d_count; ++i)
        d_symbols.estimate(i) =
            times(d_symbols.estimate(i), std::polar(1.0, d_phase[i] - phase[i]));
    std::copy(phase.begin(), phase.end(), d_phase.begin());
    d_symbols.take({ 0, d_count }, least_noise);
}

// Sets the memory and λ with the smallest error in
// stretches that were not fitted; returns that error.
double burst_equalizer::choose_memory()
{
    double least = still;
    const auto own = sums_of_stretches();
    const auto compare = [&](double memory, double ridge, const auto& others) {
        const double error = decide_by_others(others, ridge);
        if (error < least) {
            least = error;
            d_fading = memory;
            d_ridge = ridge;
        }
    };
    for (const double memory : memories)
        compare(memory, 0.01, sums_of_others(own, memory));
    const auto others = sums_of_others(own, d_fading);
    for (const double ridge : { 0.001, 0.1 })
        compare(d_fading, ridge, others);
    return least;
}

std::size_t burst_equalizer::stretch_length() const
{
    return std::max(std::clamp<std::size_t>(d_count / 16, 2, usual_stretch),
                    (d_count + most_stretches - 1) / most_stretches);
}

std::vector<burst_sums> burst_equalizer::sums_of_stretches()
{
    const std::size_t length = stretch_length();
    std::vector<burst_sums> own((d_count + length - 1) / length, burst_sums(d_unknowns));
    for (std::size_t i = 0; i < d_count; ++i)
        if (d_symbols.weight(i) > 0) {
            copy_window(i);
            own[i / length].add(d_window.data(), rotated(i), d_symbols.weight(i));
        }
    return own;
}

// For each stretch the sums of all others, weighted by exp(-distance / memory).
std::vector<burst_sums>
burst_equalizer::sums_of_others(const std::vector<burst_sums>& own, double memory) const
{
    const double fades = std::exp(-static_cast<double>(stretch_length()) / memory);
    std::vector<burst_sums> others;
    others.reserve(own.size());
    burst_sums passed(d_unknowns);
    const auto pass = [&](const burst_sums& stretch) {
        passed.add(stretch);
        passed.fade(fades);
    };
    for (const auto& each : own) {
        others.push_back(passed);
        pass(each);
    }
    passed.clear();
    for (std::size_t s = own.size(); s-- > 0;) {
        others[s].add(passed);
        pass(own[s]);
    }
    return others;
}

// Estimates all symbols; returns their squared error, infinite if a stretch has no taps.
double burst_equalizer::decide_by_others(const std::vector<burst_sums>& others,
                                         double ridge)
{
    const std::size_t length = stretch_length();
    double error = 0;
    for (std::size_t s = 0; s < others.size(); ++s) {
        const stretch here{ s * length, std::min(d_count, (s + 1) * length) };
        if (!d_fit.solve(others[s], ridge, d_stretch_taps)) {
            error = still;
            continue;
        }
        decide(here, d_stretch_taps);
        for (std::size_t i = here.first; i < here.end; ++i)
            error += d_symbols.weight(i) *
                     std::norm(d_symbols.estimate(i) - d_symbols.target(i));
    }
    return error;
}

// Corrects the phase of each symbol by the mean of
// the symbols around it, if that reduces the error.
void burst_equalizer::smooth_phase()
{
    const auto turned =
        [&](std::size_t i) { // weighted rotation of an estimate from its target
            return d_symbols.weight(i) *
                   times(d_symbols.estimate(i), std::conj(d_symbols.target(i)));
        };
    std::vector<number> around(d_count), best;
    double most = 0;
    for (std::size_t i = 0; i < d_count; ++i)
        most += turned(i).real();
    for (const double memory : phase_memories) {
        const double fades = std::exp(-1 / memory);
        number sum = 0;
        for (std::size_t i = 0; i < d_count; ++i) {
            around[i] = sum;
            sum = fades * (sum + turned(i));
        }
        sum = 0;
        double explained = 0;
        for (std::size_t i = d_count; i-- > 0;) {
            around[i] += sum;
            sum = fades * (sum + turned(i));
            const double size = std::abs(around[i]);
            around[i] = size > 0 ? around[i] / size : 1;
            explained += times(turned(i), std::conj(around[i])).real();
        }
        if (explained > most) {
            most = explained;
            best = around;
        }
    }
    if (best.empty())
        return;
    for (std::size_t i = 0; i < d_count; ++i) {
        d_phase[i] += std::arg(best[i]);
        d_symbols.estimate(i) = times(d_symbols.estimate(i), std::conj(best[i]));
    }
}

} // namespace gr::adann::core
