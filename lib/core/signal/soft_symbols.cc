/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/soft_symbols.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gr::adann::core {

soft_symbols::soft_symbols(const expected_waveform& waveform,
                           const constellation& alphabet,
                           const window_geometry& window,
                           std::size_t least_lag)
    : d_waveform(waveform),
      d_window(window),
      d_planes(window.floats_per_sample()),
      d_lag(std::max(2 * waveform.reach(), least_lag)),
      d_past(d_lag + waveform.reach()),
      d_points(alphabet.points()),
      d_labels(d_past + most),
      d_rest((d_past + most) * waveform.stride()),
      d_expected(most * waveform.stride())
{
    d_scale = std::sqrt(alphabet.power());

    const std::size_t stride = waveform.stride(), reach = waveform.affine_reach();
    const std::size_t dimensions = alphabet.dimensions();
    for (std::size_t plane = 0; plane < d_planes; ++plane)
        for (std::size_t place = 2 * reach + 1;
             place-- > 0;) {                         // the latest symbol comes first
            const bool turned = plane >= dimensions; // a real alphabet's, by 90°
            const float* const row =
                &waveform
                     .affine()[(1 + place * dimensions + (turned ? 0 : plane)) * stride];
            for (std::size_t j = 0; j < stride; ++j)
                d_pulse.push_back(!turned ? row[j] : j % 2 ? row[j - 1] : -row[j + 1]);
        }
    const auto product = [&](std::size_t a, std::size_t b) {
        const auto first = d_pulse.begin(), n = first + (2 * reach + 1) * stride;
        return std::inner_product(first + a * (n - first),
                                  first + (a + 1) * (n - first),
                                  first + b * (n - first),
                                  0.0f);
    };
    const float own = product(0, 0);
    if (d_planes == 1) {
        d_inverse[0][0] = own > 0 ? 1 / own : 0;
        return;
    }
    const float other = product(1, 1), both = product(0, 1);
    if (const float determinant = own * other - both * both; determinant > 0) {
        d_inverse[0][0] = other / determinant;
        d_inverse[1][1] = own / determinant;
        d_inverse[0][1] = d_inverse[1][0] = -both / determinant;
    }
}

void soft_symbols::start()
{
    std::fill(d_rest.begin(), d_rest.end(), 0.0f);
    d_taken = d_flushed = 0;
}

std::size_t soft_symbols::flush(float* points, std::size_t room)
{
    const std::size_t left = std::min(d_taken, lag()) - d_flushed;
    const std::size_t n = std::min(left, room);
    for (std::size_t i = 0; i < n; ++i) {
        const auto point = d_points[d_labels[d_past - left + i]];
        *points++ = point.real();
        if (d_planes == 2)
            *points++ = point.imag();
    }
    d_flushed += n;
    if (n == left)
        start();
    return n;
}

std::size_t
soft_symbols::take(const feature_view& windows, const std::uint8_t* labels, float* points)
{
    const std::size_t reach = d_waveform.reach(), stride = d_waveform.stride();
    std::size_t written = 0;
    for (std::size_t done = 0, n; done < windows.count; done += n) {
        n = std::min(windows.count - done, most);
        load(windows.from(done, n), labels + done);
        // Those whose neighbours are decided now.
        const std::size_t known = d_past - reach;
        d_waveform.expect(&d_labels[known], n, d_expected.data());
        float* const rest = &d_rest[known * stride];
        for (std::size_t i = 0; i < n; ++i) {
            float* const own = rest + i * stride;
            const bool usable = d_taken + i >= 2 * reach && all_usable(own, stride);
            for (std::size_t j = 0; j < stride; ++j)
                own[j] = usable ? own[j] - d_expected[i * stride + j] : 0.0f;
        }
        for (std::size_t i = 0; i < n; ++i)
            if (d_taken + i >= lag())
                project(d_past - lag() + i, points + d_planes * written++);
        d_taken += n;
        std::copy(d_labels.begin() + n, d_labels.begin() + n + d_past, d_labels.begin());
        std::copy(d_rest.begin() + n * stride,
                  d_rest.begin() + (n + d_past) * stride,
                  d_rest.begin());
    }
    return written;
}

// Appends samples and labels to those that are kept of the past.
void soft_symbols::load(const feature_view& windows, const std::uint8_t* labels)
{
    const std::size_t stride = d_waveform.stride();
    std::copy_n(labels, windows.count, d_labels.begin() + d_past);
    for (std::size_t i = 0; i < windows.count; ++i)
        std::copy_n(windows[i] + (windows.dimension - stride) / 2,
                    stride,
                    d_rest.begin() + (d_past + i) * stride);
}

void soft_symbols::project(std::size_t symbol, float* point) const
{
    const std::size_t n = d_pulse.size() / d_planes;
    const float* const rest =
        &d_rest[(symbol - d_waveform.affine_reach()) * d_waveform.stride()];
    float along[2] = {};
    for (std::size_t plane = 0; plane < d_planes; ++plane)
        along[plane] = std::inner_product(rest, rest + n, &d_pulse[plane * n], 0.0f);
    const auto decided = d_points[d_labels[symbol]];
    const float decided_parts[] = { decided.real(), decided.imag() };
    for (std::size_t plane = 0; plane < d_planes; ++plane)
        point[plane] = decided_parts[plane] + d_scale * (d_inverse[plane][0] * along[0] +
                                                         d_inverse[plane][1] * along[1]);
}

} // namespace gr::adann::core
