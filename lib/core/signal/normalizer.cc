/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/normalizer.h"

#include "core/common/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {

constexpr float largest = std::numeric_limits<float>::max();
constexpr double strays = 1.0 / 64; // of a block, at most; more of them are a new level
constexpr double risen = 16;        // times the variance: 12 dB
constexpr double fallen = 1.0 / 16; // of it
constexpr double a_step = 1.0 / 4;  // later loops follow it
constexpr double a_pause = 1.0 / 8; // of the window, at most
// Part of a run's samples beyond two deviations: impulses are shorter.
constexpr double beyond_all = 0.75;
constexpr float most = 16; // limit of the output, deviations

} // namespace

normalizer::normalizer(bool complex, std::size_t window)
    : d_complex(complex),
      d_window(window),
      // One of these adds a 64th of the variance, or a 16th to that of a short window.
      d_stray(std::sqrt(std::max(64.0, d_window / 64))),
      d_limit(most)
{
    check_range<std::size_t>("window", window, block, std::size_t{ 1 } << 30);
}

normalizer::normalizer(bool complex, std::complex<float> mean, float rms)
    : d_complex(complex),
      d_window(0),
      d_stray(0),
      d_offset{ mean.real(), mean.imag() },
      d_gain(1 / rms),
      d_limit(largest)
{
    if (!std::isfinite(mean.real()) || !std::isfinite(mean.imag()))
        refuse("mean", mean, "finite numbers");
    if (!complex && mean.imag() != 0)
        refuse("mean", mean, "a real number for float samples");
    if (!(rms >= std::numeric_limits<float>::min() && rms <= largest))
        refuse("rms", rms, "finite numbers from 1.2e-38");
}

void normalizer::process(const float* in, float* out, std::size_t samples)
{
    if (d_window > 0)
        d_complex ? process_running<2>(in, out, samples)
                  : process_running<1>(in, out, samples);
    else
        d_complex ? scale<2>(in, out, samples) : scale<1>(in, out, samples);
}

template <std::size_t parts>
void normalizer::process_running(const float* in, float* out, std::size_t samples)
{
    for (std::size_t n; samples > 0; samples -= n, in += parts * n, out += parts * n) {
        if (d_weight < block) { // at the start statistics change with each sample
            n = 1;
            update<parts>(in, n);
            scale<parts>(in, out, n);
            continue;
        }
        // Blocks are gathered before they are measured: one order of summation for any cut.
        n = std::min(samples, run - d_filled % run);
        scale<parts>(in, out, n);
        std::copy_n(in, parts * n, d_recent.data() + parts * d_filled);
        d_filled += n;
        if (d_filled % run == 0 &&
            start_over_if_risen<parts>(d_recent.data() + parts * (d_filled - run))) {
            d_filled = 0;
        } else if (d_filled == block) {
            update<parts>(d_recent.data(), block);
            d_filled = 0;
        }
    }
}

template <std::size_t parts>
void normalizer::scale(const float* __restrict in,
                       float* __restrict out,
                       std::size_t samples) const
{
    const auto offset = d_offset;
    const float gain = d_gain;
    const float limit = d_limit;
    for (std::size_t i = 0; i < parts * samples; i += parts) {
        // 0 if all parts are finite, else NaN
        float poison = in[i] * 0.0f;
        if (parts == 2)
            poison += in[i + 1] * 0.0f;
        for (std::size_t p = 0; p < parts; ++p) {
            float y = (in[i + p] - offset[p]) * gain;
            y = y < limit ? y : limit;
            y = y > -limit ? y : -limit;
            out[i + p] = poison == 0.0f ? y : 0.0f;
        }
    }
}

