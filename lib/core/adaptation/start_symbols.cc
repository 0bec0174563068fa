/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/start_symbols.h"

#include "core/signal/impulse_detector.h"
#include "core/signal/known_symbols.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

namespace gr::adann::core {

start_symbols::start_symbols(const window_geometry& window, std::size_t classes)
    : d_window(window), d_classes(classes)
{
}

std::size_t start_symbols::add(const feature_view& batch, const std::uint8_t* known)
{
    d_stride = batch.stride;
    // Windows overlap: only these samples are new.
    const std::size_t floats = batch.count * batch.stride;
    const std::size_t fresh = d_count ? floats : batch.floats();
    const std::size_t held = d_samples.size();
    d_samples.insert(d_samples.end(),
                     batch.data + batch.floats() - fresh,
                     batch.data + batch.floats());
    d_labels.resize(d_count + batch.count);
    std::size_t fresh_labels = 0;
    for (std::size_t i = 0; known && i < batch.count; ++i)
        if (is_known(known[i], d_classes)) {
            d_labels[d_count + i] = known[i];
            ++fresh_labels;
        }
    d_known += fresh_labels;
    d_count += batch.count;
    blank_from(held);
    return fresh_labels;
}

void start_symbols::add_in_use(const std::uint8_t* labels, std::size_t n)
{
    d_in_use.insert(d_in_use.end(), labels, labels + n);
}

void start_symbols::clear()
{
    d_in_use.clear();
    d_samples.clear();
    d_has_impulse.clear();
    d_labels.clear();
    d_count = d_known = 0;
}

// Sets impulses to zero, from this float of d_samples on.
void start_symbols::blank_from(std::size_t first)
{
    const std::size_t floats = d_window.floats_per_sample(), all = d_samples.size();
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

std::vector<float> start_symbols::own_samples() const
{
    const feature_view all = view();
    const std::size_t stride = d_window.stride();
    std::vector<float> own(d_count * stride);
    for (std::size_t i = 0; i < d_count; ++i)
        std::copy_n(all[i] + (all.dimension - stride) / 2, stride, &own[i * stride]);
    return own;
}

std::vector<float> start_symbols::own_samples_marked() const
{
    auto samples = own_samples();
    // Symbols before the first one's own samples: half a window, or none if windows do not overlap.
    const std::size_t own = (d_has_impulse.size() - d_count) / 2;
    for (std::size_t i = 0; i < d_count; ++i)
        if (d_has_impulse[i + own])
            samples[i * d_window.stride()] = std::numeric_limits<float>::quiet_NaN();
    return samples;
}

void start_symbols::forget_known(std::size_t first)
{
    for (auto label = d_labels.begin() + first; label != d_labels.end(); ++label)
        if (std::exchange(*label, std::nullopt))
            --d_known;
}

void start_symbols::forget_before(std::size_t first)
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

void start_symbols::rotate_back(const carrier_track& carrier)
{
    const auto sps = static_cast<double>(d_window.sps());
    const double first = static_cast<double>(d_window.samples_before());
    const bool separate = d_stride == d_window.dimension();
    const std::size_t row = separate ? d_stride : d_samples.size();
    for (std::size_t at = 0; at < d_samples.size(); at += 2) {
        // Time in symbols, relative to the middle of the first one.
        const double when = static_cast<double>(at / row) +
                            (static_cast<double>(at % row / 2) - first) / sps;
        const auto symbol = static_cast<std::size_t>(
            std::clamp(std::round(when), 0.0, static_cast<double>(d_count - 1)));
        const double from = when - static_cast<double>(symbol);
        const std::complex<double> rotated =
            std::complex<double>(d_samples[at], d_samples[at + 1]) *
            std::polar(1.0, -carrier.phase[symbol] - 2 * M_PI * carrier.frequency * from);
        d_samples[at] = static_cast<float>(rotated.real());
        d_samples[at + 1] = static_cast<float>(rotated.imag());
    }
}

} // namespace gr::adann::core
