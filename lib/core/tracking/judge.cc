/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/judge.h"

#include <algorithm>

namespace gr::adann::core {

judge::judge(std::shared_ptr<const expected_waveform> waveform,
             const std::vector<std::vector<std::uint8_t>>& symmetries)
    : d_waveform(std::move(waveform)),
      d_symmetries(symmetries),
      d_sps(d_waveform->sps()),
      d_planes(d_waveform->is_complex() ? 2 : 1),
      d_sums(taps, d_planes == 2),
      d_solver(d_sums),
      d_filter(taps, d_planes == 2, simd::active()),
      d_expected(symbols * d_waveform->stride()),
      d_channel(d_sums.vector_floats()),
      d_wave(symbols * d_sps + d_sums.pitch() + 2 * simd::lanes, d_planes == 2),
      d_passed(symbols * d_sps + simd::lanes, d_planes == 2),
      d_left{ std::vector<float>(symbols + 1), std::vector<float>(symbols + 1) }
{
}

// The symmetry after which the others differ least, the first of equals.
const std::vector<std::uint8_t>& judge::aligning(const std::uint8_t* labels,
                                                 const std::uint8_t* others) const
{
    const auto differing = [&](const std::vector<std::uint8_t>& symmetry) {
        std::size_t count = 0;
        for (std::size_t k = 0; k < symbols; ++k)
            count += symmetry[others[k]] != labels[k];
        return count;
    };
    return *std::min_element(
        d_symmetries.begin(), d_symmetries.end(), [&](const auto& a, const auto& b) {
            return differing(a) < differing(b);
        });
}

bool judge::condemns(const signal_planes& samples,
                     const std::uint8_t* labels,
                     const signal_planes& other_samples,
                     const std::uint8_t* others)
{
    const auto& symmetry = aligning(labels, others);
    const auto differs = [&](std::size_t k) { return symmetry[others[k]] != labels[k]; };
    std::size_t first = 0;
    while (first < symbols && !differs(first))
        ++first;
    if (first == symbols)
        return false;
    leaves(samples, labels, d_left[0]);
    leaves(other_samples, others, d_left[1]);
    for (std::size_t k = first; k < symbols; ++k) {
        if (!differs(k))
            continue;
        const std::size_t from = k - std::min(k, around);
        const std::size_t end = std::min(k + around + 1, symbols);
        const auto left = [&](int way) { return d_left[way][end] - d_left[way][from]; };
        d_lost = left(0) < left(1) ? std::max(d_lost - 1, 0) : d_lost + 1;
    }
    if (d_lost < tolerance)
        return false;
    d_lost = 0;
    return true;
}

// What the waveform of the labels, through the fitted filter, leaves of the samples: sums
// from the first symbol to each.
void judge::leaves(const signal_planes& samples,
                   const std::uint8_t* labels,
                   std::vector<float>& sums)
{
    d_waveform->expect(labels, symbols, d_expected.data());
    const std::size_t all = symbols * d_sps, n = all - (taps - 1);
    d_wave.assign(d_expected.data(), all);
    d_sums.set(d_wave, samples + taps / 2, n);
    float trace = 0;
    for (std::size_t k = 0; k < taps; ++k)
        trace += d_sums.row(k)[k];
    std::fill(d_channel.begin(), d_channel.end(), 0.0f);
    d_solver.approach(d_sums, 1e-3f * trace / taps, 0, taps, taps, d_channel.data());

    d_filter.run(d_channel.data(),
                 d_sums.pitch(),
                 d_wave,
                 n,
                 d_passed.re.data(),
                 d_passed.im.data());
    sums[0] = 0;
    for (std::size_t k = 0; k < symbols; ++k) {
        float left = 0;
        for (std::size_t i = k * d_sps; i < (k + 1) * d_sps; ++i)
            if (i >= taps / 2 && i < taps / 2 + n)
                for (std::size_t p = 0; p < d_planes; ++p) {
                    const float* const from = p ? samples.im : samples.re;
                    const float rest =
                        from[i] - (p ? d_passed.im : d_passed.re)[i - taps / 2];
                    left += rest * rest;
                }
        sums[k + 1] = sums[k] + left;
    }
}

} // namespace gr::adann::core
