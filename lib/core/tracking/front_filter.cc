/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/front_filter.h"

#include "core/common/checks.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gr::adann::core {

using simd::lanes;

namespace {

constexpr std::size_t room = 4096; // symbols until the buffers are moved back
// A least squares fit to labels has four equations for each unknown, or more.
constexpr std::size_t most_blind_taps = front_filter::blind_symbols / 8 + 1;

std::size_t odd_taps(unsigned length, std::size_t sps)
{
    return 2 * front_filter::reach(length, sps) + 1;
}

std::size_t whole(std::size_t samples, std::size_t sps)
{
    return (samples + sps - 1) / sps;
}

const expected_waveform& waveform_of(const model& behind)
{
    if (!behind.waveform)
        refuse("model", "without an expected waveform", "one that has it");
    return *behind.waveform;
}

// What decisions at random leave: (2h)²/12 in each dimension of the samples, h half the
// least distance.
float at_random(const constellation& symbols, std::size_t planes)
{
    const float h = symbols.half_distance();
    return h * h / 3 * static_cast<float>(planes);
}

const front_filter_settings& checked(const front_filter_settings& settings)
{
    settings.check();
    return settings;
}

} // namespace

void front_filter_settings::check() const
{
    check_range("front filter's length", length, 1u, 64u);
    check_range<std::size_t>(
        "number of the front filter's memories", memories.size(), 1, 8);
    std::size_t least = front_filter::block;
    for (const std::size_t memory : memories) {
        check_range<std::size_t>("front filter's memory", memory, least, 10'000'000);
        least = memory + 1;
    }
}

front_filter::front_filter(const model& behind, const front_filter_settings& settings)
    : front_filter(waveform_of(behind), behind.window, behind.symbols, settings)
{
}

front_filter::front_filter(const expected_waveform& waveform,
                           const window_geometry& window,
                           const constellation& symbols,
                           const front_filter_settings& settings)
    : d_waveform(std::make_shared<const expected_waveform>(waveform)),
      d_window(window),
      d_planes(window.floats_per_sample()),
      d_taps(odd_taps(checked(settings).length, window.sps())),
      d_blind_taps(std::min(d_taps, most_blind_taps)),
      d_noise(waveform.noise() * waveform.noise() * static_cast<float>(d_planes)),
      d_chance(at_random(symbols, d_planes)),
      d_past(blind_symbols + block + 4 * waveform.reach() + whole(d_taps, window.sps()) +
             whole(window.samples(), window.sps()) + 2),
      d_capacity(d_past + room),
      d_samples(sample(d_capacity + most_apart * block) + window.samples() +
                    2 * (d_taps + lanes),
                d_planes == 2),
      d_filtered(d_samples.re.size() * d_planes),
      d_bad(d_samples.re.size()),
      d_labels(d_capacity + most_apart * block),
      d_truth(d_labels.size(), not_known),
      d_decided(d_labels.size()),
      d_expected(most_training * waveform.stride()),
      d_rest((block + 2 * waveform.reach()) * waveform.stride()),
      d_soft(waveform, symbols),
      d_decisions(d_labels.size()),
      d_estimates(d_labels.size()),
      d_points(symbols.points()),
      d_ambiguity(symbols, d_soft.variance()),
      d_wanted(sample(most_training), d_planes == 2),
      d_output(sample(most_apart * block + 2 * waveform.reach() + 1) + window.samples() +
                   lanes,
               d_planes == 2),
      d_sums(d_taps, d_planes == 2),
      d_wanted_noise(d_sums.noise(waveform.noise_correlation())),
      d_error(d_sums.noise(d_soft.error_correlation(waveform))),
      d_filter(d_taps, d_planes == 2, simd::active()),
      d_bank(d_taps,
             odd_taps((settings.length + 1) / 2, window.sps()),
             d_planes == 2,
             block,
             settings.memories,
             most_apart),
      d_channel(waveform,
                symbols.symmetries().size(),
                judge::taps,
                normal_equations(judge::taps, d_planes == 2).pitch()),
      d_judge(d_waveform, symbols.symmetries()),
      d_symmetries(symbols.symmetries()),
      d_blind(std::make_shared<blind_decisions>(
          symbols, d_blind_taps, d_planes, blind_symbols)),
      d_blind_samples(sample(blind_symbols) + d_blind_taps, d_planes == 2),
      d_plain(judge::symbols + 2 * waveform.reach()),
      d_own(block),
      d_power(symbols),
      d_at_level(d_plain.size()),
      d_still(d_planes == 2 ? sample(judge::symbols) : 0, d_planes == 2),
      d_interleaved(d_planes == 2 ? 2 * (sample(d_plain.size() + blind_symbols) +
                                         window.samples() + d_taps)
                                  : 0),
      d_acquisition(d_sums, window.sps()),
      d_training(most_training)
{
    float power = 0;
    for (const auto& point : d_points)
        power += std::norm(point) / static_cast<float>(d_points.size());
    for (auto& point : d_points)
        point /= std::sqrt(power);
    if (d_planes == 2) {
        d_carrier.emplace(d_samples.re.size(), window.sps());
        d_line.emplace(waveform, symbols);
        d_again.resize(carrier::step + 2 * waveform.reach());
        d_turned.resize(turned(d_again.size()).floats());
        if (phase_search search(symbols); search.angles().size() > 1) {
            d_labelled.assign(search.angles().size(), d_labels);
            d_told.resize(search.angles().size());
            d_search = std::move(search);
        }
    }
    d_nothing.resize(d_sums.vector_floats());
    least_squares::do_nothing(d_sums, d_nothing);
    d_settled = d_nothing;
    forget_samples();
}

