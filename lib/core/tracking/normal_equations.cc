/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/normal_equations.h"

#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace gr::adann::core {

using simd::lanes;
using simd::whole_lanes;

namespace {
constexpr float white_part = 0.25f; // of the noise: see add_noise_target()
} // namespace

void turn_vector(float* vector, std::size_t pitch, float by)
{
    const float c = std::cos(by), s = std::sin(by);
    for (std::size_t k = 0; k < pitch; ++k)
        rotate(vector[k], vector[pitch + k], c, s);
}

normal_equations::normal_equations(std::size_t taps,
                                   bool complex,
                                   const simd::kernels& kernels,
                                   std::size_t channels)
    : d_kernels(&kernels),
      d_taps(taps),
      d_channels(channels),
      d_unknowns(channels == 1 ? taps + 1 : channels * taps),
      d_planes(complex ? 2 : 1),
      // Room for the offset, and for whole lanes from a row's second element on.
      d_pitch(whole_lanes(channels * taps - 1) + lanes),
      d_sums(d_planes * (matrix() + d_pitch) + lanes),
      d_scratch(8 * d_pitch)
{
}

void normal_equations::clear() { std::fill(d_sums.begin(), d_sums.end(), 0.0f); }

void normal_equations::set(const signal_planes* x,
                           const signal_planes& wanted,
                           std::size_t n)
{
    float energy = d_kernels->dot(wanted.re, wanted.re, n);
    if (d_planes == 1) {
        set_real(x->re, wanted.re, n);
    } else {
        set_complex(x, wanted, n);
        energy += d_kernels->dot(wanted.im, wanted.im, n);
    }
    if (d_channels == 1)
        set_offset(*x, wanted, n);
    float* const rest = d_sums.data() + d_planes * matrix() + vector_floats();
    rest[0] = energy;
    rest[1] = static_cast<float>(n);
}

void normal_equations::set_real(const float* x, const float* wanted, std::size_t n)
{
    float* const re = d_sums.data();
    float* const p = re + matrix();
    const float* const a[] = { x, wanted };
    float* const first[] = { re, p };
    d_kernels->slide(a, 2, n, x, 1, d_pitch, 0, first);
    std::fill(re + d_taps, re + d_pitch, 0.0f);
    std::fill(p + d_taps, p + d_pitch, 0.0f);
    d_kernels->covariance_rows(x, n, d_taps, d_pitch, re);
}

// The sums of the offset, whose sample is 1 in each window.
void normal_equations::set_offset(const signal_planes& x,
                                  const signal_planes& wanted,
                                  std::size_t n)
{
    for (std::size_t plane = 0; plane < d_planes; ++plane) {
        const float* const from = plane ? x.im : x.re;
        float* const matrix_of = d_sums.data() + plane * matrix();
        float* const offset = matrix_of + d_taps * d_pitch;
        // The sums of neighbouring windows differ by their ends.
        float sum = d_kernels->dot(from, nullptr, n);
        for (std::size_t k = 0; k < d_taps; ++k) {
            offset[k] = sum;
            matrix_of[k * d_pitch + d_taps] = plane ? -sum : sum;
            sum += from[k + n] - from[k];
        }
        std::fill(offset + d_taps, offset + d_pitch, 0.0f);
        offset[d_taps] = plane ? 0.0f : static_cast<float>(n);
        d_sums[d_planes * matrix() + plane * d_pitch + d_taps] =
            d_kernels->dot(plane ? wanted.im : wanted.re, nullptr, n);
    }
}

void normal_equations::set_complex(const signal_planes* x,
                                   const signal_planes& wanted,
                                   std::size_t n)
{
    first_rows(x, wanted, n);
    float* const re = d_sums.data();
    float* const im = re + matrix();
    const std::size_t columns = whole_lanes(d_taps - 1);
    for (std::size_t c = 0; c < d_channels; ++c)
        for (std::size_t k = 1; k < d_taps; ++k) {
            const std::size_t row = c * d_taps + k;
            float *const row_re = re + row * d_pitch, *const row_im = im + row * d_pitch;
            // The window moves on by one sample: its first one is dropped, the next one is added.
            const signal_planes leaves = x[c] + static_cast<std::ptrdiff_t>(k - 1);
            const signal_planes comes = leaves + static_cast<std::ptrdiff_t>(n);
            const float ends_re[] = { -*leaves.re, *comes.re };
            const float ends_im[] = { -*leaves.im, *comes.im };
            const float negative_im[] = { *leaves.im, -*comes.im };
            // What one channel's lanes write too much is the next one's, and comes then.
            for (std::size_t d = 0; d < d_channels; ++d) {
                float* const to = row_re + d * d_taps;
                float* const to_im = row_im + d * d_taps;
                std::copy_n(to - d_pitch, d_taps - 1, to + 1);
                to[0] = re[d * d_taps * d_pitch + row];
                std::copy_n(to_im - d_pitch, d_taps - 1, to_im + 1);
                to_im[0] = -im[d * d_taps * d_pitch + row];
                float* const y[] = { to + 1, to_im + 1 };
                const float* const with_re[] = { ends_re, negative_im };
                d_kernels->slide(with_re, 2, 2, x[d].re, n, columns, 1, y);
                const float* const with_im[] = { ends_im, ends_re };
                d_kernels->slide(with_im, 2, 2, x[d].im, n, columns, 1, y);
            }
            std::fill(row_re + d_channels * d_taps, row_re + d_pitch, 0.0f);
            std::fill(row_im + d_channels * d_taps, row_im + d_pitch, 0.0f);
        }
}

