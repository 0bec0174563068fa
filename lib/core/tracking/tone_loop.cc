/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/tone_loop.h"

#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
constexpr double averaged = 144;    // blocks that the loop remembers; of its amplitude 16
constexpr std::size_t measured = 4; // blocks that measure the amplitude first
} // namespace

void tone_loop::begin(double cycles, double rate, std::size_t samples)
{
    d_follows = true;
    d_amplitude = d_sum = d_before = d_after = d_gain = 0;
    d_turn = 1;
    d_count = d_blocks = 0;
    d_prior_blocks = samples / block / 2; // half of them: their errors settle sooner
    d_sweep = whole_turn * rate;
    d_growth = whole_turn * cycles + d_sweep * block / 2; // in the block's middle
    d_step = std::polar(1.0, d_growth);
}

float tone_loop::frequency() const
{
    return d_follows ? static_cast<float>(std::remainder(d_growth / whole_turn, 1.0)) : 0;
}

float tone_loop::amplitude() const
{
    return d_follows ? static_cast<float>(std::abs(d_amplitude)) : 0;
}

void tone_loop::subtract(planes& samples, std::size_t first, std::size_t n)
{
    for (std::size_t i = first; i < first + n && d_follows; ++i) {
        const number tone = d_amplitude * d_turn;
        const double re = samples.re[i], im = d_is_complex ? samples.im[i] : 0;
        const number corrected(re - tone.real(), d_is_complex ? im - tone.imag() : 0);
        samples.re[i] = static_cast<float>(corrected.real());
        if (d_is_complex)
            samples.im[i] = static_cast<float>(corrected.imag());
        d_before += re * re + im * im;
        d_after += std::norm(corrected);
        d_sum += corrected * std::conj(d_turn);
        d_turn *= d_step;
        if (++d_count == block)
            update();
    }
}

// Updates amplitude and frequency by a block, or gives the tone up.
void tone_loop::update()
{
    ++d_blocks;
    /* A polynomial of the second degree through all blocks, the searched ones too, up to `averaged` of
     * them: in a memory that fades by θ a block, w = 1 - θ = 3 / blocks, α = 1 - θ³,
     * β = 3/2 w² (1 + θ), γ = w³ / 2. */
    const auto blocks = static_cast<double>(d_blocks);
    const double w = 3 / std::min(blocks + static_cast<double>(d_prior_blocks), averaged);
    const double part = std::max(1 / blocks, w * (3 - w * (3 - w)));
    // A real tone is the sum of a complex one of half the amplitude and its conjugate: |A|² / 2.
    const double dimensions = d_is_complex ? 2 : 1;
    const number wrong = d_sum * (2 / dimensions) / double{ block };
    const double power = d_after / block;
    d_amplitude += part * wrong;
    const double tone = std::norm(d_amplitude) * dimensions / 2;
    if (d_blocks <= measured)
        d_gain = tone;
    else
        d_gain += ((d_before - d_after) / block - d_gain) / remembered;
    d_sum = d_before = d_after = 0;
    d_count = 0;
    d_turn /= std::abs(d_turn);
    if (d_gain < 0 || tone <= least / dimensions * power) // both are 0 in silence
        return stop();
    if (d_blocks > measured) { // the first blocks measure the phase alone
        const double phase = std::clamp((wrong / d_amplitude).imag(), -1.0, 1.0);
        d_growth += 1.5 * w * w * (2 - w) * phase / block;
        d_sweep += w * w * w * phase / (block * block);
    }
    d_growth = std::remainder(d_growth + d_sweep * block, whole_turn);
    d_step = std::polar(1.0, d_growth);
}

void tone_loop::pass()
{
    // d_growth is that of the block's middle.
    const double ahead = block / 2.0 - static_cast<double>(d_count);
    d_turn *= std::polar(1.0, d_growth - ahead * d_sweep);
    d_growth += d_sweep;
    d_step = std::polar(1.0, d_growth);
}

void tone_loop::state(archive& members)
{
    auto follows = static_cast<std::size_t>(d_follows);
    members("follows", follows, std::size_t{ 0 }, std::size_t{ 1 });
    static_assert(sizeof(number) == 2 * sizeof(double));
    members.numbers("amplitude", reinterpret_cast<double*>(&d_amplitude), { 2 });
    members.numbers("turn", reinterpret_cast<double*>(&d_turn), { 2 }, -1.1, 1.1);
    members("growth", d_growth, -2 * whole_turn, 2 * whole_turn);
    members("sweep", d_sweep, -whole_turn / block, whole_turn / block);
    members("count", d_count, std::size_t{ 0 }, block - 1);
    members("blocks", d_blocks);
    members("prior_blocks", d_prior_blocks);
    members.numbers("sum", reinterpret_cast<double*>(&d_sum), { 2 });
    members("before", d_before);
    members("after", d_after);
    members("gain", d_gain);
    if (!(std::abs(d_turn) > 0))
        members.refuse("turn", "is 0");
    if ((follows == 1) == d_follows && d_step == std::polar(1.0, d_growth))
        return; // no write while saving: readers may run
    d_follows = follows == 1;
    d_step = std::polar(1.0, d_growth);
}

} // namespace gr::adann::core