void front_filter::forget_samples()
{
    d_next = d_past;
    d_ready = sample(d_next) - d_window.samples_before();
    d_loaded = d_ready - reach();
    d_unusable = d_known = d_position = d_update = d_untrained = d_unsettled = 0;
    if (d_line)
        d_line->reset();
}

// From an update on.
front_filter::pace front_filter::next_pace() const
{
    const std::size_t update = apart() * block;
    const bool has_phase = d_carrier && !(d_carrier->idle() && update > block);
    return { update, has_phase ? carrier::step : update };
}

feature_view front_filter::filter(const feature_view& windows)
{
    if (std::exchange(d_starts, false) && !goes_on(windows))
        forget_samples();
    if (d_next + windows.count > d_capacity)
        make_room();
    load(windows);
    if (d_position == 0) {
        const pace next = next_pace();
        d_update = next.update;
        d_step = next.step;
    }
    if (d_carrier && d_position % d_step == 0)
        d_carrier->prepare(d_ready,
                           sample(d_next + d_step - 1) + d_window.samples_after() + 1);
    const std::size_t first = sample(d_next) - d_window.samples_before();
    const std::size_t end =
        sample(d_next + windows.count - 1) + d_window.samples_after() + 1;
    run(d_ready, end - d_ready);
    feature_view seen = own_windows(windows.count);
    if (!d_in_use)
        seen.data = interleaved(first, end - first);
    return seen;
}

// The next symbols' windows behind the filter.
feature_view front_filter::own_windows(std::size_t n) const
{
    const std::size_t first = sample(d_next) - d_window.samples_before();
    return { &d_filtered[first * d_planes], d_window.stride(), d_window.dimension(), n };
}

// Whether the windows start with what has come in.
bool front_filter::goes_on(const feature_view& windows) const
{
    const std::size_t first = sample(d_next) - d_window.samples_before() - reach();
    const std::size_t n = std::min(d_loaded - first, windows.floats() / d_planes);
    for (std::size_t i = 0; i < n; ++i)
        if (windows.data[i * d_planes] != d_samples.re[first + i] ||
            (d_planes == 2 && windows.data[2 * i + 1] != d_samples.im[first + i]))
            return false;
    return true;
}

// What the buffers still need goes to their start.
void front_filter::make_room()
{
    const std::size_t symbols = d_next - d_past, from = sample(symbols);
    const auto move_back = [](auto& buffer, std::size_t n) {
        if (!buffer.empty())
            std::copy(buffer.begin() + n, buffer.end(), buffer.begin());
    };
    move_back(d_samples.re, from);
    move_back(d_samples.im, from);
    move_back(d_filtered, from * d_planes);
    move_back(d_bad, from);
    move_back(d_labels, symbols);
    move_back(d_truth, symbols);
    move_back(d_decided, symbols);
    move_back(d_estimates, symbols);
    move_back(d_decisions, symbols);
    for (auto& labels : d_labelled)
        move_back(labels, symbols);
    if (d_carrier)
        d_carrier->move_back(from);
    d_next -= symbols;
    d_loaded -= from;
    d_ready -= from;
    d_unusable -= std::min(d_unusable, from);
}