// The first row of R for each channel, and p.
void normal_equations::first_rows(const signal_planes* x,
                                  const signal_planes& wanted,
                                  std::size_t n)
{
    float* const p = d_sums.data() + 2 * matrix();
    float* y[8];
    for (std::size_t i = 0; i < 8; ++i)
        y[i] = d_scratch.data() + i * d_pitch;
    std::fill_n(p, 2 * d_pitch, 0.0f);
    for (std::size_t c = 0; c < d_channels; ++c) {
        float* const re = d_sums.data() + c * d_taps * d_pitch;
        float* const im = re + matrix();
        std::fill_n(re, d_pitch, 0.0f);
        std::fill_n(im, d_pitch, 0.0f);
        const float* const a[] = { x[c].re, x[c].im, wanted.re, wanted.im };
        for (std::size_t d = 0; d < d_channels; ++d) {
            const std::size_t rows = c ? 2 : 4, lags = whole_lanes(d_taps);
            d_kernels->slide(a, rows, n, x[d].re, 1, lags, 0, y);
            d_kernels->slide(a, rows, n, x[d].im, 1, lags, 0, y + 4);
            for (std::size_t k = 0; k < d_taps; ++k) {
                re[d * d_taps + k] = y[0][k] + y[5][k];
                im[d * d_taps + k] = y[4][k] - y[1][k];
            }
            if (rows == 2)
                continue;
            for (std::size_t k = 0; k < d_taps; ++k) {
                p[d * d_taps + k] = y[2][k] + y[7][k];
                p[d_pitch + d * d_taps + k] = y[3][k] - y[6][k];
            }
        }
    }
}

normal_equations::noise
normal_equations::noise_of(const std::vector<float>& correlation) const
{
    const std::size_t reach = correlation.size() / d_planes / 2;
    // E[x̄(i + d) v(i)]
    const auto at = [&](std::ptrdiff_t lag) {
        const auto d = static_cast<std::size_t>(std::abs(lag));
        if (d > reach)
            return std::complex<float>();
        const float* const found =
            &correlation[(lag < 0 ? reach - d : reach + d) * d_planes];
        return std::complex<float>(found[0], d_planes == 2 ? found[1] : 0.0f);
    };
    const auto middle = static_cast<std::ptrdiff_t>(d_taps / 2);
    const auto most = static_cast<std::ptrdiff_t>(d_taps) - 1;
    noise found{ aligned_floats(vector_floats()),
                 std::vector<float>(d_planes * (2 * d_taps - 1)),
                 0 };
    for (std::size_t plane = 0; plane < d_planes; ++plane) {
        const auto part = [plane](std::complex<float> value) {
            return plane ? value.imag() : value.real();
        };
        for (std::ptrdiff_t k = -middle; k <= middle; ++k)
            found.target[plane * d_pitch + static_cast<std::size_t>(middle + k)] =
                part(at(k));
        // Both sides measure it: their mean is Hermitian.
        for (std::ptrdiff_t lag = -most; lag <= most; ++lag)
            found.covariance[plane * (2 * d_taps - 1) +
                             static_cast<std::size_t>(most + lag)] =
                part((at(-lag) + std::conj(at(lag))) / 2.0f);
    }
    // Cut off at the largest lag, and measured, its spectrum may have negative values: then it gets as much white noise.
    const std::ptrdiff_t far = std::min(most, static_cast<std::ptrdiff_t>(reach));
    const std::ptrdiff_t frequencies = 8 * (far + 1);
    double least = 0;
    for (std::ptrdiff_t i = 0; i < frequencies; ++i) {
        double power = 0;
        for (std::ptrdiff_t lag = -far; lag <= far; ++lag) {
            const auto k = static_cast<std::size_t>(most + lag);
            const std::complex<double> value(
                found.covariance[k],
                d_planes == 2 ? found.covariance[2 * d_taps - 1 + k] : 0.0f);
            const double phase = 2 * M_PI * static_cast<double>(i * lag) /
                                 static_cast<double>(frequencies);
            power += (value * std::polar(1.0, -phase)).real();
        }
        least = std::min(least, power);
    }
    found.added = static_cast<float>(-least);
    found.covariance[static_cast<std::size_t>(most)] += found.added;
    return found;
}

