/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/sample_history.h"

#include <algorithm>

namespace gr::adann::core {

sample_history::sample_history(const window_geometry& window,
                               std::size_t reach,
                               std::size_t around,
                               std::size_t classes,
                               std::size_t past,
                               std::size_t most)
    : d_window(window),
      d_reach(reach),
      d_around(around),
      d_past(past),
      d_most(most),
      d_capacity(past + room),
      d_samples(sample(d_capacity + most) + window.samples() +
                    2 * (2 * reach + 1 + simd::lanes),
                is_complex()),
      d_overlap((window.samples() - window.sps() + 2 * reach) * floats_per_sample()),
      d_filtered(d_samples.re.size() * floats_per_sample()),
      d_bad(d_samples.re.size()),
      d_symbols(d_capacity + most, classes)
{
    forget();
}

void sample_history::forget()
{
    d_next = d_past;
    d_ready = window_begin(d_next);
    d_loaded = d_ready - d_reach;
    d_unusable = d_known = 0;
    // Echo cancellation uses earlier samples.
    std::fill_n(d_samples.re.begin(), d_loaded, 0.0f);
    if (is_complex())
        std::fill_n(d_samples.im.begin(), d_loaded, 0.0f);
}

bool sample_history::goes_on(const feature_view& windows) const
{
    const std::size_t first = window_begin(d_next) - d_reach;
    const std::size_t n = (d_loaded - first) *
                          floats_per_sample(); // d_overlap's size; else nothing overlaps
    return std::equal(windows.data, windows.data + n, d_overlap.end() - n);
}

std::size_t sample_history::make_room(std::size_t n)
{
    if (d_next + n <= d_capacity)
        return 0;
    const std::size_t symbols = d_next - d_past, from = sample(symbols);
    const auto move_back = [](auto& buffer, std::size_t by) {
        if (!buffer.empty())
            std::copy(buffer.begin() + by, buffer.end(), buffer.begin());
    };
    move_back(d_samples.re, from);
    move_back(d_samples.im, from);
    move_back(d_filtered, from * floats_per_sample());
    move_back(d_bad, from);
    d_symbols.move_back(symbols);
    d_next -= symbols;
    d_loaded -= from;
    d_ready -= from;
    d_unusable -= std::min(d_unusable, from);
    return symbols;
}

void sample_history::load(const feature_view& windows, corrections* corrected)
{
    const std::size_t floats = floats_per_sample();
    const std::size_t first = window_begin(d_next) - d_reach;
    const std::size_t end = first + windows.floats() / floats;
    const float* from = windows.data + (d_loaded - first) * floats;
    const float factor = corrected ? corrected->level.factor() : 1;
    const float largest = largest_sample / factor;
    if (end > d_loaded && all_usable(from, (end - d_loaded) * floats, largest)) {
        const std::size_t n = end - d_loaded;
        float* const re = &d_samples.re[d_loaded];
        if (floats == 1) {
            for (std::size_t i = 0; i < n; ++i)
                re[i] = factor * from[i];
        } else {
            float* const im = &d_samples.im[d_loaded];
            for (std::size_t i = 0; i < n; ++i) {
                re[i] = factor * from[2 * i];
                im[i] = factor * from[2 * i + 1];
            }
        }
        if (corrected)
            corrected->apply(d_samples, d_loaded, n);
        std::fill_n(&d_bad[d_loaded], n, 0);
        d_loaded = end;
    }
    for (; d_loaded < end; ++d_loaded, from += floats) {
        const bool usable = all_usable(from, floats, largest);
        d_samples.re[d_loaded] = usable ? factor * from[0] : 0.0f;
        if (floats == 2)
            d_samples.im[d_loaded] = usable ? factor * from[1] : 0.0f;
        if (corrected && usable)
            corrected->apply(d_samples, d_loaded, 1);
        else if (corrected)
            corrected->tones.pass();
        d_bad[d_loaded] = !usable;
        if (!usable)
            d_unusable = d_loaded + 1;
    }
    std::copy_n(windows.data + windows.floats() - d_overlap.size(),
                d_overlap.size(),
                d_overlap.begin());
}

feature_view sample_history::received_windows(std::size_t symbol,
                                              std::size_t n,
                                              aligned_floats& memory) const
{
    const std::size_t first = window_begin(symbol);
    const float* data = &d_samples.re[first];
    if (is_complex()) {
        const std::size_t count = window_end(symbol + n - 1) - first;
        received(first).interleave(count, memory.data());
        data = memory.data();
    }
    return d_window.view(data, n);
}

void sample_history::set_ready(std::size_t end)
{
    for (std::size_t i = d_ready; i < std::min(end, d_unusable); ++i)
        if (d_bad[i])
            std::fill_n(filtered(i), floats_per_sample(), std::nanf(""));
    d_ready = end;
}

void sample_history::filter_again()
{
    d_ready = std::min(window_begin(d_next), owned(d_next - d_around));
}

void sample_history::note(const std::uint8_t* labels,
                          std::size_t n,
                          const std::uint8_t* known)
{
    d_symbols.set(d_next, labels, n, known);
    d_next += n;
    d_known = std::min(d_known + n, d_past);
}

void sample_history::state(archive& members)
{
    // The kept symbols and samples. After loading a
    // checkpoint they are at the start of the buffers.
    const std::size_t symbol = d_next - d_past, from = sample(symbol);
    std::size_t loaded = d_loaded - from, ready = d_ready - from;
    std::size_t unusable = d_unusable - std::min(d_unusable, from);
    // Allowed range: from the values after forget() or
    // filter_again() to those after load() and set_ready().
    const std::size_t empty = window_begin(d_past);
    const std::size_t filled = empty + d_window.samples() - d_window.sps();
    members("known", d_known, std::size_t{ 0 }, d_past);
    members("loaded", loaded, empty - d_reach, filled + d_reach);
    members("ready", ready, std::min(empty, owned(d_past - d_around)), filled);
    members("unusable", unusable, std::size_t{ 0 }, loaded);
    // No write while saving: readers may run.
    const auto set = [](std::size_t& to, std::size_t value) {
        if (to != value)
            to = value;
    };
    set(d_loaded, from + loaded);
    set(d_ready, from + ready);
    set(d_unusable, unusable + std::min(d_unusable, from));
    d_symbols.state(members, symbol, d_past);
    const float most = largest_sample;
    members.numbers("samples.re", &d_samples.re[from], { loaded }, -most, most);
    if (is_complex())
        members.numbers("samples.im", &d_samples.im[from], { loaded }, -most, most);
    members.numbers("filtered",
                    &d_filtered[from * floats_per_sample()],
                    { ready * floats_per_sample() },
                    archive::any);
    members.numbers("bad", &d_bad[from], { loaded });
    members.numbers("overlap", d_overlap.data(), { d_overlap.size() }, archive::any);
}

} // namespace gr::adann::core