void front_filter::load(const feature_view& windows)
{
    const std::size_t first = sample(d_next) - d_window.samples_before() - reach();
    const std::size_t end = first + windows.floats() / d_planes;
    const float* from = windows.data + (d_loaded - first) * d_planes;
    if (end > d_loaded && all_usable(from, (end - d_loaded) * d_planes)) {
        const std::size_t n = end - d_loaded;
        float* const re = &d_samples.re[d_loaded];
        if (d_planes == 1) {
            std::copy_n(from, n, re);
        } else {
            float* const im = &d_samples.im[d_loaded];
            for (std::size_t i = 0; i < n; ++i) {
                re[i] = from[2 * i];
                im[i] = from[2 * i + 1];
            }
        }
        std::fill_n(&d_bad[d_loaded], n, 0);
        d_loaded = end;
    }
    for (; d_loaded < end; ++d_loaded, from += d_planes) {
        const bool usable = all_usable(from, d_planes);
        d_samples.re[d_loaded] = usable ? from[0] : 0.0f;
        if (d_planes == 2)
            d_samples.im[d_loaded] = usable ? from[1] : 0.0f;
        d_bad[d_loaded] = !usable;
        if (!usable)
            d_unusable = d_loaded + 1;
    }
}

// Filters n samples from `first` on.
void front_filter::run(std::size_t first, std::size_t n)
{
    const signal_planes from = d_samples + static_cast<std::ptrdiff_t>(first - reach());
    if (d_planes == 1) {
        d_filter.run(d_bank.taps(), d_sums.pitch(), from, n, &d_filtered[first], nullptr);
    } else {
        float *const re = d_output.re.data(), *const im = d_output.im.data();
        d_filter.run(d_bank.taps(), d_sums.pitch(), from, n, re, im);
        d_carrier->rotate_back(re, im, first, n, &d_filtered[2 * first]);
    }
    d_ready = first + n;
    for (std::size_t i = first; i < std::min(d_ready, d_unusable); ++i)
        if (d_bad[i])
            std::fill_n(&d_filtered[i * d_planes], d_planes, std::nanf(""));
}

void front_filter::decided(const std::uint8_t* labels,
                           const std::uint8_t* known,
                           std::size_t n,
                           decider& decides,
                           const prepared_network& net)
{
    if (!d_in_use) {
        decides.decide(net, own_windows(n), d_own.data(), nullptr, d_position);
        labels = d_own.data();
    }
    const bool awaits = d_untrained;
    if (note(labels, known, n))
        follow_carrier(decides, net);
    const std::size_t blocks = due();
    if ((awaits && !d_untrained && acquire()) || !blocks)
        return;
    if (d_acquired)
        return update(blocks);
    if (!not_known_in(d_next - blocks * block, blocks * block)) {
        d_in_use = true;
        forget_loss();
        return update(blocks);
    }
    resolve(blocks);
    d_unjudged += blocks;
    const bool is_still = !d_carrier || d_carrier->idle();
    std::size_t between = judge::symbols;
    if (d_in_use && !is_lost() && !d_was_lost)
        between = is_still ? std::max(judged_every, 4 * blocks * block) : judged_every;
    if (d_unjudged >= between / block) {
        d_unjudged = 0;
        look(decides, net);
    }
    update(blocks);
    if (is_lost() && !d_clear)
        d_in_use = false;
}

// Nothing is searched beside these.
void front_filter::hold(const std::uint8_t* labels, std::size_t n)
{
    d_searching = false;
    if (note(labels, nullptr, n))
        measure_phases();
    due();
}

// Decisions of n symbols, taken for sure.
void front_filter::relabel(std::size_t symbol, const std::uint8_t* labels, std::size_t n)
{
    std::copy_n(labels, n, d_labels.begin() + symbol);
    std::copy_n(labels, n, d_decided.begin() + symbol);
    std::fill_n(d_decisions.begin() + symbol, n, soft_decision{});
    for (std::size_t k = symbol; k < symbol + n; ++k) {
        d_estimates[k] = d_points[d_decided[k]];
        if (knows(k))
            d_labels[k] = d_truth[k];
    }
}

std::size_t front_filter::not_known_in(std::size_t symbol, std::size_t n) const
{
    std::size_t found = 0;
    for (std::size_t k = symbol; k < symbol + n; ++k)
        found += !knows(k);
    return found;
}

// Returns whether a step of the carrier has ended.
bool front_filter::note(const std::uint8_t* labels,
                        const std::uint8_t* known,
                        std::size_t n)
{
    d_looks_back = false;
    d_untrained -= std::min(d_untrained, n);
    if (known)
        std::copy_n(known, n, d_truth.begin() + d_next);
    else
        std::fill_n(d_truth.begin() + d_next, n, not_known);
    relabel(d_next, labels, n);
    for (std::size_t k = d_next; d_line && k < d_next + n; ++k)
        d_line->take({ d_samples.re[sample(k)], d_samples.im[sample(k)] });
    d_next += n;
    d_known = std::min(d_known + n, d_past);
    d_position += n;
    return d_carrier && d_position % d_step == 0;
}

