/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/front_filter.h"

#include "core/common/checks.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

using simd::lanes;

namespace {

constexpr std::size_t room = 4096; // symbols until the buffers are moved back

std::size_t odd_taps(unsigned length, std::size_t sps)
{
    return length * sps / 2 * 2 + 1;
}

std::size_t whole(std::size_t samples, std::size_t sps)
{
    return (samples + sps - 1) / sps;
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

front_filter::front_filter(const expected_waveform& waveform,
                           const window_geometry& window,
                           const front_filter_settings& settings)
    : d_waveform(waveform),
      d_window(window),
      d_kernels(simd::active()),
      d_planes(window.floats_per_sample()),
      d_taps(odd_taps(checked(settings).length, window.sps())),
      d_past(block + 2 * waveform.reach() + whole(d_taps, window.sps()) +
             whole(window.samples(), window.sps()) + 2),
      d_capacity(d_past + room),
      d_next(d_past),
      d_sums(d_taps, d_planes == 2),
      d_bank(d_taps,
             odd_taps((settings.length + 1) / 2, window.sps()),
             d_planes == 2,
             block,
             settings.memories),
      d_pitch(d_sums.pitch())
{
    if (waveform.stride() != window.stride())
        refuse("expected waveform's floats of a symbol",
               waveform.stride(),
               std::to_string(window.stride()) + ", as the window has");
    const std::size_t samples =
        sample(d_capacity + block) + window.samples() + d_taps + d_pitch + 4 * lanes;
    for (std::size_t p = 0; p < d_planes; ++p) {
        d_samples[p].resize(samples);
        d_wanted[p].resize(sample(block));
        d_output[p].resize(sample(block) + window.samples() + d_taps + lanes);
    }
    d_filtered.resize(samples * d_planes);
    d_bad.resize(samples);
    d_negative.resize(d_taps);
    d_labels.resize(d_capacity + block);
    d_expected.resize(block * window.stride());
    d_ready = sample(d_next) - window.samples_before();
    d_loaded = d_ready - reach();
}

feature_view front_filter::filter(const feature_view& windows)
{
    if (d_next + windows.count > d_capacity)
        make_room();
    load(windows);
    const std::size_t first = sample(d_next) - d_window.samples_before();
    const std::size_t end =
        sample(d_next + windows.count - 1) + d_window.samples_after() + 1;
    run(d_ready, end - d_ready);
    return { &d_filtered[first * d_planes],
             d_window.stride(),
             d_window.dimension(),
             windows.count };
}

// What the buffers still need goes to their start.
void front_filter::make_room()
{
    const std::size_t symbols = d_next - d_past, from = sample(symbols);
    for (std::size_t p = 0; p < d_planes; ++p)
        std::copy(d_samples[p].begin() + from, d_samples[p].end(), d_samples[p].begin());
    std::copy(d_filtered.begin() + from * d_planes, d_filtered.end(), d_filtered.begin());
    std::copy(d_bad.begin() + from, d_bad.end(), d_bad.begin());
    std::copy(d_labels.begin() + symbols, d_labels.end(), d_labels.begin());
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
        for (std::size_t p = 0; p < d_planes; ++p)
            d_samples[p][d_loaded] = usable ? from[p] : 0.0f;
        d_bad[d_loaded] = !usable;
        if (!usable)
            d_unusable = d_loaded + 1;
    }
}

// Filters n samples from `first` on.
void front_filter::run(std::size_t first, std::size_t n)
{
    const std::size_t columns = (n + lanes - 1) / lanes * lanes;
    const float* const taps = d_bank.taps();
    const std::size_t from = first - reach();
    if (d_planes == 1) {
        float* const to = &d_filtered[first];
        std::fill_n(to, columns, taps[d_taps]); // the offset
        d_kernels.slide(&taps, 1, d_taps, &d_samples[0][from], 1, columns, 1, &to);
    } else {
        const float *re = taps, *im = taps + d_pitch, *negative = d_negative.data();
        for (std::size_t k = 0; k < d_taps; ++k)
            d_negative[k] = -im[k];
        float* const y[] = { d_output[0].data(), d_output[1].data() };
        const float* const with_re[] = { re, im };
        d_kernels.slide(with_re, 2, d_taps, &d_samples[0][from], 1, columns, 0, y);
        const float* const with_im[] = { negative, re };
        d_kernels.slide(with_im, 2, d_taps, &d_samples[1][from], 1, columns, 1, y);
        for (std::size_t i = 0; i < n; ++i) {
            d_filtered[2 * (first + i)] = y[0][i];
            d_filtered[2 * (first + i) + 1] = y[1][i];
        }
    }
    d_ready = first + n;
    for (std::size_t i = first; i < std::min(d_ready, d_unusable); ++i)
        if (d_bad[i])
            std::fill_n(&d_filtered[i * d_planes], d_planes, std::nanf(""));
}

void front_filter::decided(const std::uint8_t* labels, std::size_t n)
{
    std::copy_n(labels, n, d_labels.begin() + d_next);
    d_next += n;
    d_position += n;
    d_known = std::min(d_known + n, d_past);
    if (d_position == block) {
        d_position = 0;
        update();
    }
}

// Learns from the latest block whose symbols' neighbours are decided.
void front_filter::update()
{
    const std::size_t reach_symbols = d_waveform.reach();
    if (d_known < block + 2 * reach_symbols)
        return;
    const std::size_t symbol = d_next - block - reach_symbols;
    const std::size_t first = sample(symbol) - d_window.sps() / 2 - reach();
    if (d_unusable > first)
        return;
    d_waveform.expect(&d_labels[symbol], block, d_expected.data());
    const std::size_t n = sample(block);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t p = 0; p < d_planes; ++p)
            d_wanted[p][i] = d_expected[i * d_planes + p];
    const auto planes = [](const aligned_floats* of) {
        return signal_planes{ of[0].data(), of[1].empty() ? nullptr : of[1].data() };
    };
    d_sums.set(
        planes(d_samples) + static_cast<std::ptrdiff_t>(first), planes(d_wanted), n);
    d_bank.learn(d_sums);
}

void front_filter::reset() { d_bank.reset(); }

} // namespace gr::adann::core