void normal_equations::add_noise_target(const noise& noise, float level, float lacking)
{
    float* const p = d_sums.data() + d_planes * matrix();
    const float rms = std::sqrt(*row(0) / count()) / level;
    const float power = count() * noise.target[d_taps / 2];
    for (std::size_t k = 0; k < noise.target.size(); ++k)
        p[k] += count() * rms * noise.target[k];
    for (std::size_t k = 0; k < d_taps; ++k)
        d_sums[k * d_pitch + k] += white_part * power * rms * rms;
    const float part = lacking * count() * rms * rms;
    for (std::size_t plane = 0; plane < d_planes && part > 0; ++plane)
        for (std::size_t k = 0; k < d_taps; ++k) {
            const float* const from =
                &noise.covariance[plane * (2 * d_taps - 1) + d_taps - 1 - k];
            float* const to = &d_sums[plane * matrix() + k * d_pitch];
            for (std::size_t j = 0; j < d_taps; ++j)
                to[j] += part * from[j];
        }
    const float white = white_part * power + lacking * noise.added * count();
    p[d_taps / 2] += white * rms;
    p[vector_floats()] += (2 - lacking) * power + white;
}

float normal_equations::ridge(float part) const
{
    const std::size_t taps = d_channels * d_taps;
    float trace = 0;
    for (std::size_t k = 0; k < taps; ++k)
        trace += row(k)[k];
    return part * trace / static_cast<float>(taps);
}

void normal_equations::matrix(double part, std::vector<std::complex<double>>& found) const
{
    const double load = ridge(static_cast<float>(part));
    for (std::size_t k = 0; k < d_unknowns; ++k) {
        for (std::size_t j = 0; j < d_unknowns; ++j)
            found[k * d_unknowns + j] = { row(k)[j],
                                          d_planes == 2 ? row(k, true)[j] : 0.0f };
        found[k * (d_unknowns + 1)] += load;
    }
}

void normal_equations::clear_offset()
{
    for (std::size_t plane = 0; plane < d_planes; ++plane) {
        float* const matrix_of = d_sums.data() + plane * matrix();
        std::fill_n(matrix_of + d_taps * d_pitch, d_pitch, 0.0f);
        for (std::size_t k = 0; k < d_taps; ++k)
            matrix_of[k * d_pitch + d_taps] = 0;
        d_sums[d_planes * matrix() + plane * d_pitch + d_taps] = 0;
    }
}

void normal_equations::turn_wanted(float by)
{
    turn_vector(d_sums.data() + d_planes * matrix(), d_pitch, by);
}

void normal_equations::add(float keep, const normal_equations& more)
{
    const float one[] = { 1.0f };
    const float* const a[] = { one };
    float* const y[] = { d_sums.data() };
    d_kernels->slide(a, 1, 1, more.d_sums.data(), 0, d_sums.size(), keep, y);
}

void normal_equations::product(const float* const* vectors,
                               std::size_t count,
                               float* const* results) const
{
    if (d_planes == 1) {
        d_kernels->slide(
            vectors, count, d_unknowns, row(0), d_pitch, d_pitch, 0, results);
        return;
    }
    // R is Hermitian: element j of R v is Σ_k conj(row k [j]) v_k.
    for (std::size_t c = 0; c < count; ++c) {
        float* const negative = d_scratch.data();
        const float *re = vectors[c], *im = re + d_pitch;
        for (std::size_t k = 0; k < d_unknowns; ++k)
            negative[k] = -re[k];
        float* const y[] = { results[c], results[c] + d_pitch };
        const float* const with_re[] = { re, im };
        d_kernels->slide(with_re, 2, d_unknowns, row(0), d_pitch, d_pitch, 0, y);
        const float* const with_im[] = { im, negative };
        d_kernels->slide(with_im, 2, d_unknowns, row(0, true), d_pitch, d_pitch, 1, y);
    }
}

} // namespace gr::adann::core