// How many blocks there are since the last update, when it is time for the next one, else 0.
std::size_t front_filter::due()
{
    if (d_position < d_update)
        return 0;
    d_position = 0;
    const std::size_t blocks = std::exchange(d_update, 0) / block;
    d_blocks += blocks;
    return blocks;
}

// Samples as they came in; valid until the next call.
const float* front_filter::interleaved(std::size_t first, std::size_t n)
{
    if (d_planes == 1)
        return &d_samples.re[first];
    for (std::size_t i = 0; i < n; ++i) {
        d_interleaved[2 * i] = d_samples.re[first + i];
        d_interleaved[2 * i + 1] = d_samples.im[first + i];
    }
    return d_interleaved.data();
}

// Posterior means of n symbols whose neighbours are decided.
void front_filter::soften(std::size_t symbol, std::size_t n)
{
    const std::size_t before = d_soft.window(), first = symbol - before;
    const std::size_t start = sample(first) - d_window.sps() / 2;
    const std::size_t floats = (before + n) * d_waveform->stride();
    if (is_hard() || d_known < before + n + 2 * d_waveform->reach() || d_unusable > start)
        return;
    d_waveform->expect(&d_labels[first], before + n, d_rest.data());
    const float* const samples = &d_filtered[start * d_planes];
    for (std::size_t i = 0; i < floats; ++i)
        d_rest[i] = samples[i] - d_rest[i];
    d_soft.find(&d_labels[symbol], d_rest.data(), n, &d_decisions[symbol]);
    for (std::size_t k = symbol; k < symbol + n; ++k) {
        d_estimates[k] = d_points[d_labels[k]] + d_decisions[k].received;
        if (knows(k))
            d_decisions[k] = {};
    }
}

// The slope of posterior means, over some 16 blocks.
float front_filter::follow_slope(float latest)
{
    constexpr float least = 1e-4f; // what decisions leave open changes no taps
    d_slope += (latest - d_slope) / 16;
    d_slope = d_slope < least ? 0 : std::min(d_slope, most_slope);
    return d_slope;
}

// Learns from the latest block whose symbols' neighbours are decided.
void front_filter::update(std::size_t blocks)
{
    const std::size_t reach_symbols = d_waveform->reach();
    if (d_known < block + 2 * reach_symbols)
        return;
    const std::size_t symbol = d_next - block - reach_symbols;
    const std::size_t first = sample(symbol) - d_window.sps() / 2 - reach();
    if (d_unusable > first)
        return;
    if (d_planes == 1) // of complex samples the carrier's steps have done so
        soften(symbol, block);
    d_waveform->expect(&d_labels[symbol], block, d_expected.data());
    // Of the symbols that are not known; the others do not follow any estimate.
    const float part = static_cast<float>(not_known_in(symbol, block)) / block;
    const float latest =
        part > 0 ? d_soft.slope(&d_decisions[symbol], block) / part : 0.0f;
    // Beyond 1 they vary more than estimates do: silence, or another signal.
    const float slope = is_hard() || latest > 1 || !(part > 0) ? 0 : follow_slope(latest);
    tap_bank::measured known{};
    if (slope > 0) {
        const float* const samples = &d_filtered[(first + reach()) * d_planes];
        const auto count = static_cast<float>(sample(block));
        for (std::size_t i = 0; i < sample(block) * d_planes; ++i) {
            const float left = samples[i] - d_expected[i];
            known.left += left * left / count;
        }
        const float left =
            d_soft.aim(&d_decisions[symbol], block, slope, samples, d_expected.data());
        known.scatter = left / count / (1 - part * std::clamp(latest, slope, most_slope));
    }
    if (d_searching)
        turn_to(&d_filtered[2 * (first + reach())],
                sample(carrier::step),
                d_expected.data(),
                block / carrier::step);
    d_wanted.assign(d_expected.data(), sample(block));
    if (d_carrier)
        d_carrier->rotate(d_wanted, first + reach(), sample(block));
    d_sums.set(d_samples + static_cast<std::ptrdiff_t>(first), d_wanted, sample(block));
    d_sums.want(d_wanted_noise);
    d_sums.want(d_error, part * slope / (1 - slope));
    d_bank.learn(d_sums, blocks, slope > 0 ? &known : nullptr);
    if (d_carrier)
        hold_phase();
}

} // namespace gr::adann::core
