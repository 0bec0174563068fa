/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/judge.h"

#include "core/signal/constellation.h"
#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
constexpr float bouts_keep = 63.0f / 64;
constexpr float ridge = 1e-3f;  // of the mean power
constexpr float deviations = 4; // of a fair coin's
// Lost less won, of a comparison: with 1e-3 of single errors more are lost in one of 3000 (Poisson, mean 0.13).
constexpr int few_bouts = 2;
constexpr float small_gain = 0.1f; // of the residual that noise makes of one tap
constexpr std::size_t most_late = displacement::most_late;
} // namespace

judge::judge(std::shared_ptr<const expected_waveform> waveform,
             const std::vector<std::vector<std::uint8_t>>& symmetries,
             std::size_t reach)
    : d_waveform(std::move(waveform)),
      d_symmetries(symmetries),
      d_sps(d_waveform->sps()),
      d_taps(2 * std::clamp(reach, least_reach, most_reach) * d_sps + 1),
      d_planes(d_waveform->is_complex() ? 2 : 1),
      d_sums(d_taps, d_planes == 2),
      d_solver(d_sums),
      d_filter(d_taps, d_planes == 2, simd::active()),
      d_expected(symbols * d_waveform->stride()),
      d_enough(small_gain * d_waveform->noise() * d_waveform->noise()),
      d_channel(d_sums.vector_floats()),
      d_gradient(d_channel),
      d_wave(symbols * d_sps + d_sums.pitch() + 2 * simd::lanes, d_planes == 2),
      d_passed(symbols * d_sps + simd::lanes, d_planes == 2),
      d_residual{ std::vector<float>(symbols + 1), std::vector<float>(symbols + 1) }
{
}

const std::vector<std::uint8_t>*
judge::align(const std::uint8_t* labels, const std::uint8_t* others, float turned) const
{
    const double step = symmetry_angle(d_symmetries.size());
    if (std::equal(labels, labels + symbols, others) &&
        std::abs(std::remainder(double{ turned }, whole_turn)) < 0.75 * step)
        return &d_symmetries.front();
    std::size_t most = 0, most_explained = 0;
    const std::vector<std::uint8_t>* found = &d_symmetries.front();
    for (std::size_t s = 0; s < d_symmetries.size(); ++s) {
        const double angle = static_cast<double>(s) * step + turned;
        const bool carrier_explains =
            std::abs(std::remainder(angle, whole_turn)) < 0.75 * step;
        for (std::size_t late = 0; late <= 2 * most_late; ++late) {
            const std::size_t alike = count_alike(labels + late,
                                                  others + most_late,
                                                  symbols - 2 * most_late,
                                                  d_symmetries[s]);
            most = std::max(most, alike);
            if (carrier_explains && late == most_late && alike > most_explained) {
                most_explained = alike;
                found = &d_symmetries[s];
            }
        }
    }
    // By chance the largest of all these counts may exceed that of the right one by as much.
    const double by_chance = 2.5 * std::sqrt(static_cast<double>(symbols));
    return static_cast<double>(most - most_explained) > by_chance ? nullptr : found;
}

judge::verdict judge::compare(const signal_planes& samples,
                              const std::uint8_t* labels,
                              const signal_planes& other_samples,
                              const std::uint8_t* others,
                              float turned)
{
    const auto* symmetry = align(labels, others, turned);
    if (!symmetry) {
        reset();
        return verdict::displaced;
    }
    const auto differs = [&](std::size_t k) {
        return (*symmetry)[others[k]] != labels[k];
    };
    std::size_t first = 0;
    while (first < symbols && !differs(first))
        ++first;
    if (first < symbols)
        fit(other_samples, others, d_residual[1]);
    fit(samples, labels, d_residual[0]); // last, so that channel() is theirs
    if (first == symbols) {
        d_residual[1] = d_residual[0];
        return verdict::open;
    }
    int lost = 0;
    for (std::size_t k = first; k < symbols; ++k) {
        if (!differs(k))
            continue;
        const std::size_t from = k - std::min(k, around);
        const std::size_t end = std::min(k + around + 1, symbols);
        const auto of_bout = [&](int way) {
            return d_residual[way][end] - d_residual[way][from];
        };
        const int outcome = of_bout(0) < of_bout(1) ? -1 : 1;
        lost += outcome;
        d_lost = bouts_keep * d_lost + static_cast<float>(outcome);
        d_bouts = bouts_keep * d_bouts + 1;
        k += 2 * around; // the next bout's surroundings do not overlap
    }
    const float own = d_residual[0][symbols], other = d_residual[1][symbols];
    if (d_lost > deviations * std::sqrt(d_bouts) ||
        (lost > few_bouts && clearly_less(other, own))) {
        reset();
        return verdict::worse;
    }
    return clearly_less(own, other) ? verdict::clear : verdict::open;
}

// Fits the channel; sums: residual energy from the first symbol up to each one.
void judge::fit(const signal_planes& samples,
                const std::uint8_t* labels,
                std::vector<float>& sums)
{
    d_waveform->expect(labels, symbols, d_expected.data());
    const std::size_t all = symbols * d_sps, n = all - (d_taps - 1);
    d_wave.assign(d_expected.data(), all);
    d_sums.set(d_wave, samples + d_taps / 2, n);
    std::fill(d_channel.begin(), d_channel.end(), 0.0f);
    std::copy_n(d_sums.correlation(), d_gradient.size(), d_gradient.begin());
    d_solver.approach(d_sums,
                      d_sums.ridge(ridge),
                      0,
                      d_taps,
                      static_cast<int>(d_sums.unknowns()),
                      d_channel.data(),
                      d_gradient.data(),
                      d_enough);

    d_filter.run(d_channel.data(),
                 d_sums.pitch(),
                 d_wave,
                 n,
                 d_passed.re.data(),
                 d_passed.im.data());
    sums[0] = d_power = 0;
    for (std::size_t k = 0; k < symbols; ++k) {
        float squares = 0;
        for (std::size_t i = k * d_sps; i < (k + 1) * d_sps; ++i)
            if (i >= d_taps / 2 && i < d_taps / 2 + n)
                for (std::size_t p = 0; p < d_planes; ++p) {
                    const float* const from = p ? samples.im : samples.re;
                    const float rest =
                        from[i] - (p ? d_passed.im : d_passed.re)[i - d_taps / 2];
                    squares += rest * rest;
                    d_power += from[i] * from[i];
                }
        sums[k + 1] = sums[k] + squares;
    }
}

} // namespace gr::adann::core
