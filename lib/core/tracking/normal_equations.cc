/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/normal_equations.h"

#include <algorithm>

namespace gr::adann::core {

using simd::lanes;

namespace {
std::size_t whole_lanes(std::size_t n) { return (n + lanes - 1) / lanes * lanes; }
} // namespace

normal_equations::normal_equations(std::size_t taps,
                                   bool complex,
                                   const simd::kernels& kernels)
    : d_kernels(&kernels),
      d_taps(taps),
      d_unknowns(complex ? taps : taps + 1),
      d_planes(complex ? 2 : 1),
      // Room for the offset, and for whole lanes from a row's second element on.
      d_pitch(whole_lanes(taps - 1) + lanes),
      d_sums(d_planes * (matrix() + d_pitch) + lanes),
      d_scratch(8 * d_pitch)
{
}

void normal_equations::clear() { std::fill(d_sums.begin(), d_sums.end(), 0.0f); }

void normal_equations::set(const signal_planes& x,
                           const signal_planes& wanted,
                           std::size_t n)
{
    first_row(x, wanted, n);
    float* const re = d_sums.data();
    float* const im = re + matrix();
    const std::size_t columns = whole_lanes(d_taps - 1);
    for (std::size_t k = 1; k < d_taps; ++k) {
        float* const to = re + k * d_pitch;
        std::copy_n(to - d_pitch, d_taps - 1, to + 1);
        to[0] = re[k];
        // The window moves on by one: its first sample leaves, the one behind it comes.
        const float leaves = x.re[k - 1], comes = x.re[k - 1 + n];
        const float ends_re[] = { -leaves, comes };
        if (d_planes == 1) {
            const float* const a[] = { ends_re };
            float* const y[] = { to + 1 };
            d_kernels->slide(a, 1, 2, x.re, n, columns, 1, y);
        } else {
            float* const to_im = im + k * d_pitch;
            std::copy_n(to_im - d_pitch, d_taps - 1, to_im + 1);
            to_im[0] = -im[k];
            const float leaves_im = x.im[k - 1], comes_im = x.im[k - 1 + n];
            const float ends_im[] = { -leaves_im, comes_im };
            const float negative_im[] = { leaves_im, -comes_im };
            float* const y[] = { to + 1, to_im + 1 };
            const float* const with_re[] = { ends_re, negative_im };
            d_kernels->slide(with_re, 2, 2, x.re, n, columns, 1, y);
            const float* const with_im[] = { ends_im, ends_re };
            d_kernels->slide(with_im, 2, 2, x.im, n, columns, 1, y);
            std::fill(to_im + d_taps, to_im + d_pitch, 0.0f);
        }
        std::fill(to + d_taps, to + d_pitch, 0.0f);
    }
    if (d_planes == 1) {
        const float* const sums = row(d_taps);
        for (std::size_t k = 0; k < d_taps; ++k)
            re[k * d_pitch + d_taps] = sums[k];
    }
}

// The first row of R, that of the offset, p and the rest.
void normal_equations::first_row(const signal_planes& x,
                                 const signal_planes& wanted,
                                 std::size_t n)
{
    float* const re = d_sums.data();
    float* const p = re + d_planes * matrix();
    float energy = 0, total = 0;
    if (d_planes == 1) {
        float* const offset = re + d_taps * d_pitch;
        const float* const a[] = { x.re, wanted.re };
        float* const y[] = { re, p };
        d_kernels->slide(a, 2, n, x.re, 1, d_pitch, 0, y);
        // The sums of neighbouring windows differ by their ends.
        float sum = 0;
        for (std::size_t i = 0; i < n; ++i)
            sum += x.re[i];
        for (std::size_t k = 0; k < d_taps; ++k) {
            offset[k] = sum;
            sum += x.re[k + n] - x.re[k];
        }
        for (std::size_t i = 0; i < n; ++i) {
            energy += wanted.re[i] * wanted.re[i];
            total += wanted.re[i];
        }
        std::fill(re + d_taps, re + d_pitch, 0.0f);
        std::fill(p + d_taps, p + d_pitch, 0.0f);
        std::fill(offset + d_taps, offset + d_pitch, 0.0f);
        offset[d_taps] = static_cast<float>(n);
        p[d_taps] = total;
    } else {
        float* const im = re + matrix();
        float* y[8];
        for (std::size_t i = 0; i < 8; ++i)
            y[i] = d_scratch.data() + i * d_pitch;
        const float* const a[] = { x.re, x.im, wanted.re, wanted.im };
        d_kernels->slide(a, 4, n, x.re, 1, d_pitch, 0, y);
        d_kernels->slide(a, 4, n, x.im, 1, d_pitch, 0, y + 4);
        std::fill_n(re, d_pitch, 0.0f);
        std::fill_n(im, d_pitch, 0.0f);
        std::fill_n(p, 2 * d_pitch, 0.0f);
        for (std::size_t k = 0; k < d_taps; ++k) {
            re[k] = y[0][k] + y[5][k];
            im[k] = y[4][k] - y[1][k];
            p[k] = y[2][k] + y[7][k];
            p[d_pitch + k] = y[3][k] - y[6][k];
        }
        for (std::size_t i = 0; i < n; ++i)
            energy += wanted.re[i] * wanted.re[i] + wanted.im[i] * wanted.im[i];
    }
    float* const rest = p + vector_floats();
    rest[0] = energy;
    rest[1] = static_cast<float>(n);
}

void normal_equations::set_noise(float power,
                                 const std::vector<float>& correlation,
                                 std::size_t n)
{
    clear();
    const float all = power * static_cast<float>(n);
    // E[v̄(i) v(j)], that is at lag i - j.
    const auto part = [&](std::size_t i, std::size_t j, std::size_t plane) {
        const std::size_t lag = i > j ? i - j : j - i;
        if (lag == 0)
            return plane ? 0.0f : all;
        const std::size_t at = (lag - 1) * d_planes + plane;
        const float value = at < correlation.size() ? all * correlation[at] : 0.0f;
        return plane && i < j ? -value : value;
    };
    float* const p = d_sums.data() + d_planes * matrix();
    for (std::size_t plane = 0; plane < d_planes; ++plane)
        for (std::size_t i = 0; i < d_taps; ++i) {
            for (std::size_t j = 0; j < d_taps; ++j)
                d_sums[plane * matrix() + i * d_pitch + j] = part(i, j, plane);
            p[plane * d_pitch + i] = 2 * part(i, d_taps / 2, plane);
        }
    p[vector_floats()] = 2 * all;
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
