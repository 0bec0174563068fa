/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/last_channel.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

last_channel::last_channel(const expected_waveform& waveform,
                           std::size_t symmetries,
                           std::size_t taps,
                           std::size_t pitch)
    : d_sps(waveform.sps()),
      d_symmetries(symmetries),
      d_taps(taps),
      d_pitch(waveform.is_complex() ? pitch : 0),
      d_linear((2 * waveform.affine_reach() + 1) * d_sps),
      d_last(d_pitch + taps),
      d_response(d_linear.size() + taps - 1),
      d_other(d_response)
{
    // The response is widely linear: real and imaginary part of complex points have a row each. Its
    // linear part is (the row of the real part - j times that of the imaginary part) / 2.
    const std::size_t symbols = 2 * waveform.affine_reach() + 1;
    const std::size_t dimensions = (waveform.rows() - 1) / symbols;
    const std::size_t planes = waveform.is_complex() ? 2 : 1;
    const auto value = [&](std::size_t row, std::size_t i) {
        const float* at = &waveform.affine()[row * waveform.stride() + i * planes];
        return number(at[0], planes == 2 ? at[1] : 0.0f);
    };
    for (std::size_t place = 0; place < symbols; ++place)
        for (std::size_t i = 0; i < d_sps; ++i) {
            const std::size_t row = 1 + place * dimensions;
            // The row of a symbol before the decided one is the response at a positive delay.
            number& to = d_linear[(symbols - 1 - place) * d_sps + i];
            to = value(row, i);
            if (dimensions == 2)
                to = 0.5f * (to - number(0, 1) * value(row + 1, i));
        }
    reset();
}

void last_channel::reset()
{
    std::fill(d_last.begin(), d_last.end(), 0.0f);
    d_last[d_taps / 2] = 1;
}

// The middle tap has delay 0, the first one multiplies the earliest sample.
void last_channel::pass(const float* taps, std::vector<number>& response) const
{
    std::fill(response.begin(), response.end(), number{});
    for (std::size_t k = 0; k < d_taps; ++k) {
        const number tap(taps[k], d_pitch ? taps[d_pitch + k] : 0.0f);
        for (std::size_t n = 0; n < d_linear.size(); ++n)
            response[n + d_taps - 1 - k] += tap * d_linear[n];
    }
}

void last_channel::remember(const float* taps)
{
    std::copy_n(taps, d_last.size(), d_last.begin());
}

displacement last_channel::find(const float* taps, double ahead) const
{
    pass(d_last.data(), d_response);
    pass(taps, d_other);
    displacement best;
    double most = -1;
    const auto n = static_cast<int>(d_response.size());
    const auto sps = static_cast<int>(d_sps);
    for (int i = 0; i <= 2 * displacement::most_late; ++i) { // 0, 1, -1, 2, -2 …
        const int later = (i + 1) / 2 * (i % 2 ? 1 : -1);
        std::complex<double> alike = 0;
        for (int m = std::max(0, later * sps); m < std::min(n, n + later * sps); ++m)
            alike += std::conj(d_other[m - later * sps]) * d_response[m];
        for (std::size_t s = 0; s < d_symmetries; ++s) {
            const double angle = symmetry_angle(d_symmetries, s);
            const double score = std::real(alike * std::polar(1.0, angle - ahead));
            if (score > most) {
                most = score;
                best = { later, s };
            }
        }
    }
    return best;
}

void last_channel::state(archive& members) { members("taps", d_last, -1e6f, 1e6f); }

} // namespace gr::adann::core
