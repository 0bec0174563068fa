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
      d_step(d_planes == 2 ? carrier::step : block),
      d_noise(waveform.noise() * waveform.noise() * static_cast<float>(d_planes)),
      d_chance(at_random(symbols, d_planes)),
      d_past(block + judge::symbols + 4 * waveform.reach() + whole(d_taps, window.sps()) +
             whole(window.samples(), window.sps()) + 2),
      d_capacity(d_past + room),
      d_samples(sample(d_capacity + block) + window.samples() + 2 * (d_taps + lanes),
                d_planes == 2),
      d_filtered(d_samples.re.size() * d_planes),
      d_bad(d_samples.re.size()),
      d_labels(d_capacity + block),
      d_expected(most_training * waveform.stride()),
      d_wanted(sample(most_training), d_planes == 2),
      d_output(sample(block + waveform.reach() + 1) + window.samples() + lanes,
               d_planes == 2),
      d_sums(d_taps, d_planes == 2),
      d_noise_sums(d_sums),
      d_filter(d_taps, d_planes == 2, simd::active()),
      d_bank(d_taps,
             odd_taps((settings.length + 1) / 2, window.sps()),
             d_planes == 2,
             block,
             settings.memories),
      d_judge(d_waveform, symbols.symmetries()),
      d_plain(judge::symbols + 2 * waveform.reach()),
      d_own(block),
      d_still(d_planes == 2 ? sample(judge::symbols) : 0, d_planes == 2),
      d_interleaved(d_planes == 2 ? 2 * (sample(d_plain.size()) + window.samples()) : 0),
      d_acquisition(d_sums, window.sps()),
      d_training(most_training)
{
    if (d_planes == 2) {
        d_carrier.emplace(d_samples.re.size(), window.sps());
        d_line.emplace(waveform, symbols);
    }
    d_nothing.resize(d_sums.vector_floats());
    least_squares::do_nothing(d_sums, d_nothing);
    d_noise_sums.set_noise(d_noise, waveform.noise_correlation(), sample(block));
    forget_samples();
}

void front_filter::forget_samples()
{
    d_next = d_past;
    d_ready = sample(d_next) - d_window.samples_before();
    d_loaded = d_ready - reach();
    d_unusable = d_known = d_position = d_untrained = 0;
    if (d_line)
        d_line->reset();
}

feature_view front_filter::filter(const feature_view& windows)
{
    if (std::exchange(d_starts, false) && !goes_on(windows))
        forget_samples();
    if (d_next + windows.count > d_capacity)
        make_room();
    load(windows);
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
                           std::size_t n,
                           decider& decides,
                           const prepared_network& net)
{
    if (d_untrained) {
        take(labels, n);
        if (!d_untrained)
            acquire();
        return;
    }
    if (!d_in_use) {
        decides.decide(net, own_windows(n), d_own.data(), nullptr, d_position);
        labels = d_own.data();
    }
    if (!take(labels, n))
        return;
    if (d_acquired)
        return update();
    const std::size_t between = d_in_use && !is_lost() ? judged_every : judge::symbols;
    if (d_blocks % (between / block) == 0)
        look(decides, net);
    update();
    if (is_lost() && !d_clear)
        d_in_use = false;
}

void front_filter::known(const std::uint8_t* labels, std::size_t n)
{
    d_in_use = true;
    if (take(labels, n))
        update();
}

// Returns whether a block is complete.
bool front_filter::take(const std::uint8_t* labels, std::size_t n)
{
    if (d_untrained) {
        labels = &d_training[d_trained];
        d_trained += n;
        d_untrained -= n;
    }
    std::copy_n(labels, n, d_labels.begin() + d_next);
    for (std::size_t k = d_next; d_line && k < d_next + n; ++k)
        d_line->take({ d_samples.re[sample(k)], d_samples.im[sample(k)] });
    d_next += n;
    d_known = std::min(d_known + n, d_past);
    d_position = (d_position + n) % block;
    d_blocks += d_position == 0;
    if (d_carrier && d_position % d_step == 0)
        measure_phase();
    return d_position == 0;
}