// Deviations from the mean so far, limited to +-limit, in double: neither a large mean nor
// a large sample costs precision or overflows.
template <std::size_t parts>
normalizer::sums
normalizer::add_up(const float* samples, std::size_t count, double limit) const
{
    // Independent lanes let the compiler use vector instructions.
    constexpr std::size_t lanes = 4;
    double valid[lanes] = {}, beyond[lanes] = {}, sum[parts][lanes] = {},
           square[lanes] = {};
    const auto add = [&](const float* x, std::size_t lane) {
        float poison = x[0] * 0.0f;
        if (parts == 2)
            poison += x[1] * 0.0f;
        const bool finite = poison == 0.0f;
        valid[lane] += finite ? 1.0 : 0.0;
        for (std::size_t p = 0; p < parts; ++p) {
            double deviation = finite ? x[p] - d_mean[p] : 0.0;
            beyond[lane] += std::abs(deviation) > limit ? 1.0 : 0.0;
            deviation = deviation < limit ? deviation : limit;
            deviation = deviation > -limit ? deviation : -limit;
            sum[p][lane] += deviation;
            square[lane] += deviation * deviation;
        }
    };
    const std::size_t whole = count - count % lanes;
    for (std::size_t i = 0; i < whole; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane)
            add(samples + parts * (i + lane), lane);
    for (std::size_t i = whole; i < count; ++i)
        add(samples + parts * i, i - whole);

    const auto total = [](const double* x) { return (x[0] + x[1]) + (x[2] + x[3]); };
    sums result{ total(valid), total(beyond), {}, total(square) };
    for (std::size_t p = 0; p < parts; ++p)
        result.deviations[p] = total(sum[p]);
    return result;
}

// Whether the level has risen in a run; if so the statistics start over from that run.
template <std::size_t parts>
bool normalizer::start_over_if_risen(const float* samples)
{
    double square = 0, beyond = 0;
    for (std::size_t i = 0; i < parts * run; i += parts) {
        double own = 0;
        for (std::size_t p = 0; p < parts; ++p)
            own += (samples[i + p] - d_mean[p]) * (samples[i + p] - d_mean[p]);
        if (!std::isfinite(own))
            return false;
        square += own;
        beyond += own > 4 * d_variance ? 1.0 : 0.0;
    }
    constexpr auto n = static_cast<double>(run);
    if (d_gain == 0 || square < risen * n * d_variance || beyond < beyond_all * n)
        return false;
    d_variance = square / n;
    d_fallen = 0;
    d_weight =
        1; // a small weight: a preceding normalizer may have passed this run 12 dB too large
    apply();
    return true;
}

template <std::size_t parts>
void normalizer::update(const float* samples, std::size_t count)
{
    constexpr double none = std::numeric_limits<double>::infinity();
    // Stray samples: few, of a signal whose level is known.
    const double limit =
        d_weight >= block && d_gain > 0 ? d_stray * std::sqrt(d_variance) : none;
    sums found = add_up<parts>(samples, count, limit);
    if (found.beyond > strays * static_cast<double>(count))
        found = add_up<parts>(samples, count, none);
    const double n = found.valid;
    if (n == 0 || start_over_if_fallen(found))
        return;
    d_weight = std::min(d_weight + n, d_window);
    d_variance += (found.squares - n * d_variance) / d_weight;
    for (std::size_t p = 0; p < parts; ++p) {
        const double step = found.deviations[p] / d_weight;
        d_mean[p] += step;
        d_variance -= step * step;
    }
    apply();
}

// Whether the level has fallen for so long that the statistics change to the block's.
bool normalizer::start_over_if_fallen(const sums& found)
{
    const double n = found.valid;
    double variance = found.squares / n, mean_square = 0;
    for (std::size_t p = 0; p < d_mean.size(); ++p) {
        const double deviation = found.deviations[p] / n;
        variance -= deviation * deviation;
        mean_square += deviation * deviation;
    }
    constexpr double rounding = 1e-12; // of the sums
    const double least = std::max<double>(block, a_pause * d_window);
    const double low = d_fallen < least ? fallen * d_variance : d_variance;
    const bool is_low =
        d_weight >= block && variance > rounding * mean_square && variance < low;
    d_fallen = is_low ? d_fallen + n : 0;
    if (d_fallen < least)
        return false;
    for (std::size_t p = 0; p < d_mean.size(); ++p)
        d_mean[p] += found.deviations[p] / n;
    d_weight = block;
    d_fallen = variance < d_variance * a_step ? d_fallen : 0;
    d_variance = std::max(variance, d_variance * a_step);
    apply();
    return true;
}

// Applies the running statistics to the next samples.
void normalizer::apply()
{
    double mean_square = 0;
    for (std::size_t p = 0; p < d_mean.size(); ++p) {
        mean_square += d_mean[p] * d_mean[p];
        d_offset[p] = static_cast<float>(d_mean[p]);
    }
    constexpr double resolution = std::numeric_limits<float>::epsilon();
    const double silence = std::max<double>(std::numeric_limits<float>::min(),
                                            resolution * std::sqrt(mean_square));
    const double rms = std::sqrt(std::max(d_variance, 0.0));
    d_gain = rms > silence ? static_cast<float>(1 / rms) : 0.0f;
}

} // namespace gr::adann::core