// Of the latest step whose symbols' neighbours are decided.
void front_filter::measure_phase()
{
    const std::size_t symbol = d_next - d_step - d_waveform->reach();
    const std::size_t first = sample(symbol) - d_window.sps() / 2;
    if (d_known < d_step + 2 * d_waveform->reach() || d_unusable > first)
        return d_carrier->skip(first);
    d_waveform->expect(&d_labels[symbol], d_step, d_expected.data());
    d_carrier->measure(d_expected.data(), &d_filtered[2 * first], first);
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

// Learns from the latest block whose symbols' neighbours are decided.
void front_filter::update()
{
    const std::size_t reach_symbols = d_waveform->reach();
    if (d_known < block + 2 * reach_symbols)
        return;
    const std::size_t symbol = d_next - block - reach_symbols;
    const std::size_t first = sample(symbol) - d_window.sps() / 2 - reach();
    if (d_unusable > first)
        return;
    d_waveform->expect(&d_labels[symbol], block, d_expected.data());
    d_wanted.assign(d_expected.data(), sample(block));
    if (d_carrier)
        d_carrier->rotate(d_wanted, first + reach(), sample(block));
    d_sums.set(d_samples + static_cast<std::ptrdiff_t>(first), d_wanted, sample(block));
    d_sums.add(1, d_noise_sums);
    d_bank.learn(d_sums);
}

void front_filter::state(archive& members)
{
    std::size_t taps = d_taps;
    members("taps", taps);
    if (taps != d_taps)
        members.refuse("taps",
                       "are " + std::to_string(taps) + ", but the front filter has " +
                           std::to_string(d_taps));
    members("bank", d_bank);
    members("judge", d_judge);
    members("blocks", d_blocks);
    members("resets", d_resets);
    members("slips", d_slips);
    members("in_use", d_in_use);
    members("clear", d_clear);
    members("vain_looks", d_vain_looks, std::size_t{ 0 }, judged_every / judge::symbols);
    members("reference", d_reference);
    members("turning", d_turning);
    members("good_phase", d_good_phase);
    members("good_at", d_good_at);
    if (d_line)
        members("line", *d_line);
    members("acquired", d_acquired);
    members("bursts", d_bursts);
    members("position", d_position);
    members("known", d_known);
    // What the buffers still need: restored, it is at their start.
    const std::size_t symbol = d_next - d_past, from = sample(symbol);
    std::size_t loaded = d_loaded - from, ready = d_ready - from;
    std::size_t unusable = d_unusable - std::min(d_unusable, from);
    // From what forget_samples() or acquire() leaves to what filter() leaves.
    const std::size_t empty = sample(d_past) - d_window.samples_before();
    const std::size_t filled = empty + d_window.samples() - d_window.sps();
    const std::size_t expected =
        sample(d_past - d_waveform->reach()) - d_window.sps() / 2;
    members("loaded", loaded, empty - reach(), filled + reach());
    members("ready", ready, std::min(empty, expected), filled);
    members("unusable", unusable, std::size_t{ 0 }, loaded);
    if (d_position >= block || d_known > d_past)
        members.refuse("position", "is out of range");
    // A reader that saves changes nothing.
    const auto set = [](std::size_t& to, std::size_t value) {
        if (to != value)
            to = value;
    };
    set(d_loaded, from + loaded);
    set(d_ready, from + ready);
    set(d_unusable, unusable + std::min(d_unusable, from));
    if (d_carrier)
        d_carrier->state(members, from, sample(d_past + block) + d_window.samples());
    members.numbers("labels", &d_labels[symbol], { d_past });
    const float most = largest_sample;
    members.numbers("samples.re", &d_samples.re[from], { loaded }, -most, most);
    if (d_planes == 2)
        members.numbers("samples.im", &d_samples.im[from], { loaded }, -most, most);
    members.numbers(
        "filtered", &d_filtered[from * d_planes], { ready * d_planes }, archive::any);
    members.numbers("bad", &d_bad[from], { loaded });
    for (std::size_t i = 0; i < d_past; ++i)
        if (d_labels[symbol + i] >= d_waveform->classes())
            members.refuse("labels", "are not all of the constellation");
}

void front_filter::reset()
{
    start_over();
    d_untrained = 0;
    d_in_use = true;
}

} // namespace gr::adann::core
